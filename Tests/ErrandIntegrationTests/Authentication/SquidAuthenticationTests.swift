#if SWIFT_NIO && Auth
internal import Errand
internal import TestSupport
internal import Testing

/// The proxy squid asks for Digest, and for Basic in the second place; its nonces are good for 50 requests.
@Suite(
    .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
    .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)),
    .timeLimit(.minutes(5)))
struct SquidAuthenticationTests {
    /// What an authenticator was asked, and said.
    private typealias Log = Watched<[(challenge: ProxyChallenge, value: String?)]>

    /// Runs `body` with a stack whose requests go by squid's locked port.
    private func withProxy<Result>(
        _ authenticator: ProxyAuthenticator?, credentials: (user: String, password: String)? = nil,
        _ change: (inout NIOTransport.Configuration) -> Void = { _ in },
        _ body: (HTTPStack, NginxServer, Log) async throws -> Result
    ) async throws -> Result {
        let log = Log([])
        var proxy = ProxySettings.http(host: "127.0.0.1", port: try RealServer.squid.lockedPort(), credentials: credentials)
        if let authenticator {
            proxy.authenticator = ProxyAuthenticator { challenge in
                let value = authenticator.respond(to: challenge)
                log.change { $0.append((challenge, value)) }
                return value
            }
        }
        return try await withStack(through: proxy, change) { try await body($0, $1, log) }
    }

    @Test(arguments: SquidTests.listeners) func digestOpensTheProxy(listener: NginxServer.Listener) async throws {
        try await withProxy(.digest(user: "joe", password: "pw")) { stack, nginx, log in
            for _ in 0..<3 {
                let response = try await stack.send(Request(.get, url: nginx.url("/small?a=1,2", listener, host: "localhost")))
                #expect(response.status == .ok)
                response.body.abandon()
            }
            // One round trip for all, and one tunnel.
            #expect(log.value.allSatisfy { $0.value?.hasPrefix(#"Digest username="joe", realm="squid", "#) == true })
            let counts = log.value.map { AuthenticationChallenge.parse([$0.value ?? ""]).first?["nc"] }
            #expect(counts == (listener == .tls ? ["00000001"] : ["00000001", "00000002", "00000003"]))
            #expect(log.value.allSatisfy { $0.challenge.refusals == 0 })
        }
    }

    /// Squid keeps the connection on which it refused a body, and reads no further request there if the body was larger than its buffer of
    /// 64 KiB.
    @Test func aBodyIsSentAgainAfterTheChallenge() async throws {
        try await withProxy(.digest(user: "joe", password: "pw")) { stack, nginx, _ in
            for listener in SquidTests.listeners {
                let name = "by-digest-\(listener)"
                let body = NginxServer.middle
                let request = try Request(.put, url: nginx.url("/put/\(name)", listener, host: "localhost"), body: .data(Data(body)))
                let response = try await stack.send(request)
                guard nginx.haveUploads else { return #expect(response.status.kind == .clientError) }
                #expect(response.status == .created)
                let isWhole = try nginx.stored(name) == Data(body)
                #expect(isWhole)
            }
        }
    }

    /// Squid calls a nonce stale after 50 requests.
    @Test func aNonceThatIsUsedUpIsReplaced() async throws {
        try await withProxy(.digest(user: "joe", password: "pw")) { stack, nginx, log in
            for number in 0..<120 {
                let response = try await stack.send(Request(.get, url: nginx.url("/small?\(number)", host: "localhost")))
                #expect(response.status == .ok)
                response.body.abandon()
            }
            let nonces = Set(log.value.map { AuthenticationChallenge.parse([$0.value ?? ""]).first?["nonce"] })
            #expect(nonces.count == 3 && log.value.allSatisfy { $0.challenge.refusals == 0 && $0.value != nil })
        }
    }

    /// The counts of a nonce reach the proxy in another order than they were taken.
    @Test(arguments: SquidTests.listeners) func manyConnectionsShareThePassword(listener: NginxServer.Listener) async throws {
        try await withProxy(.digest(user: "joe", password: "pw")) { stack, nginx, _ in
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let response = try await stack.send(Request(.get, url: nginx.url("/small?\(number)", listener, host: "localhost")))
                        _ = try await response.body.collect()
                        return response.status
                    }
                }
                for try await status in group { #expect(status == .ok) }
            }
        }
    }

    /// The name is not joe's: squid mixes up two passwords for one name that come at the same moment.
    @Test(arguments: SquidTests.listeners) func aWrongPasswordIsSentOnce(listener: NginxServer.Listener) async throws {
        try await withProxy(.digest(user: "jim", password: "hunter2", orBasic: true)) { stack, nginx, log in
            let url = nginx.url("/small", listener, host: "localhost")
            let error = try await failure(TransportError.self) { try await stack.send(Request(.get, url: url)) }
            #expect(error.code == .proxy && error.delivery == .notSent && error.proxyCredentials == .refused, "\(error)")
            #expect(!"\(error)".contains("hunter2"))
            #expect(log.value.count { $0.value != nil } == 1)
        }
    }

    /// Squid offers both, and gets the better one.
    @Test func basicIsNotSentToAProxyWithDigest() async throws {
        try await withProxy(.digest(user: "joe", password: "pw", orBasic: true)) { stack, nginx, log in
            let response = try await stack.send(Request(.get, url: nginx.url("/small", host: "localhost")))
            #expect(response.status == .ok)
            response.body.abandon()
            let challenge = try #require(log.value.first?.challenge)
            #expect(challenge.challenges.contains { $0.isScheme("Basic") } && challenge.challenges.contains { $0.isScheme("Digest") })
            #expect(log.value.count == 1 && log.value.first?.value?.hasPrefix("Digest ") == true)
        }
    }

    @Test(arguments: SquidTests.listeners) func basicOpensTheProxyWithoutAChallenge(listener: NginxServer.Listener) async throws {
        try await withProxy(nil, credentials: ("joe", "pw")) { stack, nginx, _ in
            let response = try await stack.send(Request(.get, url: nginx.url("/small", listener, host: "localhost")))
            #expect(response.status == .ok && response.metadata.attempts.isEmpty)
            response.body.abandon()
        }
    }

    /// Neither gets the other's.
    @Test func proxyAndOriginHaveSeparatePasswords() async throws {
        let seen = Watched<[RawRequest]>([])
        let origin = try RawServer.responding { connection, request, _ in
            seen.change { $0.append(request) }
            if request.value("authorization") == nil {
                try connection.respond("401 No", fields: [#"WWW-Authenticate: Digest realm="o", nonce="n", qop=auth"#])
            } else {
                try connection.respond(body: Data("ok".utf8))
            }
        }
        defer { origin.stop() }
        try await withProxy(.digest(user: "joe", password: "pw")) { stack, _, _ in
            let response = try await stack.authenticate(.digest(user: "ann", password: "other"))
                .send(Request(.get, url: "http://127.0.0.1:\(origin.port)/x"))
            #expect(response.status == .ok)
            response.body.abandon()
        }
        #expect(seen.value.map { $0.value("proxy-authorization") } == [nil, nil])
        #expect(seen.value.last?.value("authorization")?.hasPrefix(#"Digest username="ann", realm="o", "#) == true)
    }
}
#endif
