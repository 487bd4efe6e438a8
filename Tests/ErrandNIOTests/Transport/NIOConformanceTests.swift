#if SWIFT_NIO && MockServer
import ErrandAuth
import ErrandCompression
import ErrandConformance
import ErrandCore
import ErrandMiddleware
import ErrandMockServer
import ErrandNIO
import TestSupport
import Testing

extension NIOTransportTests {
    /// The transport, by the suite that a third party runs on its own, over a real socket.
    @Suite(.timeLimit(.minutes(5))) struct NIOConformanceTests {
        static let notYet = "there is no such middleware yet"

        #if Brotli
        static let leftOut = ["ETag": notYet].merging(withoutCookies) { $1 }
        #else
        static let leftOut = ["Brotli": "the package's trait Brotli is off", "ETag": notYet].merging(withoutCookies) { $1 }
        #endif

        #if Auth
        static let withoutCookies: [String: String] = [:]
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() }, .cookies: { $0.cookies(CookieJar()) },
        ]
        #else
        static let withoutCookies = ["BasicCookieSetAndUse": "the package's trait Auth is off"]
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() },
        ]
        #endif

        static let leftOutOverHTTP2 = leftOut.merging(
            TransportBehavior.needsWire.mapValues { _ in "the server has to write bytes of HTTP/1.1" }
        ) { $1 }.merging(["DeclaredUpgrades": "the transport changes protocols over HTTP/1.1 alone"]) { $1 }

        /// The certificate of all servers: keys are made once.
        private static let certificate = Result { try TestAuthority().certificate() }

        private static let certificateOfTwo = Result { () throws -> (TestAuthority, TestCertificate) in
            let authority = try TestAuthority()
            return (authority, try authority.certificate(for: ["first.example", "second.example"]))
        }

        @Test(arguments: TransportBehavior.all(excluding: leftOut))
        func conforms(to behavior: TransportBehavior) async throws {
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs) { server in
                try await withNIO { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }

        @Test(arguments: TransportBehavior.all(excluding: leftOut))
        func conformsOverTLS(to behavior: TransportBehavior) async throws {
            let certificate = try Self.certificate.get()
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, .tls(certificate, protocols: [.http1_1])) { server in
                try await withNIO {
                    // Reading the roots of the system takes 100 ms.
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }

        @Test(arguments: TransportBehavior.all(excluding: leftOutOverHTTP2))
        func conformsOverHTTP2(to behavior: TransportBehavior) async throws {
            let certificate = try Self.certificate.get()
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, .tls(certificate)) { server in
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                    #expect(server.requests.allSatisfy { $0.httpVersion == .http2 })
                }
            }
        }

        @Test(arguments: TransportBehavior.all(excluding: leftOutOverHTTP2))
        func conformsOverHTTP2WithoutTLS(to behavior: TransportBehavior) async throws {
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, .http2) { server in
                try await withNIO {
                    $0.usesHTTP2WithoutTLS = true
                } _: { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }

        /// The first host has opened the connection, and the behavior is that of another.
        @Test(arguments: TransportBehavior.all(excluding: leftOutOverHTTP2))
        func conformsOverASharedConnection(to behavior: TransportBehavior) async throws {
            let folder = try TestFolder("authority")
            let (authority, certificate) = try Self.certificateOfTwo.get()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, .tls(certificate)) { server in
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                    $0.resolver = try HostOverrides(["*:\(server.port):127.0.0.1"])
                    $0.sharesConnectionsAcrossHosts = true
                } _: { transport in
                    try await transport.preconnect(to: "https://first.example:\(server.port)")
                    let base = "https://second.example:\(server.port)"
                    try await check(TransportUnderTest(transport, at: base, middleware: Self.middleware))
                    #expect(server.requests.first.map { $0.serverName == "first.example" && $0.connectionIndex == 0 } ?? true)
                }
            }
        }

        /// By CONNECT, with TLS to the origin. A proxy that reads requests changes messages. The certificate is not checked, which takes
        /// the reading of the system's own.
        @Test(
            .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
            arguments: TransportBehavior.all(excluding: leftOut))
        func conformsThroughATunnel(to behavior: TransportBehavior) async throws {
            try await conform(to: behavior, through: .http(host: "127.0.0.1", port: try RealServer.squid.port()))
        }

        @Test(
            .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
            arguments: TransportBehavior.all(excluding: leftOut))
        func conformsThroughAnHTTPSProxy(to behavior: TransportBehavior) async throws {
            try await conform(to: behavior, through: .https(host: "localhost", port: try RealServer.squid.securePort()))
        }

        private func conform(to behavior: TransportBehavior, through proxy: ProxySettings) async throws {
            let certificate = try Self.certificate.get()
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, .tls(certificate, protocols: [.http1_1])) { server in
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                    $0.proxy = .all(proxy)
                } _: { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }

        @Test(
            .enabled(if: RealServer.microsocks.isHere, Comment(rawValue: RealServer.microsocks.missing)),
            arguments: TransportBehavior.all(excluding: leftOut))
        func conformsThroughSOCKS(to behavior: TransportBehavior) async throws {
            let check = behavior.prepared()
            let port = try RealServer.microsocks.port()
            try await withMockServer(serving: check.stubs) { server in
                try await withNIO {
                    $0.proxy = .all(.socks5(host: "127.0.0.1", port: port, credentials: ("joe", "pw")))
                } _: { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }
    }
}
#endif
