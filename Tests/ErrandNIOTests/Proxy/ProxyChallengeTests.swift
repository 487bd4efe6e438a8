#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Proxies that ask for credentials: what an authenticator may return, and the times of a challenge.
    @Suite(.timeLimit(.minutes(5))) struct ProxyChallengeTests {
        private static let challenge = ["Proxy-Authenticate: N nonce=1"]

        /// Responds with 407 to each request that has no credentials.
        private static func respond(on connection: RawConnection, _ request: RawRequest) throws {
            if request.value("proxy-authorization") == nil {
                try connection.respond("407 No", fields: challenge)
            } else {
                try connection.respond(body: Data("ok".utf8))
            }
        }

        private func settings(_ proxy: RawServer, _ respond: @escaping @Sendable (ProxyChallenge) -> String?) -> ProxySettings {
            .http(host: "127.0.0.1", port: proxy.port).authenticated(by: ProxyAuthenticator(respond))
        }

        // MARK: - Results of an authenticator

        struct Value: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let text: String
            let reason: String
        }

        private static let character = "a character that is not allowed, such as a line break"
        private static let values = [
            Value(testDescription: "a line break", text: "N s3cret\r\nX-Injected: 1", reason: character),
            Value(testDescription: "a line feed", text: "N s3cret\n", reason: character),
            Value(testDescription: "NUL", text: "N s3cret\u{0}", reason: character),
            Value(testDescription: "1 MB", text: String(repeating: "s3cret ", count: 150_000) + "x", reason: "more than 65536 bytes"),
        ]

        @Test(arguments: values, ["http", "https"])
        func anUnsendableValueIsAFailure(value: Value, scheme: String) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try Self.respond(on: connection, request)
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in value.text }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let request = try Request(.get, url: "\(scheme)://a.invalid/").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.delivery == .notSent, "\(error)")
                #expect(error.message.hasPrefix("the HTTP proxy 127.0.0.1:\(proxy.port)"), "\(error.message.prefix(200))")
                #expect(error.message.contains("its authenticator returned"), "\(error.message.prefix(200))")
                #expect(error.message.contains(value.reason), "\(error.message.prefix(200))")
                var text = "\(error) \(error.localizedDescription)"
                dump(error, to: &text)
                #expect(!text.contains("s3cret"))
                await eventually { transport.openConnections.allSatisfy { $0.exchanges == 0 } }
            }
            #expect(seen.value.count == 1 && seen.value[0].value("proxy-authorization") == nil)
        }

        /// From the second request on, the authenticator is asked before the request is sent.
        @Test(arguments: values) func anUnsendableValueIsAFailureBeforeTheChallenge(value: Value) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try Self.respond(on: connection, request)
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { $0.target.hasSuffix("/1") ? "N good" : value.text }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                _ = try await transport.send(Request(.get, url: "http://a.invalid/1").within(.seconds(10))).body.collect()
                let request = try Request(.get, url: "http://a.invalid/2").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.phase == .request && error.delivery == .notSent, "\(error)")
                #expect(error.message.contains(value.reason) && !"\(error)".contains("s3cret"), "\(error.message.prefix(200))")
                _ = try await transport.send(Request(.get, url: "http://a.invalid/1").within(.seconds(10))).body.collect()
            }
            #expect(seen.value.map { $0.value("proxy-authorization") } == [nil, "N good", "N good"])
        }

        /// A proxy that has refused a large body may read the rest of it as the next request: a connection of its own has none.
        @Test(arguments: [(32 * 1024, 1), (32 * 1024 + 1, 2)])
        func aConnectionWithALargeRefusedBodyIsNotUsedAgain(bytes: Int, connections: Int) async throws {
            let proxy = try RawServer.responding { connection, request, _ in try Self.respond(on: connection, request) }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in "N good" }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let request = try Request(.post, url: "http://a.invalid/", body: .data(Data(count: bytes))).within(.seconds(10))
                #expect(try await transport.send(request).status == .ok)
                #expect(proxy.counts.value.accepted == connections)
            }
        }

        /// The value is treated as a missing value, like `nil`.
        @Test(arguments: ["http", "https"]) func anEmptyValueMeetsNoChallenge(scheme: String) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try connection.respond("407 No", fields: Self.challenge)
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in "" }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let request = try Request(.get, url: "\(scheme)://a.invalid/").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.delivery == .notSent, "\(error)")
                #expect(
                    error.message.hasSuffix(
                        "it requires credentials, but the authenticator returned no value: 407 Proxy Authentication Required"), "\(error)")
                #expect(error.proxyCredentials == nil)
            }
            #expect(seen.value.map { $0.values("proxy-authorization") } == [[]])
        }

        @Test func anUnrepeatableBodyIsNamedAsTheReason() async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 407 No\r\nProxy-Authenticate: N realm=x\r\nContent-Length: 0\r\n\r\n")
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in "N good" }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let body = RequestBody.stream(
                    AsyncStream {
                        $0.yield(Data("x".utf8)); $0.finish()
                    })
                let request = try Request(.post, url: "http://a.invalid/", body: body).within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.delivery == .notSent && error.proxyCredentials == nil, "\(error)")
                #expect(error.message.contains("the body of the request can't be sent again"), "\(error)")
            }
        }

        /// The authenticator is asked first. If the authenticator returns nothing, the credentials for Basic are sent.
        @Test func anEmptyValueLeavesTheCredentials() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                if request.value("proxy-authorization")?.hasPrefix("N") == true || seen.value.count > 2 {
                    try connection.respond(body: Data("ok".utf8))
                } else {
                    try connection.respond("407 No", fields: Self.challenge)
                }
            }
            defer { proxy.stop() }
            let settings = ProxySettings.http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "pw"))
                .authenticated(by: ProxyAuthenticator { $0.target.hasSuffix("/1") ? "N good" : "" })
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                for path in ["1", "2"] {
                    _ = try await transport.send(Request(.get, url: "http://a.invalid/\(path)").within(.seconds(10))).body.collect()
                }
            }
            #expect(seen.value.map { $0.value("proxy-authorization") } == ["Basic am9lOnB3", "N good", "Basic am9lOnB3"])
        }

        // MARK: - The times of a challenge

        /// The proxy has not passed the request on.
        @Test(arguments: [true, false]) func aTimeThatPassesWithinAChallengeNamesTheProxy(isDeadline: Bool) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 407 No\r\n\(Self.challenge[0])\r\nContent-Length: 10\r\n\r\nfour")
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in "N good" }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                var request = try Request(.post, url: "http://a.invalid/", body: .text("x"))
                if isDeadline { request = request.within(.milliseconds(300)) }
                if !isDeadline { request.options.phaseTimeouts = .use(PhaseTimeouts(idleRead: .milliseconds(60))) }
                let timed = request
                let error = try await transportError { try await transport.send(timed) }
                #expect(error.code == .timedOut && error.phase == .response && error.delivery == .notSent, "\(error)")
                #expect(
                    error.message.hasSuffix(
                        "(through the HTTP proxy 127.0.0.1:\(proxy.port)), while the proxy asked for credentials"), "\(error)")
                try await proxy.counts.wait { $0.seenEnds == 1 }
            }
        }

        /// In total, its body takes longer than the limit between two pieces.
        @Test func aTricklingChallengeIsNotIdle() async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 407 No\r\n\(Self.challenge[0])\r\nContent-Length: 5\r\n\r\n")
                for _ in 0..<5 {
                    connection.pause(milliseconds: 110)
                    try connection.write("x")
                }
                try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = settings(proxy) { _ in "N good" }
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                var request = try Request(.get, url: "http://a.invalid/")
                request.options.phaseTimeouts = .use(PhaseTimeouts(idleRead: .milliseconds(400)))
                let data = try await transport.send(request).body.collect()
                #expect(data == Data("ok".utf8))
            }
            #expect(proxy.counts.value.accepted == 1)
        }

        /// Challenges one connection, and closes it.
        private final class ChallengingScript: ByteScript {
            func opened() -> [ByteAction] { [] }
            func received(_ bytes: [UInt8]) -> [ByteAction] {
                let head = "HTTP/1.1 407 No\r\n\(ProxyChallengeTests.challenge[0])\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                return [.write(Array(head.utf8)), .close]
            }
        }

        /// The first connection is challenged, and the second one hangs before the proxy is asked.
        @Test(arguments: [1, 2]) func aHangingTLSProxyIsNotReportedAsATunnel(hanging: Int) async throws {
            let secure = try await ByteServer(certificate: try TestAuthority().certificate(), protocols: ["http/1.1"]) {
                ChallengingScript()
            }
            let port = secure.port
            let proxy = try RawServer { connection in
                if connection.number < hanging { try connection.relay(to: port) }
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = ProxySettings.https(host: "127.0.0.1", port: proxy.port)
                .authenticated(by: ProxyAuthenticator { _ in "N good" })
            try await withNIO {
                $0.proxy = .all(settings)
                $0.connectTimeout = .milliseconds(800)
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: "https://a.invalid/")) }
                #expect(error.code == .timedOut && error.phase == .connect && error.delivery == .notSent, "\(error)")
                #expect(error.message.contains(", during the TLS handshake with 127.0.0.1:\(proxy.port) (the HTTPS proxy "), "\(error)")
            }
            #expect(proxy.counts.value.accepted == hanging)
            await secure.stop()
        }
    }
}
#endif
