#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Proxies of the test's own, which refuse, stall and break their rules.
    @Suite(.timeLimit(.minutes(5))) struct ProxyTests {
        /// A proxy that sees requests, and responds to each by a function of its number on all connections, counted from 1.
        private func proxy(
            seeing seen: Watched<[RawRequest]>, _ respond: @escaping @Sendable (RawConnection, RawRequest, Int) throws -> Void
        ) throws -> RawServer {
            try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try respond(connection, request, seen.value.count)
            }
        }

        private func via(_ server: RawServer, credentials: (String, String)? = nil) -> ProxySettings {
            .http(host: "127.0.0.1", port: server.port, credentials: credentials)
        }

        private func failure(_ proxy: ProxySettings, _ request: Request) async throws -> TransportError {
            try await withNIO {
                $0.proxy = .all(proxy)
            } _: { transport in
                try await transportError { try await transport.send(request.within(.seconds(10))) }
            }
        }

        private static let authenticator = ProxyAuthenticator { challenge in
            challenge.challenges.first.map { "N \($0["nonce"] ?? "") \(challenge.method) \(challenge.target)" }
        }

        private static let challenge = ["Proxy-Authenticate: N nonce=1"]

        // MARK: - Absolute form

        @Test func requestsWithoutTLSHaveTheWholeURL() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try proxy(seeing: seen) { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { proxy.stop() }
            let settings = via(proxy, credentials: ("joe", "pw"))
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                var own = try Request(.get, url: "http://a.invalid:81/?b")
                own.headers[.proxyAuthorization] = "Own x"
                let requests = [
                    try Request(.get, url: "http://a.invalid/path?q=1"), try Request(.post, url: "http://a.invalid", body: .text("x")),
                    try Request(.get, url: "http://b.invalid/"), own,
                ]
                for request in requests {
                    let data = try await transport.send(request.within(.seconds(10))).body.collect()
                    #expect(data == Data("ok".utf8))
                }
                // Each origin has its own connection, which is reported as the origin's.
                let authorities = transport.openConnections.map(\.authority)
                #expect(authorities == ["a.invalid", "b.invalid", "a.invalid:81"])
                #expect(transport.openConnections.first?.peerPort == proxy.port)
            }
            #expect(
                seen.value.map { "\($0.method) \($0.target) \($0.value("host") ?? "")" } == [
                    "GET http://a.invalid/path?q=1 a.invalid", "POST http://a.invalid/ a.invalid", "GET http://b.invalid/ b.invalid",
                    "GET http://a.invalid:81/?b a.invalid:81",
                ])
            let basic = "Basic am9lOnB3"
            #expect(seen.value.map { $0.values("proxy-authorization") } == [[basic], [basic], [basic], ["Own x"]])
            #expect(proxy.counts.value.accepted == 3)
        }

        @Test func aChallengeIsMetOnTheSameConnectionAndThenPreemptively() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try proxy(seeing: seen) { connection, request, _ in
                if request.value("proxy-authorization") == nil {
                    try connection.respond("407 No", fields: Self.challenge, body: Data(count: 5000))
                } else {
                    try connection.respond(body: Data("ok".utf8))
                }
            }
            defer { proxy.stop() }
            let settings = via(proxy).authenticated(by: Self.authenticator)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                for path in ["1", "2"] {
                    let request = try Request(.put, url: "http://a.invalid/\(path)", body: .text("body"))
                    let response = try await transport.send(request.within(.seconds(10)))
                    #expect(response.status == .ok)
                    _ = try await response.body.collect()
                    let open = transport.openConnections
                    #expect(open.map(\.exchanges) == [0] && open.map(\.exchangesStarted) == [path == "1" ? 2 : 3])
                }
            }
            #expect(
                seen.value.map { $0.value("proxy-authorization") } == [nil, "N 1 PUT http://a.invalid/1", "N 1 PUT http://a.invalid/2"])
            #expect(proxy.counts.value.accepted == 1)
        }

        @Test(arguments: ["Connection: close", "Content-Length: 100000"])
        func aChallengeThatEndsTheConnectionIsMetOnAnotherConnection(field: String) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    seen.change { $0.append(request) }
                    if request.value("proxy-authorization") != nil {
                        try connection.respond(body: Data("ok".utf8))
                    } else if field.hasPrefix("Content") {
                        try connection.write("HTTP/1.1 407 No\r\n\(Self.challenge[0])\r\n\(field)\r\n\r\n")
                        try connection.write(Data(count: 100_000))
                    } else {
                        return try connection.respond("407 No", fields: Self.challenge + [field])
                    }
                }
            }
            defer { proxy.stop() }
            let settings = via(proxy).authenticated(by: Self.authenticator)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://a.invalid/").within(.seconds(10)))
                #expect(response.status == .ok)
            }
            #expect(seen.value.count == 2 && proxy.counts.value.accepted == 2)
        }

        @Test func anUnrepeatableBodyIsNotSentAgain() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try proxy(seeing: seen) { connection, _, _ in try connection.respond("407 No", fields: Self.challenge) }
            defer { proxy.stop() }
            let (chunks, feed) = AsyncStream<Data>.makeStream()
            feed.yield(Data("x".utf8))
            feed.finish()
            let body = RequestBody.stream(chunks)
            let error = try await failure(
                via(proxy).authenticated(by: Self.authenticator), Request(.put, url: "http://a.invalid/", body: body))
            #expect(error.code == .proxy && error.delivery == .notSent && error.response?.status.code == 407)
            #expect(seen.value.count == 1)
        }

        @Test(arguments: [true, false]) func aChallengeWithoutCredentialsIsAFailure(hasAuthenticator: Bool) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try proxy(seeing: seen) { connection, _, _ in
                try connection.respond("407 Proxy Authentication Required", fields: Self.challenge)
            }
            defer { proxy.stop() }
            let settings = hasAuthenticator ? via(proxy).authenticated(by: Self.authenticator) : via(proxy, credentials: ("joe", "hunter2"))
            let error = try await failure(settings, Request(.get, url: "http://a.invalid/"))
            #expect(error.code == .proxy && error.phase == .response && error.delivery == .notSent)
            #expect(
                error.message == "the HTTP proxy 127.0.0.1:\(proxy.port) refused the request: it does not accept the credentials: "
                    + "407 Proxy Authentication Required")
            #expect(error.proxyCredentials == .refused && error.proxy == ProxyAddress(settings))
            #expect(seen.value.count == (hasAuthenticator ? 2 : 1))
            #expect(!"\(error)".contains("hunter2"))
        }

        @Test func aConnectionThatIsLostWithinAChallengeIsReplaced() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer { connection in
                let request = try connection.readHead()
                seen.change { $0.append(request) }
                if request.value("proxy-authorization") != nil { return try connection.respond(body: Data("ok".utf8)) }
                try connection.respond("407 No", fields: Self.challenge, body: Data(count: 100), bodyIsSent: false)
            }
            defer { proxy.stop() }
            let settings = via(proxy).authenticated(by: Self.authenticator)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://a.invalid/").within(.seconds(10)))
                #expect(response.status == .ok)
            }
            #expect(seen.value.count == 2)
        }

        // MARK: - Tunnels

        @Test(arguments: [
            ("403 Forbidden", "403 Forbidden"),
            (
                "407 Proxy Authentication Required",
                "it requires credentials, but no credentials were given: 407 Proxy Authentication Required"
            ),
            ("503", "503 Service Unavailable"),
        ])
        func theErrorOfARefusedTunnelNamesItsStatus(status: String, shown: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 \(status)\r\nContent-Length: 1000000\r\n\r\n")
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let error = try await failure(via(proxy), Request(.get, url: "https://a.invalid/"))
            #expect(error.code == .proxy && error.phase == .connect && error.delivery == .notSent)
            #expect(error.message == "the HTTP proxy 127.0.0.1:\(proxy.port) refused the tunnel to a.invalid:443: \(shown)")
            let sentence =
                status.hasPrefix("407")
                ? "The proxy requires a user name and a password."
                : "The proxy did not forward the request to the server."
            #expect(error.localizedDescription == sentence)
        }

        @Test(arguments: [
            ("SSH-2.0-OpenSSH\r\n", "did not open the tunnel to a.invalid:443: "),
            ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 300_000))", "the head of the response is longer than"),
            ("", "closed the connection before the tunnel to a.invalid:443 was open"),
            ("HTTP/1.1 200 OK\r\n\r\nmore", "sent bytes before the tunnel to a.invalid:443 was used"),
        ])
        func garbageIsRefused(text: String, message: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write(text)
                if !text.isEmpty { connection.waitForEnd() }
            }
            defer { proxy.stop() }
            let error = try await failure(via(proxy), Request(.get, url: "https://a.invalid/"))
            #expect(error.code == .proxy && error.phase == .connect)
            #expect(error.message.contains(message), "\(error)")
            #expect(error.localizedDescription == "The proxy did not forward the request to the server.")
        }

        @Test func aStallingProxyIsAbandonedAfterTheConnectTimeout() async throws {
            let proxy = try RawServer { $0.waitForEnd() }
            defer { proxy.stop() }
            let settings = via(proxy)
            try await withNIO {
                $0.proxy = .all(settings)
                $0.connectTimeout = .milliseconds(200)
            } _: { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: "https://a.invalid/")) }
                #expect(error.code == .timedOut && error.phase == .connect)
                // It may be the origin that does not respond.
                #expect(error.proxy == nil && error.localizedDescription == "Connecting to the server took too long.")
                #expect(
                    error.message.hasSuffix(
                        " opened a tunnel; the proxy sent nothing: it may wait for the origin, or is not an HTTP proxy"),
                    "\(error)")
                try await proxy.counts.wait { $0.seenEnds == 1 }
            }
        }

        /// A real SOCKS proxy responds immediately.
        @Test func aSilentSOCKSProxyIsBlamed() async throws {
            let proxy = try RawServer { $0.waitForEnd() }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.socks5(host: "127.0.0.1", port: proxy.port))
                $0.connectTimeout = .milliseconds(200)
            } _: { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: "https://a.invalid/")) }
                #expect(error.code == .timedOut && error.proxy?.kind == .socks5)
                #expect(error.localizedDescription == "Connecting to the proxy took too long.")
                #expect(error.message.hasSuffix("; the proxy sent nothing: check that it is a SOCKS 5 proxy"), "\(error)")
            }
        }

        @Test(arguments: ["http", "socks"]) func cancellingClosesTheConnectionToAStallingProxy(kind: String) async throws {
            let asked = Watched(0)
            let proxy = try RawServer { connection in
                _ = try connection.read()
                asked.change { $0 += 1 }
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = kind == "http" ? via(proxy) : .socks5(host: "127.0.0.1", port: proxy.port)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let task = Task { try await transport.send(Request(.get, url: "https://a.invalid/")) }
                try await asked.wait { $0 == 1 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await proxy.counts.wait { $0.seenEnds == 1 }
            }
        }

        @Test func anUnreachableProxyIsNamed() async throws {
            let port = try LoopbackPorts.refused()
            for url in ["http://a.invalid/", "https://a.invalid/"] {
                let error = try await failure(.http(host: "127.0.0.1", port: port), Request(.get, url: url))
                #expect(error.code == .cannotConnect && error.delivery == .notSent)
                #expect(error.message.hasPrefix("the HTTP proxy 127.0.0.1:\(port): 127.0.0.1:\(port): connection refused"), "\(error)")
                #expect(error.localizedDescription == "Could not connect to the proxy." && error.proxy?.port == port)
                #expect(error.recoverySuggestion?.contains("the settings of the proxy") == true)
            }
        }

        @Test(
            arguments: [
                ([5, 0xFF], "it does not speak HTTP, but SOCKS 5; configure it as a SOCKS 5 proxy"),
                ([0x15, 3, 1, 0, 2], "it does not speak HTTP, but TLS; configure it as an HTTPS proxy"),
                (Array("SSH-2.0-x\r\n".utf8), "it does not speak HTTP: its response begins with 'SSH-2.0-x\\x0D', not with 'HTTP/1.'"),
            ] as [([UInt8], String)])
        func aProxyThatDoesNotSpeakHTTPIsBlamedAndNotTheOrigin(bytes: [UInt8], message: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write(bytes)
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let error = try await failure(via(proxy), Request(.get, url: "http://a.invalid/"))
            #expect(error.code == .proxy && error.proxy?.kind == .http)
            #expect(error.message == "the HTTP proxy 127.0.0.1:\(proxy.port): \(message)")
        }

        @Test func aProxyThatClosesImmediatelyIsNamed() async throws {
            let proxy = try RawServer { try $0.readHead() }
            defer { proxy.stop() }
            let error = try await failure(via(proxy), Request(.get, url: "http://a.invalid/"))
            #expect(error.code == .connectionLost && error.proxy?.port == proxy.port)
            #expect(
                error.message == "connection closed by the proxy without a response; check that it is an HTTP proxy "
                    + "(through the HTTP proxy 127.0.0.1:\(proxy.port))")
            #expect(error.localizedDescription == "The connection to the proxy was lost.")
        }

        /// The address of the connection is the proxy's, and is not shown as the origin's.
        @Test func aFailureThroughAProxyNamesTheProxy() async throws {
            let proxy = try proxy(seeing: Watched([])) { connection, _, _ in try connection.write("HTTP/1.1 999999\r\n\r\n") }
            defer { proxy.stop() }
            let error = try await failure(via(proxy), Request(.get, url: "http://a.invalid/"))
            #expect(error.code == .invalidResponse && error.proxy == nil)
            #expect(error.message.hasSuffix(" (through the HTTP proxy 127.0.0.1:\(proxy.port))"), "\(error)")
            #expect(error.localizedDescription == "The response of the server is not valid.")
        }

        @Test(arguments: [true, false]) func aProxyWhoseNameIsUnknownIsNamed(hasTLS: Bool) async throws {
            try await withNIO {
                $0.proxy = .all(.socks5(host: "proxy.invalid", credentials: ("joe", "hunter2")))
                $0.resolver = .system
            } _: { transport in
                let url = "\(hasTLS ? "https" : "http")://a.invalid/"
                let error = try await transportError { try await transport.send(Request(.get, url: url).within(.seconds(10))) }
                #expect(error.code == .cannotFindHost)
                #expect(error.message.hasPrefix("the SOCKS 5 proxy proxy.invalid:1080: 'proxy.invalid'"), "\(error)")
                #expect(error.localizedDescription == "The proxy could not be found.")
                let preconnecting = try await transportError { try await transport.preconnect(to: url) }
                #expect(preconnecting.localizedDescription == error.localizedDescription)
            }
        }

        @Test func aConnectionIsPrintedWithItsVersionAndItsProxy() async throws {
            let proxy = try proxy(seeing: Watched([])) { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { proxy.stop() }
            let settings = via(proxy, credentials: ("joe", "hunter2"))
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                _ = try await transport.send(Request(.get, url: "http://a.invalid/").within(.seconds(10))).body.collect()
                let text = transport.openConnections.map { "\($0)" }.first ?? ""
                let start = "http://a.invalid through the HTTP proxy 127.0.0.1:\(proxy.port) at 127.0.0.1:\(proxy.port), HTTP/1.1, "
                #expect(text.contains(start), "\(text)")
            }
        }

        @Test(arguments: [true, false]) func aTunnelIsChallengedAndThenUsedForAnUpgrade(closes: Bool) async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    seen.change { $0.append(request) }
                    if request.method != "CONNECT" {
                        try connection.write("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello")
                        connection.waitForEnd()
                        return
                    } else if request.value("proxy-authorization") != nil {
                        try connection.write("HTTP/1.1 200 OK\r\n\r\n")
                    } else {
                        try connection.respond(
                            "407 No", fields: Self.challenge + (closes ? ["Connection: close"] : []), body: Data(count: 100))
                        if closes { return }
                    }
                }
            }
            defer { proxy.stop() }
            let settings = via(proxy).authenticated(by: Self.authenticator)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                var request = try Request(.get, url: "http://a.invalid/")
                request.headers[.proxyAuthorization] = "Own x"
                request.options.upgrade = UpgradeRequest(protocolName: "echo")
                let response = try await transport.send(request.within(.seconds(10)))
                let stream = try #require(response.upgrade)
                let first = try await stream.incoming.next()
                #expect(first == Data("hello".utf8))
                stream.close()
            }
            #expect(seen.value.map(\.target) == ["a.invalid:80", "a.invalid:80", "/"])
            #expect(seen.value.map { $0.value("proxy-authorization") } == [nil, "N 1 CONNECT a.invalid:80", nil])
            #expect(proxy.counts.value.accepted == (closes ? 2 : 1))
        }

        /// A host that `no_proxy` names must not get what is for the proxy.
        @Test func proxyCredentialsDoNotReachAnOrigin() async throws {
            let seen = Watched<[RawRequest]>([])
            let server = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try connection.respond(body: Data("ok".utf8))
            }
            defer { server.stop() }
            try await withNIO {
                $0.proxy = .environment(["http_proxy": "p.invalid:1", "no_proxy": "127.0.0.1"])
            } _: { transport in
                var request = try Request(.post, url: server.url(), body: .text("x"))
                request.headers[.proxyAuthorization] = "Own x"
                _ = try await transport.send(request.within(.seconds(10))).body.collect()
            }
            #expect(seen.value.count == 1 && seen.value[0].value("proxy-authorization") == nil)
        }

        @Test(arguments: ["http", "https"]) func aProxyThatRepeatsCredentialsPutsThemInNoError(scheme: String) async throws {
            let proxy = try RawServer.responding { connection, request, _ in
                let seen = request.value("proxy-authorization") ?? ""
                try connection.respond("407 \(seen)", fields: ["Proxy-Authenticate: Basic realm=\"\(seen)\""])
            }
            defer { proxy.stop() }
            let failure = try await failure(via(proxy, credentials: ("joe", "s3cret")), Request(.get, url: "\(scheme)://a.invalid/"))
            var text = "\(failure) \(failure.localizedDescription)"
            dump(failure, to: &text)
            #expect(failure.code == .proxy && !text.contains("am9lOnMzY3JldA") && text.contains("407 Proxy Authentication Required"))
        }

        /// RFC 9113, section 3.4: an HTTP/2 server may send its settings immediately, and they may arrive with the last bytes of the
        /// proxy.
        @Test(arguments: [true, false]) func anHTTP2ServerMaySpeakFirstThroughATunnel(inOneWrite: Bool) async throws {
            let proxy = try RawServer { connection in
                _ = try connection.read(exactly: 3)
                try connection.write([5, 0])
                _ = try connection.read(exactly: 4 + 1 + 9 + 2)
                let reply: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80]
                let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
                if inOneWrite {
                    try connection.write(reply + settings)
                } else {
                    try connection.write(reply)
                    try connection.write(settings)
                }
                // The preface, the settings and the request of stream 1; then the response: `:status: 204` with END_STREAM.
                _ = try connection.read(exactly: 24 + 9)
                try connection.write([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x89])
                _ = try? connection.read(exactly: 1 << 20)
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.usesHTTP2WithoutTLS = true
                $0.proxy = .all(.socks5(host: "127.0.0.1", port: proxy.port))
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://a.invalid/").within(.seconds(10)))
                #expect(response.status == .noContent && response.metadata.httpVersion == .http2)
            }
        }

        /// The proxy resolves the names of origins.
        @Test(arguments: ["http", "https"]) func onlyTheNameOfTheProxyIsLookedUp(scheme: String) async throws {
            let socks = try RawServer { connection in
                _ = try connection.read(exactly: 3)
                try connection.write([5, 0])
                _ = try connection.read(exactly: 4 + 1 + 9 + 2)
                try connection.write([5, 4])
            }
            defer { socks.stop() }
            let resolver = StubResolver("127.0.0.1")
            try await withNIO {
                $0.proxy = .all(.socks5(host: "proxy.test", port: socks.port))
                $0.resolver = resolver
            } _: { transport in
                let url = "\(scheme)://a.invalid:81/"
                let error = try await transportError { try await transport.send(Request(.get, url: url).within(.seconds(10))) }
                #expect(error.code == .proxy)
                #expect(error.message.hasSuffix("did not connect to a.invalid:81: host unreachable (SOCKS reply 4)"), "\(error)")
            }
            #expect(resolver.asked.value == ["proxy.test:\(socks.port)"])
        }

        // MARK: - Choices

        @Test func aClosureChoosesTheProxyByOrigin() async throws {
            let server = try RawServer.responding { connection, request, _ in try connection.respond(body: Data(request.target.utf8)) }
            defer { server.stop() }
            let settings = via(server)
            try await withNIO {
                $0.proxy = .byOrigin { $0.host == "a.invalid" ? settings : nil }
            } _: { transport in
                for (url, target) in [("http://a.invalid/x", "http://a.invalid/x"), (server.url("/x"), "/x")] {
                    let data = try await transport.send(Request(.get, url: url).within(.seconds(10))).body.collect()
                    #expect(data == Data(target.utf8))
                }
            }
        }

        @Test func aProxyThatCanNotBeUsedIsAFailure() async throws {
            try await withNIO {
                $0.proxy = .byOrigin { _ in .http(host: "a b", port: 1) }
            } _: { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: "http://a.invalid/")) }
                #expect(error.code == .proxy && error.message == "invalid proxy: its host 'a b' is neither a name nor an address")
                await #expect(throws: ProxySettingsError.self) { try await transport.preconnect(to: "http://a.invalid/") }
            }
            for (proxy, reason) in [
                (ProxySettings.http(host: "p", port: 0), "its port must be from 1 to 65535 (is 0)"),
                (.socks5(host: "p", credentials: ("", "x")), "the user and the password for SOCKS 5 must have 1 to 255 bytes each"),
            ] {
                var configuration = NIOTransport.Configuration()
                configuration.proxy = .all(proxy)
                let refused = configuration
                let error = #expect(throws: UnusableSettingError.self) { try NIOTransport(refused) }
                #expect(error?.description == "the setting proxy can't be used: \(reason)")
            }
        }

        @Test func aSocketAndAProxyExcludeEachOther() {
            var configuration = NIOTransport.Configuration()
            configuration.unixSocketPath = "/tmp/x"
            configuration.proxy = .all(.http(host: "p", port: 1))
            let refused = configuration
            let error = #expect(throws: UnusableSettingError.self) { try NIOTransport(refused) }
            #expect(error?.setting == "proxy")
        }
    }
}
#endif
