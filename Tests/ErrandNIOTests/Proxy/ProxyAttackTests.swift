#if NIO && MockServer
import ErrandCore
@testable import ErrandNIO
import ErrandTesting
import Foundation
import NIOCore
import TestSupport
import Testing

/// Proxies, settings and authenticators with bad intentions, without sockets.
@Suite(.timeLimit(.minutes(5))) struct ProxyAttackPartsTests {
    private static func shown(_ step: TunnelStep) -> String {
        switch step {
        case .wait: "wait"
        case .write(let buffer): "write " + String(buffer: buffer).replacing("\r\n", with: "|")
        case .open: "open"
        case .connectAgain: "again"
        case .refuse(let failure): "refuse: \(failure.message)"
        }
    }

    private static func run(_ tunnel: inout some Tunnel, _ pieces: [[UInt8]]) -> String {
        var (buffer, last) = (ByteBuffer(), "wait")
        for piece in pieces {
            buffer.writeBytes(piece)
            while true {
                let step = tunnel.receive(&buffer)
                if case .wait = step { break }
                last = shown(step)
                guard case .write = step else { return last + " \(last == "open" ? buffer.readableBytes : 0)" }
            }
        }
        return last
    }

    private static func connect(_ settings: ProxySettings = .http(host: "p.example", port: 3128)) throws -> ConnectTunnel {
        let route = Route("https://a.example", through: try ProxyServer(settings), needsTunnel: false)
        var tunnel = ConnectTunnel(through: try #require(route.proxy), to: route, ProxyDialog(), limits: ResponseLimits())
        _ = try tunnel.begin()
        return tunnel
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/0.9 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n", "<html>hello</html>\n", "HTTP/1.1 200 OK\n\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "HTTP/1.1 299 OK\r\n\r\n", "HTTP/1.1 304 OK\r\n\r\n",
        "HTTP/1.1 205 X\r\n\r\n", "HTTP/1.1 2000 X\r\n\r\n",
    ]) func everySplitOfAReplyMeansTheSame(text: String) throws {
        let bytes = Array(text.utf8)
        var results: Set<String> = []
        for split in 0...bytes.count {
            var tunnel = try Self.connect()
            results.insert(Self.run(&tunnel, [Array(bytes[..<split]), Array(bytes[split...])]))
        }
        var tunnel = try Self.connect()
        results.insert(Self.run(&tunnel, bytes.map { [$0] }))
        print("RT3 CONNECT \(text.debugDescription.prefix(80)) -> \(results)")
        // The text of an error shows what there is.
        #expect(Set(results.map { $0.prefix(6) }).count == 1, "\(results)")
    }

    @Test func interimResponsesOfAProxyAreBounded() throws {
        var tunnel = try Self.connect()
        let one = Array("HTTP/1.1 103 X\r\n\r\n".utf8)
        let result = Self.run(&tunnel, Array(repeating: one, count: 10_000))
        #expect(result.hasPrefix("refuse"), "\(result)")
    }

    @Test func aReplyOfAHundredMegabytesIsRefusedEarly() throws {
        var tunnel = try Self.connect()
        let line = Array("X: \(String(repeating: "x", count: 1000))\r\n".utf8)
        let result = Self.run(&tunnel, [Array("HTTP/1.1 200 OK\r\n".utf8)] + Array(repeating: line, count: 100_000))
        #expect(result.hasPrefix("refuse"), "\(result)")
    }

    @Test func randomBytesOfASOCKSProxyNeverTrap() throws {
        var generator = SystemRandomNumberGenerator()
        var opened = 0
        for round in 0..<40_000 {
            let credentials: (user: String, password: String)? = round % 2 == 0 ? nil : ("joe", "s3cret")
            let origin = try Origin("http://a.example")
            var tunnel = SOCKSTunnel(through: try ProxyServer(.socks5(host: "p.example", port: 1080, credentials: credentials)), to: origin)
            _ = tunnel.begin()
            var bytes: [UInt8] = [5, round % 2 == 0 ? 0 : 2]
            if round % 2 == 1 { bytes += [1, 0] }
            bytes += [5, UInt8.random(in: 0...1), UInt8.random(in: 0...1), UInt8.random(in: 0...5)]
            bytes += (0..<Int.random(in: 0...40)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if round % 5 == 0 { bytes[Int.random(in: 0..<bytes.count)] = UInt8.random(in: 0...255) }
            let cut = Int.random(in: 0...bytes.count)
            var again = tunnel
            let first = Self.run(&tunnel, [Array(bytes[..<cut]), Array(bytes[cut...])])
            let second = Self.run(&again, bytes.map { [$0] })
            #expect(first.prefix(4) == second.prefix(4), "\(bytes): \(first) / \(second)")
            #expect(!first.contains("s3cret") || first.hasPrefix("write"))
            if first.hasPrefix("open") { opened += 1 }
        }
        print("RT3 SOCKS fuzz opened \(opened)")
    }

    @Test func everyReplyCodeOfSOCKSIsNamed() throws {
        for code in UInt8(0)...255 {
            var tunnel = SOCKSTunnel(through: try ProxyServer(.socks5(host: "p", port: 1)), to: try Origin("http://a.example"))
            _ = tunnel.begin()
            let text = Self.run(&tunnel, [[5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0]])
            #expect(code == 0 ? text == "open 0" : text.hasPrefix("refuse"), "\(code): \(text)")
            if code < 11 { print("RT3 SOCKS code \(code): \(text)") }
        }
    }

    // MARK: - Settings

    private static func texts(of error: any Error) -> String {
        var text = "\(error) \(error.localizedDescription) \(String(reflecting: error))"
        dump(error, to: &text)
        return text
    }

    @Test(.disabled("a URL or credentials given as the host of a proxy are shown, password and all")) func aPasswordIsInNoErrorOfTheSettings() throws {
        let secret = "s3cret"
        let made: [(String, ProxySettings)] = [
            ("url as host", .http(host: "http://joe:\(secret)@p.example", port: 3128)), ("userinfo", .http(host: "joe:\(secret)@p.example", port: 3128)),
            ("userinfo socks", .socks5(host: "joe:\(secret)@p.example", port: 3128)), ("nul", .http(host: "p\0", port: 1, credentials: ("joe", secret))),
            ("port", .http(host: "p", port: -1, credentials: ("joe", secret))), ("colon", .http(host: "p", port: 1, credentials: ("j:o", secret))),
            ("crlf", .http(host: "p", port: 1, credentials: ("joe\r\nX: y", "\(secret)\r\n\0"))),
            ("long", .socks5(host: "p", port: 1, credentials: ("joe", String(repeating: secret, count: 50)))),
            ("non-ASCII", .http(host: "p", port: 1, credentials: ("jöe", "\(secret)é"))),
            ("empty", .http(host: "p", port: 1, credentials: ("", ""))),
        ]
        for (name, settings) in made {
            var text = "\(settings) \(String(reflecting: settings)) \(ProxyPolicy.all(settings))"
            dump(settings, to: &text)
            var outcome = "accepted"
            do {
                var configuration = NIOTransport.Configuration()
                configuration.proxy = .all(settings)
                dump(configuration, to: &text)
                _ = try ProxyServer(settings)
            } catch {
                outcome = "\(error)"
                text += Self.texts(of: error)
            }
            #expect(!text.contains(secret), "\(name): \(outcome)")
        }
    }

    @Test func noURLOfAProxyShowsItsPassword() {
        let alphabet = ["s3cret", "joe", ":", "@", "/", "//", "http", "://", "https", "socks5h", "%", "%0d%0a", "%00", "#", "?", "[", "]", "::1", "p.example", "3128", " ", "\n", "é", "."]
        var (parsed, leaks) = (0, [String: String]())
        for _ in 0..<60_000 {
            let url = (0..<Int.random(in: 1...10)).map { _ in alphabet.randomElement()! }.joined()
            do {
                let settings = try ProxySettings(url)
                parsed += 1
                var text = "\(settings)"
                dump(settings, to: &text)
                // A password is what is between a colon and the last at sign.
                if text.contains("s3cret"), settings.credentials != nil || url.contains("@"), !settings.host.contains("s3cret") { leaks[url] = text }
                if let at = url.lastIndex(of: "@"), !url[at...].contains("s3cret"), settings.host.contains("s3cret") { leaks[url] = text }
            } catch {
                let text = Self.texts(of: error)
                if text.contains("s3cret") { leaks[url] = text }
            }
        }
        print("RT3 URLs: \(parsed) parsed, leaks \(leaks.prefix(5))")
        #expect(leaks.isEmpty)
    }

    @Test func aLongListOfExceptionsIsReadInLinearTime() throws {
        for count in [20_000, 40_000, 80_000] {
            let list = (0..<count).map { "h\($0).example" }.joined(separator: ",")
            let start = ContinuousClock.now
            let policy = try ProxyPolicy.environment(["http_proxy": "p:1", "no_proxy": list])
            let middle = ContinuousClock.now
            _ = policy.proxy(for: try Origin("http://z.example"))
            print("RT3 no_proxy \(count): parse \(middle - start), look-up \(ContinuousClock.now - middle)")
        }
    }

    @Test func formsOfExceptions() throws {
        let rows: [(String, String)] = [
            ("0.0.0.0/0", "http://10.1.2.3"), ("0.0.0.0/0", "http://a.example"), ("::/0", "http://[::1]"), ("::/0", "http://10.0.0.1"), ("10.0.0.0/33", "http://10.0.0.1"),
            ("10.0.0.0/-1", "http://10.0.0.1"), ("10.0.0.0/", "http://10.0.0.1"), ("10.0.0.0/08", "http://10.1.0.1"), ("[::1]", "http://[::1]:8080"), ("::1", "http://[0:0:0:0:0:0:0:1]"),
            ("[::1]:80", "http://[::1]"), ("[fe80::1%25eth0]", "http://[fe80::1]"), ("::ffff:10.0.0.0/104", "http://10.0.0.1"), ("10.0.0.1", "http://[::ffff:10.0.0.1]"),
            ("example.com", "http://notexample.com"), ("example.com.", "http://example.com"), ("example.com", "http://example.com."), ("EXAMPLE.com", "http://example.COM"),
            (".", "http://a.example"), ("..", "http://a.example"), ("*.", "http://a.example"), ("**", "http://a.example"), ("*a", "http://a"), (" , ,a.example , ", "http://a.example"),
            ("a.example:80", "http://a.example"), ("a.example:080", "http://a.example"), ("a.example:", "http://a.example"), ("127.0.0.0/8", "http://127.1"), ("127.0.0.0/8", "http://0x7f.0.0.1"),
            ("http://a.example", "http://a.example"), ("*:80", "http://a.example"), ("xn--bcher-kva.example", "http://bücher.example"), ("bücher.example", "http://xn--bcher-kva.example"),
        ]
        for (list, url) in rows {
            var outcome = ""
            do { outcome = try ProxyPolicy.environment(["http_proxy": "p:1", "no_proxy": list]).proxy(for: Origin(url)) == nil ? "direct" : "proxy" } catch { outcome = "\(error)" }
            print("RT3 no_proxy \(list.debugDescription) \(url): \(outcome)")
        }
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\0b", "", String(repeating: "a", count: 10_000_000), " a ", "Basic é"])
    func whatAnAuthenticatorReturnsDoesNotChangeTheShape(value: String) throws {
        let settings = ProxySettings.http(host: "p.example", port: 3128).authenticated(by: ProxyAuthenticator { _ in value })
        var tunnel = try Self.connect(settings)
        let text = Self.run(&tunnel, [Array("HTTP/1.1 407 No\r\nProxy-Authenticate: N n=1\r\nContent-Length: 0\r\n\r\n".utf8)])
        print("RT3 authenticator \(value.prefix(20).debugDescription): \(text.prefix(200)) … \(text.count)")
        #expect(!text.contains("|X-Evil"))
    }
}

extension NIOTransportTests {
    @Suite(.timeLimit(.minutes(5))) struct ProxyAttackTests {
        private static func texts(of error: any Error) -> String {
            var text = "\(error) \(error.localizedDescription) \(String(reflecting: error))"
            dump(error, to: &text)
            return text
        }

        @Test(arguments: ["http", "https"]) func aRefusalWhoseBodyNeverEndsIsARefusalAtOnce(scheme: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000\r\n\r\n")
                while true {
                    try connection.write("x")
                    connection.pause(milliseconds: 5)
                }
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port))
            } _: { transport in
                let start = ContinuousClock.now
                do {
                    let response = try await transport.send(Request(.get, url: "\(scheme)://a.invalid/").within(.seconds(2)))
                    print("RT3 refusal \(scheme): \(response.status)")
                } catch { print("RT3 refusal \(scheme): \(error)") }
                #expect(ContinuousClock.now - start < .seconds(1))
            }
        }

        @Test(arguments: ["http", "https"]) func aChallengeWhoseBodyNeverEndsEndsAtTheDeadline(scheme: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 407 No\r\nProxy-Authenticate: N n=1\r\nContent-Length: 60000\r\n\r\n")
                while true {
                    try connection.write("x")
                    connection.pause(milliseconds: 5)
                }
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port).authenticated(by: ProxyAuthenticator { _ in "N x" }))
            } _: { transport in
                let start = ContinuousClock.now
                let failure = try await transportError { try await transport.send(Request(.get, url: "\(scheme)://a.invalid/").within(.milliseconds(400))) }
                print("RT3 endless challenge \(scheme): \(failure)")
                #expect(failure.code == .timedOut)
                #expect(ContinuousClock.now - start < .seconds(1))
            }
        }

        @Test(.disabled("the reason phrase of a refusal is shown as it came, with credentials that the proxy repeats")) func aProxyThatEchoesCredentialsPutsThemInNoError() async throws {
            for scheme in ["http", "https"] {
                let proxy = try RawServer.answering { connection, request, _ in
                    let seen = request.value("proxy-authorization") ?? ""
                    try connection.respond(
                        "407 \(seen)", fields: ["Proxy-Authenticate: Basic realm=\"\(seen)\"", "X-Echo: \(seen)"], body: Data("you sent \(seen)".utf8))
                }
                defer { proxy.stop() }
                try await withNIO {
                    $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "s3cret")))
                } _: { transport in
                    let failure = try await transportError { try await transport.send(Request(.get, url: "\(scheme)://a.invalid/").within(.seconds(5))) }
                    let text = Self.texts(of: failure)
                    let leaks = ["s3cret", "am9lOnMzY3JldA"].filter { text.contains($0) }
                    #expect(leaks.isEmpty, "\(failure)")
                }
            }
        }

        @Test func aRequestsOwnCredentialsAreInNoErrorAndNoEvent() async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                connection.resetAtEnd()
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "s3cret")))
            } _: { transport in
                for scheme in ["http", "https"] {
                    var request = try Request(.get, url: "\(scheme)://a.invalid/")
                    request.headers[.proxyAuthorization] = "Own 0wn"
                    request.headers[.authorization] = "Bearer 0r1g1n"
                    let failure = try await transportError { try await transport.send(request.within(.seconds(5))) }
                    let text = Self.texts(of: failure)
                    let leaks = ["s3cret", "am9lOnMzY3JldA", "0wn", "0r1g1n"].filter { text.contains($0) }
                    #expect(leaks.isEmpty, "\(text)")
                }
            }
        }

        /// Each response names the proxy, the credentials and the target that its request had.
        @Test func routesAreNeverMixedUp() async throws {
            @Sendable func serve(_ name: String) throws -> RawServer {
                try RawServer { connection in
                    var tunnel: String?
                    while true {
                        let request = try connection.readHead()
                        _ = try connection.readBody(of: request)
                        let auth = request.value("proxy-authorization") ?? "-"
                        if request.method == "CONNECT" {
                            tunnel = "\(request.target) \(auth)"
                            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
                            continue
                        }
                        let text = "\(name)|\(tunnel ?? "-")|\(request.target)|\(auth)|\(request.value("authorization") ?? "-")"
                        if Int.random(in: 0..<40) == 0 {
                            try connection.respond(fields: ["Connection: close"], body: Data(text.utf8))
                            return
                        }
                        try connection.respond(body: Data(text.utf8))
                    }
                }
            }
            let proxies = [try serve("p0"), try serve("p1")]
            defer { proxies.forEach { $0.stop() } }
            let ports = proxies.map(\.port)
            let authenticator = ProxyAuthenticator { _ in nil }
            let choose: @Sendable (Origin) -> ProxySettings? = { origin in
                // The host says the route: h<number>.p<proxy>.c<credentials>
                let parts = origin.host.split(separator: ".")
                let proxy = parts[1] == "p0" ? 0 : 1
                let credentials: (user: String, password: String)? = parts[2] == "c0" ? nil : (String(parts[2]), "pw")
                let settings = ProxySettings.http(host: "127.0.0.1", port: ports[proxy], credentials: credentials)
                return parts[0] == "h4" ? settings.authenticated(by: authenticator) : settings
            }
            try await withNIO {
                $0.proxy = .each(choose)
            } _: { transport in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for worker in 0..<24 {
                        group.addTask {
                            for round in 0..<125 {
                                let (h, p, c) = (Int.random(in: 0..<5), Int.random(in: 0..<2), Int.random(in: 0..<3))
                                let host = "h\(h).p\(p).c\(c).invalid"
                                var request = try Request(.get, url: "http://\(host)/\(worker)-\(round)")
                                request.headers[.authorization] = "T \(worker)-\(round)"
                                let body = String(decoding: try await transport.send(request.within(.seconds(20))).body.collect(), as: UTF8.self)
                                let auth = c == 0 ? "-" : ProxySettings.Credentials(user: "c\(c)", password: "pw").basicField
                                #expect(body == "p\(p)|-|http://\(host)/\(worker)-\(round)|\(auth)|T \(worker)-\(round)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            print("RT3 routes: connections \(proxies.map { $0.counts.value.accepted })")
        }

        @Test func anAuthenticatorThatBlocksHoldsItsLoopOnly() async throws {
            let proxy = try RawServer.answering { connection, request, _ in
                if request.value("proxy-authorization") == nil {
                    try connection.respond("407 No", fields: ["Proxy-Authenticate: N n=1"])
                } else {
                    try connection.respond(body: Data("ok".utf8))
                }
            }
            defer { proxy.stop() }
            let tasks = Watched<[Task<Response, any Error>]>([])
            let authenticator = ProxyAuthenticator { _ in
                tasks.value.forEach { $0.cancel() }
                return "N x"
            }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port).authenticated(by: authenticator))
            } _: { transport in
                for scheme in ["http", "https"] {
                    let task = Task { try await transport.send(Request(.get, url: "\(scheme)://a.invalid/").within(.seconds(5))) }
                    tasks.change { $0 = [task] }
                    let result = await task.result
                    print("RT3 cancel in authenticator \(scheme): \(result)")
                }
                tasks.change { $0 = [] }
                let response = try await transport.send(Request(.get, url: "http://b.invalid/").within(.seconds(5)))
                #expect(response.status == .ok)
            }
        }
    }
}
#endif
