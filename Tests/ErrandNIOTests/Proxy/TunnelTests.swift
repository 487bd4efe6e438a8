#if SWIFT_NIO && MockServer
import ErrandCore
@testable import ErrandNIO
import NIOCore
import TestSupport
import Testing

/// The dialog with a proxy before a tunnel is open, without sockets.
@Suite(.timeLimit(.minutes(5))) struct TunnelTests {
    private static func proxy(_ settings: ProxySettings) throws -> ProxyServer { try ProxyServer(settings) }

    private static func socksTunnel(_ settings: ProxySettings, to origin: Origin) throws -> SOCKSTunnel {
        let proxy = try proxy(settings)
        return SOCKSTunnel(through: proxy, to: Route(origin, through: proxy, needsTunnel: false))
    }

    private static func shown(_ step: TunnelStep) -> String {
        switch step {
        case .wait: "wait"
        case .write(let buffer): "write " + String(buffer: buffer).replacing("\r\n", with: "|")
        case .open: "open"
        case .connectAgain: "again"
        case .refuse(let failure): "refuse: \(failure.message)"
        }
    }

    /// Passes texts one after the other, and returns the last step that is not `wait`.
    private static func run(_ tunnel: inout some Tunnel, _ bytes: [UInt8], oneByOne: Bool) -> (String, rest: Int) {
        var (buffer, last) = (ByteBuffer(), "wait")
        for piece in oneByOne ? bytes.map({ [$0] }) : [bytes] {
            buffer.writeBytes(piece)
            while true {
                let step = tunnel.receive(&buffer)
                if case .wait = step { break }
                last = shown(step)
                guard case .write = step else { return (last, buffer.readableBytes) }
            }
        }
        return (last, buffer.readableBytes)
    }

    // MARK: - CONNECT

    private static let name = "the HTTP proxy p.example:3128"

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", "open"), ("HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n", "open"),
            // A body is not possible after CONNECT (RFC 9110, section 9.3.6).
            ("HTTP/1.1 204 OK\r\nContent-Length: 5\r\n\r\n", "open"), ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "open"),
            ("HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n", "refuse: \(name) refused the tunnel to a.example:443: 403 Forbidden"),
            ("HTTP/1.1 502\r\n\r\n", "refuse: \(name) refused the tunnel to a.example:443: 502 Bad Gateway"),
            ("HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n", "refuse: \(name) refused the tunnel to a.example:443: 101"),
            ("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "refuse: \(name) refused the tunnel to a.example:443: 302"),
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=r\r\n\r\n",
                "refuse: \(name) refused the tunnel to a.example:443: it requires credentials, but no credentials were given: "
                    + "407 Proxy Authentication Required"
            ),
            (
                "SSH-2.0-x\r\n",
                "refuse: \(name) did not open the tunnel to a.example:443: it does not speak HTTP: its response begins with 'S"
            ),
            (
                "\u{5}",
                "refuse: \(name) did not open the tunnel to a.example:443: it does not speak HTTP, but SOCKS 5; "
                    + "configure it as a SOCKS 5 proxy"
            ),
            (
                "\u{15}\u{3}\u{1}\u{0}\u{2}",
                "refuse: \(name) did not open the tunnel to a.example:443: it does not speak HTTP, but TLS; configure it as an HTTPS proxy"
            ),
            ("HTTP/1.1 200 O", "wait"),
        ], [false, true])
    func anHTTPProxyOpensOrRefusesATunnel(_ row: (String, String), oneByOne: Bool) throws {
        let route = Route("https://a.example", through: try Self.proxy(.http(host: "p.example", port: 3128)), needsTunnel: false)
        var tunnel = ConnectTunnel(through: try #require(route.proxy), to: route, ProxyDialog(), limits: ResponseLimits())
        let first = try tunnel.begin()
        #expect(String(buffer: first) == "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
        let (step, _) = Self.run(&tunnel, Array(row.0.utf8), oneByOne: oneByOne)
        if row.0.hasPrefix("SSH") { #expect(step.hasPrefix(row.1)) } else { #expect(step == row.1) }
    }

    @Test func theHeadOfARefusalIsBounded() throws {
        var limits = ResponseLimits()
        limits.headBytes = 100
        let route = Route("http://[::1]:81", through: try Self.proxy(.http(host: "::1", port: 3128)), needsTunnel: true)
        var tunnel = ConnectTunnel(through: try #require(route.proxy), to: route, ProxyDialog(), limits: limits)
        let first = try tunnel.begin()
        #expect(String(buffer: first) == "CONNECT [::1]:81 HTTP/1.1\r\nHost: [::1]:81\r\n\r\n")
        let (step, _) = Self.run(&tunnel, Array("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 100))".utf8), oneByOne: false)
        #expect(step.hasSuffix("the head of the response is longer than 100 bytes"))
    }

    @Test func aConnectionThatEndsIsNamed() throws {
        let route = Route("https://a.example", through: try Self.proxy(.http(host: "p.example", port: 3128)), needsTunnel: false)
        var tunnel = ConnectTunnel(through: try #require(route.proxy), to: route, ProxyDialog(), limits: ResponseLimits())
        _ = try tunnel.begin()
        let end = Self.shown(tunnel.end())
        let message = "refuse: \(Self.name) closed the connection before the tunnel to a.example:443 was open"
        #expect(end == message + ", and sent nothing; check that it is an HTTP proxy")
        var other = ConnectTunnel(through: try #require(route.proxy), to: route, ProxyDialog(), limits: ResponseLimits())
        _ = try other.begin()
        var buffer = ByteBuffer(string: "HTTP/1.1 2")
        _ = other.receive(&buffer)
        #expect(Self.shown(other.end()) == message)
    }

    private static func challenged(_ fields: String) throws -> (ConnectTunnel, ProxyServer) {
        let settings = ProxySettings.http(host: "p.example", port: 3128).authenticated(
            by: ProxyAuthenticator { challenge in
                challenge.refusals == 0 ? "X \(challenge.challenges[0]["nonce"] ?? "") \(challenge.method) \(challenge.target)" : nil
            })
        let route = Route("https://a.example", through: try proxy(settings), needsTunnel: false)
        let server = try #require(route.proxy)
        var tunnel = ConnectTunnel(through: server, to: route, ProxyDialog(), limits: ResponseLimits())
        _ = try tunnel.begin()
        return (tunnel, server)
    }

    @Test(arguments: [
        ("Content-Length: 3\r\n\r\nabc", "write"), ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "write"),
        ("Content-Length: 0\r\nConnection: close\r\n\r\n", "again"), ("\r\nabc", "again"),
        ("Content-Length: 70000\r\n\r\n\(String(repeating: "x", count: 70_000))", "again"),
        ("Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "again"),
    ])
    func aChallengeIsMetOnTheSameConnectionIfItPersists(_ rest: String, _ expected: String) throws {
        var (tunnel, server) = try Self.challenged(rest)
        let (step, _) = Self.run(
            &tunnel, Array("HTTP/1.1 407 No\r\nProxy-Authenticate: X nonce=n1\r\n\(rest)".utf8), oneByOne: false)
        let request = "CONNECT a.example:443 HTTP/1.1|Host: a.example:443|Proxy-Authorization: X n1 CONNECT a.example:443||"
        #expect(step == (expected == "write" ? "write \(request)" : expected))
        #expect(server.knownChallenges.map(\.scheme) == ["X"])
    }

    @Test func aConnectionThatEndsWithinAChallengeIsReplaced() throws {
        var (tunnel, _) = try Self.challenged("")
        var buffer = ByteBuffer(string: "HTTP/1.1 407 No\r\nProxy-Authenticate: X nonce=n1\r\nContent-Length: 9\r\n\r\nabc")
        #expect(Self.shown(tunnel.receive(&buffer)) == "wait")
        #expect(Self.shown(tunnel.end()) == "again")
    }

    // MARK: - SOCKS

    private static let refused = "refuse: the SOCKS 5 proxy p.example:1080"
    /// What the proxy sends, and the last step.
    static let socks: [(origin: String, hasCredentials: Bool, bytes: [UInt8], step: String, rest: Int)] = [
        ("http://a.example", false, [5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80], "open", 0),
        ("http://a.example", false, [5, 0, 5, 0, 0, 3, 2, 97, 98, 0, 80, 9], "open", 1),
        ("http://a.example", false, [5, 0, 5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "open", 0),
        ("http://a.example", true, [5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80], "open", 0),
        ("http://a.example", true, [5, 2, 1, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80], "open", 0),
        // The version differs from the version in RFC 1929.
        ("http://a.example", true, [5, 2, 5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80], "open", 0),
        ("http://a.example", true, [5, 2, 1, 1], "\(refused) refused the user and the password", 0),
        ("http://a.example", true, [5, 255], "\(refused) accepts no user and password", 0),
        (
            "http://a.example", false, [5, 255],
            "\(refused) requires a user and a password, or another way to authenticate, but no credentials were given", 0
        ),
        ("http://a.example", false, [5, 2], "\(refused) chose a way to authenticate that was not offered (2)", 0),
        (
            "http://a.example", false, Array("HTTP/1.1 400".utf8),
            "\(refused) does not speak SOCKS 5, but HTTP; configure it as an HTTP proxy",
            12
        ),
        ("http://a.example", false, [0x15, 3], "\(refused) does not speak SOCKS 5, but TLS; configure it as an HTTPS proxy", 2),
        ("http://a.example", false, [0, 91], "\(refused) does not speak SOCKS 5, but SOCKS 4, which is not supported", 2),
        ("http://a.example", false, [5, 0, 4, 0], "\(refused) does not speak SOCKS 5", 2),
        ("http://a.example", false, [5, 0, 5, 0, 0, 9, 9], "\(refused) does not speak SOCKS 5 (RFC 1928, section 6)", 5),
        ("http://a.example:81", false, [5, 0, 5, 5], "\(refused) did not connect to a.example:81: connection refused (SOCKS reply 5)", 2),
        ("https://[::1]", false, [5, 0, 5, 99], "\(refused) did not connect to [::1]:443: unknown reason (SOCKS reply 99)", 2),
    ]

    @Test(arguments: socks.indices, [false, true]) func aSOCKSProxyOpensOrRefusesATunnel(_ index: Int, oneByOne: Bool) throws {
        let row = Self.socks[index]
        let settings = ProxySettings.socks5(host: "p.example", credentials: row.hasCredentials ? ("joe", "pw") : nil)
        var tunnel = try Self.socksTunnel(settings, to: try Origin(row.origin))
        let greeting = tunnel.begin()
        let expected: [UInt8] = row.hasCredentials ? [5, 2, 0, 2] : [5, 1, 0]
        #expect(Array(buffer: greeting) == expected)
        let (step, rest) = Self.run(&tunnel, row.bytes, oneByOne: oneByOne)
        #expect(step == row.step)
        if !oneByOne { #expect(rest == row.rest) }
    }

    static let requests: [(origin: String, bytes: [UInt8])] = [
        ("http://ab.c", [5, 1, 0, 3, 4, 97, 98, 46, 99, 0, 80]), ("https://127.0.0.1", [5, 1, 0, 1, 127, 0, 0, 1, 1, 187]),
        ("http://[::1]:81", [5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 81]),
    ]

    @Test(arguments: requests.indices) func aNameIsSentAsANameAndAnAddressAsAnAddress(_ index: Int) throws {
        let (origin, expected) = Self.requests[index]
        var tunnel = try Self.socksTunnel(.socks5(host: "p.example"), to: try Origin(origin))
        var buffer = ByteBuffer(bytes: [5, 0])
        guard case .write(let request) = tunnel.receive(&buffer) else {
            Issue.record("no request")
            return
        }
        #expect(Array(buffer: request) == expected)
        let end = Self.shown(tunnel.end())
        #expect(end.hasSuffix("was open"))
    }

    @Test func theUserAndThePasswordAreSentWhenTheProxyAsksForThem() throws {
        let settings = ProxySettings.socks5(host: "p.example", credentials: ("joe", "pw"))
        var tunnel = try Self.socksTunnel(settings, to: "http://a.example")
        var buffer = ByteBuffer(bytes: [5, 2])
        guard case .write(let request) = tunnel.receive(&buffer) else {
            Issue.record("no request")
            return
        }
        let expected: [UInt8] = [1, 3, 106, 111, 101, 2, 112, 119]
        #expect(Array(buffer: request) == expected)
    }

    // MARK: - Dialogs

    private static func fields(_ values: String...) -> HTTPFields {
        HTTPFields(values.map { HTTPField(name: .proxyAuthenticate, value: $0) })
    }

    @Test func credentialsAreSentBeforeTheProxyAsks() throws {
        let server = try Self.proxy(.http(host: "p", port: 1, credentials: ("joe", "pw")))
        var dialog = ProxyDialog()
        expect(try dialog.authorization(for: server, .get, "http://a.example/") == "Basic am9lOnB3")
        expect(try !dialog.respond(to: Self.fields("Basic realm=r"), of: server, .get, "http://a.example/"))
        #expect(dialog.refusals == 1)
    }

    @Test func eachOfAtMostTwoChallengesIsMetOnce() throws {
        let settings = ProxySettings.http(host: "p", port: 1).authenticated(
            by: ProxyAuthenticator { "N \($0.challenges[0]["nonce"] ?? "") \($0.refusals)" })
        let server = try Self.proxy(settings)
        var dialog = ProxyDialog()
        expect(try dialog.authorization(for: server, .get, "/") == nil)
        expect(try dialog.respond(to: Self.fields("N nonce=1"), of: server, .get, "/"))
        expect(try dialog.authorization(for: server, .get, "/") == "N 1 0")
        var same = dialog
        expect(try !same.respond(to: Self.fields("N nonce=1"), of: server, .get, "/"))
        expect(try !same.respond(to: Self.fields(), of: server, .get, "/"))
        expect(try dialog.respond(to: Self.fields("N nonce=2, stale=true"), of: server, .get, "/"))
        expect(try dialog.authorization(for: server, .get, "/") == "N 2 1")
        expect(try !dialog.respond(to: Self.fields("N nonce=3"), of: server, .get, "/"))
        // The next request knows the challenge.
        var next = ProxyDialog()
        expect(try next.authorization(for: server, .get, "/") == "N 2 0")
    }

    /// The proxy has a new nonce, and does not say that the old one is stale.
    @Test func aReplacedChallengeIsNotTreatedAsARefusal() throws {
        let settings = ProxySettings.http(host: "p", port: 1).authenticated(
            by: ProxyAuthenticator { $0.refusals == 0 ? "N \($0.challenges[0]["nonce"] ?? "")" : nil })
        let server = try Self.proxy(settings)
        var first = ProxyDialog()
        expect(try first.authorization(for: server, .get, "/") == nil)
        expect(try first.respond(to: Self.fields("N nonce=1"), of: server, .get, "/"))
        var next = ProxyDialog()
        expect(try next.authorization(for: server, .get, "/") == "N 1")
        // The second response with the same challenge counts as a refusal.
        var refused = next
        expect(try !refused.respond(to: Self.fields("N nonce=1"), of: server, .get, "/"))
        #expect(refused.refusals == 1)
        expect(try next.respond(to: Self.fields("N nonce=2"), of: server, .get, "/"))
        expect(try next.authorization(for: server, .get, "/") == "N 2")
        #expect(next.refusals == 0)
        // A second new challenge also counts as a refusal.
        expect(try !next.respond(to: Self.fields("N nonce=3"), of: server, .get, "/"))
        #expect(next.refusals == 1)
        var last = ProxyDialog()
        expect(try last.authorization(for: server, .get, "/") == "N 2")
    }

    @Test func credentialsThatWereRefusedAreNotSentAgain() throws {
        let settings = ProxySettings.http(host: "p", port: 1, credentials: ("joe", "pw")).authenticated(
            by: ProxyAuthenticator { _ in "Basic am9lOnB3" })
        let server = try Self.proxy(settings)
        var dialog = ProxyDialog()
        expect(try dialog.authorization(for: server, .get, "/") == "Basic am9lOnB3")
        expect(try !dialog.respond(to: Self.fields("Basic realm=r"), of: server, .get, "/"))
    }

    // MARK: - Routes

    @Test func routesDifferByProxyAndByTunnel() throws {
        let (plain, secure): (Origin, Origin) = ("http://a.example", "https://a.example")
        let table = ProxyTable()
        let http = try table.server(.http(host: "p", port: 1))
        let again = try table.server(.http(host: "p", port: 1))
        #expect(http === again)
        let (other, tls) = (try table.server(.http(host: "p", port: 2)), try table.server(.https(host: "p", port: 1)))
        let socks = try table.server(.socks5(host: "p", port: 1))
        let routes = [
            Route(plain), Route(secure), Route(plain, through: http, needsTunnel: false), Route(plain, through: http, needsTunnel: true),
            Route(secure, through: http, needsTunnel: false), Route(plain, through: other, needsTunnel: false),
            Route(plain, through: tls, needsTunnel: false), Route(plain, through: socks, needsTunnel: false),
            Route(secure, needsHTTP1: true), Route(secure, through: http, needsTunnel: true, needsHTTP1: true),
        ]
        #expect(Set(routes).count == routes.count)
        #expect(routes.map(\.isForwarded) == [false, false, true, false, false, true, true, false, false, false])
        #expect(routes.map(\.isSecure) == [false, true, false, false, true, false, true, false, true, true])
        #expect(routes[3].target == "a.example:80" && routes[2].peer.effectivePort == 1)
    }
}

extension Array where Element == UInt8 {
    fileprivate init(buffer: ByteBuffer) { self.init(buffer.readableBytesView) }
}
#endif
