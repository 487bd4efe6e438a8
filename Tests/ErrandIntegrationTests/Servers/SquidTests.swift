#if SWIFT_NIO
internal import Errand
internal import TestSupport
internal import Testing

/// Through a forward proxy to nginx, with and without a password.
@Suite(
    .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
    .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)),
    .timeLimit(.minutes(5)))
struct SquidTests {
    /// Runs `body` with a stack whose requests go by squid.
    private func withProxy<Result>(
        port: Int, credentials: (user: String, password: String)? = nil, _ body: (HTTPStack, NginxServer) async throws -> Result
    ) async throws -> Result {
        try await withStack(through: .http(host: "127.0.0.1", port: port, credentials: credentials)) { try await body($0, $1) }
    }

    /// What goes with TLS, through a tunnel, and what without, which the proxy reads.
    static let listeners = [NginxServer.Listener.plain, .tls]

    @Test(arguments: listeners)
    func requestsGoThroughTheProxy(listener: NginxServer.Listener) async throws {
        try await withProxy(port: try RealServer.squid.port()) { stack, nginx in
            for _ in 0..<2 {
                let response = try await stack.send(Request(.get, url: nginx.url("/300k", listener, host: "localhost")))
                #expect(response.status == .ok)
                #expect(response.metadata.httpVersion == (listener == .tls ? .http2 : .http1_1))
                // As one value: the difference between two long ones would be worked out for minutes.
                let isWhole = try await response.body.collect() == NginxServer.middle
                #expect(isWhole)
            }
        }
    }

    @Test func aBodyIsSentThroughTheTunnel() async throws {
        try await withProxy(port: try RealServer.squid.port()) { stack, nginx in
            let name = "by-squid"
            let request = try Request(.put, url: nginx.url("/put/\(name)", .tls, host: "localhost"), body: .data(NginxServer.middle))
            let response = try await stack.send(request)
            guard nginx.haveUploads else { return #expect(response.status.kind == .clientError) }
            #expect(response.status == .created)
            let isWhole = try nginx.stored(name) == NginxServer.middle
            #expect(isWhole)
        }
    }

    @Test func aCertificateIsCheckedThroughTheTunnel() async throws {
        try await withProxy(port: try RealServer.squid.port()) { stack, nginx in
            for listener in [NginxServer.Listener.selfSigned, .expired, .wrongHost] {
                let error = try await failure(TransportError.self) {
                    try await stack.send(Request(.get, url: nginx.url("/", listener, host: "localhost")))
                }
                #expect(error.code == .tls)
                #expect(error.delivery == .notSent)
            }
        }
    }

    @Test(arguments: listeners)
    func thePasswordOpensTheProxy(listener: NginxServer.Listener) async throws {
        try await withProxy(port: try RealServer.squid.lockedPort(), credentials: ("joe", "pw")) { stack, nginx in
            let response = try await stack.send(Request(.get, url: nginx.url("/echo", listener, host: "localhost")))
            #expect(response.status == .ok)
        }
    }

    /// The user is not joe, because squid confuses two passwords for one name that arrive at the same moment.
    @Test(arguments: listeners, [nil, "wrong"])
    func requestsWithoutThePasswordAreRefused(listener: NginxServer.Listener, password: String?) async throws {
        try await withProxy(port: try RealServer.squid.lockedPort(), credentials: password.map { ("jim", $0) }) { stack, nginx in
            let error = try await failure(TransportError.self) {
                try await stack.send(Request(.get, url: nginx.url("/echo", listener, host: "localhost")))
            }
            #expect(error.code == .proxy)
            // A request without TLS is read, and refused, by the proxy itself.
            #expect(error.phase == (listener == .tls ? .connect : .response))
            #expect(error.delivery == .notSent)
            #expect(error.response?.status == (listener == .tls ? nil : .proxyAuthenticationRequired))
        }
    }

    @Test func anUnreachableOriginIsAFailureOfTheTunnel() async throws {
        let port = try LoopbackPorts.refused()
        try await withProxy(port: try RealServer.squid.port()) { stack, _ in
            let error = try await failure(TransportError.self) {
                try await stack.send(Request(.get, url: "https://127.0.0.1:\(port)/"))
            }
            #expect(error.code == .proxy)
            #expect(error.delivery == .notSent)
        }
    }

    /// A proxy that reads a request responds in place of its origin.
    @Test func anUnreachableOriginGivesTheResponseOfTheProxy() async throws {
        let port = try LoopbackPorts.refused()
        try await withProxy(port: try RealServer.squid.port()) { stack, _ in
            let response = try await stack.send(Request(.get, url: "http://127.0.0.1:\(port)/"))
            #expect(response.status == .serviceUnavailable)
            response.body.abandon()
        }
    }

    /// Squid is told to go nowhere but to this machine.
    @Test func aForbiddenOriginIsAProxyFailureWithoutARetry() async throws {
        try await withProxy(port: try RealServer.squid.port()) { stack, _ in
            let error = try await failure(TransportError.self) {
                try await stack.retry().send(Request(.get, url: "https://192.0.2.1/"))
            }
            #expect(error.code == .proxy)
            #expect(error.attempts.isEmpty)
        }
    }

    @Test func anUnreachableProxyIsAFailureToConnect() async throws {
        try await withProxy(port: try LoopbackPorts.refused()) { stack, nginx in
            let error = try await failure(TransportError.self) { try await stack.send(Request(.get, url: nginx.url("/small"))) }
            #expect(error.code == .cannotConnect)
            #expect(error.delivery == .notSent)
        }
    }
}
#endif
