#if AsyncHTTPClient
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    @Suite
    struct ProxyTests {
        /// A proxy that connects to whatever it is asked for.
        private func tunnel(seeing seen: Watched<[RawRequest]>) throws -> RawServer {
            try RawServer { connection in
                let request = try connection.readHead()
                seen.change { $0.append(request) }
                guard request.method == "CONNECT", let port = request.target.split(separator: ":").last.flatMap({ Int($0) }) else { return }
                try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
                try connection.relay(to: port)
            }
        }

        @Test func whatAsyncHTTPClientDoesNotSupportIsRefused() {
            for (proxy, what) in [
                (ProxySettings.https(host: "p"), "proxies over TLS"),
                (.socks5(host: "p", credentials: ("joe", "pw")), "passwords for SOCKS 5"),
                (.http(host: "p", port: 1).authenticated(by: ProxyAuthenticator { _ in nil }), "an authenticator for proxies"),
            ] {
                var configuration = AsyncHTTPClientTransport.Configuration()
                configuration.proxy = proxy
                let refused = configuration
                let error = #expect(throws: ProxySettingsError.self) { _ = try AsyncHTTPClientTransport(refused) }
                #expect(error?.description == "invalid proxy: AsyncHTTPClient does not support \(what); use NIOTransport of ErrandNIO")
            }
        }

        @Test func requestsWithoutTLSGoThroughATunnelAsWell() async throws {
            let seen = Watched<[RawRequest]>([])
            let proxy = try RawServer { connection in
                for _ in 0..<2 {
                    let request = try connection.readHead()
                    seen.change { $0.append(request) }
                    try connection.write(
                        request.method == "CONNECT" ? "HTTP/1.1 200 Established\r\n\r\n" : "HTTP/1.1 204 No Content\r\n\r\n")
                }
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            try await withAHC {
                $0.proxy = .http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "pw"))
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://origin.invalid/path?a=b"))
                #expect(response.status == .noContent)
                #expect(seen.value.map { "\($0.method) \($0.target)" } == ["CONNECT origin.invalid:80", "GET /path?a=b"])
                // The credentials are the proxy's alone.
                #expect(seen.value.map { $0.value("proxy-authorization") } == ["Basic am9lOnB3", nil])
            }
        }

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
        func requestsWithTLSGoThroughATunnel() async throws {
            let nginx = try await NginxServer.shared()
            let seen = Watched<[RawRequest]>([])
            let proxy = try tunnel(seeing: seen)
            defer { proxy.stop() }
            try await withAHC {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.proxy = .http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "pw"))
            } _: { transport in
                for _ in 0..<2 {
                    let response = try await transport.send(Request(.get, url: nginx.url("/5m", .tls, host: "localhost")))
                    #expect(try await (response.body.collect() == NginxServer.large) as Bool)
                }
                #expect(seen.value.map(\.method) == ["CONNECT"])
                #expect(seen.value.first?.target == "localhost:\(nginx.port(.tls))")
                #expect(seen.value.first?.value("proxy-authorization") == "Basic am9lOnB3")
            }
        }

        @Test(arguments: ["403 Forbidden", "407 Proxy Authentication Required", "502 Bad Gateway"])
        func aTunnelThatIsRefusedIsAFailureOfTheProxy(status: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.respond(status, fields: ["Proxy-Authenticate: Basic realm=\"r\""])
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            try await withAHC {
                $0.proxy = .http(host: "127.0.0.1", port: proxy.port)
            } _: { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: "https://origin.invalid/")) }
                #expect(failure.code == .proxy)
                #expect(failure.phase == .connect)
                #expect(failure.delivery == .notSent)
            }
        }

        @Test func aProxyThatIsNotThereIsToldOf() async throws {
            let port = try LoopbackPorts.refused()
            try await withAHC {
                $0.proxy = .http(host: "127.0.0.1", port: port)
            } _: { transport in
                for scheme in ["http", "https"] {
                    let failure = try await transportError { try await transport.send(Request(.get, url: "\(scheme)://origin.invalid/")) }
                    #expect(failure.code == .cannotConnect)
                    #expect(failure.delivery == .notSent)
                }
            }
        }

        /// RFC 1928: a greeting, a name and a port, and then the origin itself.
        @Test(arguments: [true, false])
        func aSOCKSProxyLooksTheHostUp(agrees: Bool) async throws {
            let asked = Watched<[UInt8]>([])
            let proxy = try RawServer { connection in
                _ = try connection.read(exactly: 2 + 1)
                try connection.write([5, 0])
                let name = "origin.invalid"
                let wanted = try connection.read(exactly: 4 + 1 + name.utf8.count + 2)
                asked.change { $0 = wanted }
                try connection.write([5, agrees ? 0 : 5, 0, 1, 127, 0, 0, 1, 0, 80])
                guard agrees else { return }
                try connection.readHead()
                try connection.respond(body: Data("by SOCKS".utf8))
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            try await withAHC {
                $0.proxy = .socks5(host: "127.0.0.1", port: proxy.port)
            } _: { transport in
                let request = try Request(.get, url: "http://origin.invalid:8081/").within(.seconds(5))
                if agrees {
                    let response = try await transport.send(request)
                    #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "by SOCKS")
                } else {
                    let failure = try await transportError { try await transport.send(request) }
                    #expect(failure.code == .proxy || failure.code == .cannotConnect, "\(failure)")
                    #expect(failure.delivery == .notSent)
                }
                #expect(asked.value == [5, 1, 0, 3, 14] + Array("origin.invalid".utf8) + [31, 145])  // 31 * 256 + 145 is 8081
            }
        }
    }
}
#endif
