#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMiddleware
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// squid and microsocks, to nginx. The user is joe, the password pw.
    @Suite(
        .timeLimit(.minutes(5)), .enabled(if: RealServer.squid.isHere, Comment(rawValue: RealServer.squid.missing)),
        .enabled(if: RealServer.microsocks.isHere, Comment(rawValue: RealServer.microsocks.missing)),
        .enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
    struct RealProxyTests {
        static let listeners = [NginxServer.Listener.plain, .tls]
        static let kinds = ["http", "locked", "https", "socks"]

        private static func proxy(_ kind: String) throws -> ProxySettings {
            switch kind {
            case "locked": .http(host: "127.0.0.1", port: try RealServer.squid.lockedPort(), credentials: ("joe", "pw"))
            case "https": .https(host: "localhost", port: try RealServer.squid.securePort())
            case "socks": .socks5(host: "127.0.0.1", port: try RealServer.microsocks.port(), credentials: ("joe", "pw"))
            default: .http(host: "127.0.0.1", port: try RealServer.squid.port())
            }
        }

        private func withProxy<Result>(
            _ proxy: ProxySettings, _ body: (HTTPStack, NginxServer) async throws -> Result
        ) async throws -> Result {
            let nginx = try await NginxServer.shared()
            let certificate = try RealServer.squid.certificate()
            return try await withNIO {
                $0.proxy = .all(proxy)
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority, certificate]
            } _: { transport in
                try await body(transport.timeout(.seconds(20)), nginx)
            }
        }

        @Test(arguments: kinds, listeners) func requestsGoThroughTheProxy(kind: String, listener: NginxServer.Listener) async throws {
            try await withProxy(try Self.proxy(kind)) { stack, nginx in
                for host in ["localhost", "127.0.0.1"] {
                    for _ in 0..<2 {
                        let response = try await stack.send(Request(.get, url: nginx.url("/300k", listener, host: host)))
                        #expect(response.status == .ok)
                        #expect(response.metadata.httpVersion == (listener == .tls ? .http2 : .http1_1))
                        let isWhole = try await response.body.collect() == NginxServer.middle
                        #expect(isWhole)
                    }
                }
            }
        }

        @Test(arguments: kinds) func aCertificateIsCheckedThroughTheTunnel(kind: String) async throws {
            try await withProxy(try Self.proxy(kind)) { stack, nginx in
                for (listener, host) in [
                    (NginxServer.Listener.selfSigned, "localhost"), (.wrongHost, "localhost"), (.wrongHost, "127.0.0.1"),
                ] {
                    let error = try await transportError { try await stack.send(Request(.get, url: nginx.url("/", listener, host: host))) }
                    #expect(error.code == .tls && error.delivery == .notSent, "\(error)")
                    #expect(!error.message.contains("proxy"), "\(error)")
                }
            }
        }

        /// The address of the connection is the proxy's, and is not the origin's.
        @Test func aCertificateForTheAddressOfTheProxyIsNotAcceptedForTheOrigin() async throws {
            let nginx = try await NginxServer.shared()
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\n\r\n")
                try connection.relay(to: nginx.port(.tls))
            }
            defer { proxy.stop() }
            try await withProxy(.http(host: "127.0.0.1", port: proxy.port)) { stack, _ in
                let error = try await transportError { try await stack.send(Request(.get, url: "https://192.0.2.1/")) }
                #expect(error.code == .tls)
                #expect(error.message == "the certificate is for another host, not for '192.0.2.1', during the TLS handshake")
            }
        }

        @Test func theCertificateOfAProxyIsChecked() async throws {
            let nginx = try await NginxServer.shared()
            let port = try RealServer.squid.securePort()
            try await withNIO {
                $0.proxy = .all(.https(host: "127.0.0.1", port: port))
            } _: { transport in
                for listener in Self.listeners {
                    let error = try await transportError { try await transport.send(Request(.get, url: nginx.url("/", listener))) }
                    #expect(error.code == .tls && error.phase == .connect)
                    #expect(error.message.hasPrefix("the HTTPS proxy 127.0.0.1:\(port): "), "\(error)")
                    #expect(error.localizedDescription == "A secure connection to the proxy could not be established.")
                }
            }
        }

        @Test(arguments: listeners) func aDigestChallengeReachesTheAuthenticator(listener: NginxServer.Listener) async throws {
            let seen = Watched<[ProxyChallenge]>([])
            let proxy = ProxySettings.http(host: "127.0.0.1", port: try RealServer.squid.lockedPort()).authenticated(
                by: ProxyAuthenticator { challenge in
                    seen.change { $0.append(challenge) }
                    return "Basic am9lOnB3"
                })
            try await withProxy(proxy) { stack, nginx in
                let url = nginx.url("/small", listener, host: "localhost")
                let response = try await stack.send(Request(.get, url: url))
                #expect(response.status == .ok)
                let challenge = try #require(seen.value.first)
                let digest = try #require(challenge.challenges.first { $0.isScheme("digest") })
                #expect(digest.realm == "squid" && digest["nonce"] != nil && challenge.refusals == 0)
                #expect(challenge.target == (listener == .tls ? "localhost:\(nginx.port(.tls))" : url))
            }
        }

        @Test(arguments: listeners) func aWrongPasswordIsRefused(listener: NginxServer.Listener) async throws {
            let port = try RealServer.squid.lockedPort()
            let refusals: [ProxySettings] = [
                .http(host: "127.0.0.1", port: port, credentials: ("jim", "hunter2")), .http(host: "127.0.0.1", port: port),
            ]
            for proxy in refusals {
                try await withProxy(proxy) { stack, nginx in
                    let error = try await transportError {
                        try await stack.send(Request(.get, url: nginx.url("/small", listener, host: "localhost")))
                    }
                    #expect(error.code == .proxy && error.delivery == .notSent)
                    #expect(error.proxyCredentials == (proxy.credentials == nil ? .missing : .refused))
                    #expect(error.message.hasSuffix(": 407 Proxy Authentication Required"), "\(error)")
                    #expect(!"\(error)".contains("hunter2"))
                }
            }
        }

        @Test func refusalsOfEveryKindAreNamed() async throws {
            let closed = try LoopbackPorts.refused()
            let squid = try RealServer.squid.port()
            let socks = try RealServer.microsocks.port()
            let rows: [(ProxySettings, String, String)] = [
                (
                    .http(host: "127.0.0.1", port: squid), "https://127.0.0.1:\(closed)/",
                    "the HTTP proxy 127.0.0.1:\(squid) refused the tunnel to 127.0.0.1:\(closed): 503 Service Unavailable"
                ),
                (
                    .http(host: "127.0.0.1", port: squid), "https://192.0.2.1/",
                    "the HTTP proxy 127.0.0.1:\(squid) refused the tunnel to 192.0.2.1:443: 403 Forbidden"
                ),
                (
                    .socks5(host: "127.0.0.1", port: socks, credentials: ("joe", "pw")), "http://127.0.0.1:\(closed)/",
                    "the SOCKS 5 proxy 127.0.0.1:\(socks) did not connect to 127.0.0.1:\(closed): connection refused (SOCKS reply 5)"
                ),
                (
                    .socks5(host: "127.0.0.1", port: socks), "http://localhost/",
                    "the SOCKS 5 proxy 127.0.0.1:\(socks) requires a user and a password, or another way to authenticate, but no credentials were given"
                ),
                (
                    .socks5(host: "127.0.0.1", port: socks, credentials: ("joe", "hunter2")), "http://localhost/",
                    "the SOCKS 5 proxy 127.0.0.1:\(socks) refused the user and the password"
                ),
            ]
            for (proxy, url, message) in rows {
                try await withProxy(proxy) { stack, _ in
                    let error = try await transportError { try await stack.send(Request(.get, url: url)) }
                    #expect(error.code == .proxy && error.phase == .connect && error.delivery == .notSent)
                    #expect(error.message == message)
                }
            }
        }

        @Test(arguments: ["http", "https"]) func aSOCKSProxyThatIsConfiguredAsAnHTTPProxyIsNamed(scheme: String) async throws {
            let proxy = ProxySettings.http(host: "127.0.0.1", port: try RealServer.microsocks.port())
            try await withProxy(proxy) { stack, _ in
                let error = try await transportError { try await stack.send(Request(.get, url: "\(scheme)://localhost/")) }
                #expect(error.code == .proxy && error.proxy == ProxyAddress(proxy), "\(error)")
                #expect(error.message.hasSuffix("it does not speak HTTP, but SOCKS 5; configure it as a SOCKS 5 proxy"), "\(error)")
                #expect(error.localizedDescription == "The proxy did not forward the request to the server.")
            }
        }

        @Test func stepsArePhasesOfConnectingAndThePeerIsTheProxy() async throws {
            try await withProxy(try Self.proxy("https")) { stack, nginx in
                let events = RecordingEventSink()
                var request = try Request(.get, url: nginx.url("/small", .tls, host: "localhost"))
                request.options.eventSink = events
                let response = try await stack.send(request)
                #expect(response.status == .ok)
                _ = try await response.body.collect()
                let kinds = events.events.map(\.kind).filter {
                    [.dnsStart, .dnsEnd, .connectStart, .connectEnd, .tlsStart, .tlsEnd, .connectionAcquired].contains($0)
                }
                #expect(kinds == [.dnsStart, .dnsEnd, .connectStart, .connectEnd, .tlsStart, .tlsEnd, .connectionAcquired])
                let acquired = events.events.first { $0.kind == .connectionAcquired }
                let port = try RealServer.squid.securePort()
                #expect(acquired?.connection?.peerPort == port)
            }
        }
    }
}
#endif
