#if SWIFT_NIO && MockServer
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    @Suite(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)))
    struct TransportTLSTests {
        @Test(arguments: ["localhost", "127.0.0.1"], TestedTransport.allCases)
        func aServerOfATrustedAuthorityIsAccepted(host: String, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/small", .tls, host: host)))
                #expect(try await response.body.collect() == NginxServer.small)
            }
        }

        @Test(arguments: TestedTransport.allCases) func anUnknownAuthorityIsRefused(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run { transport in
                _ = try await expectRefusal(by: transport, url: nginx.url("/small", .tls, host: "localhost"))
            }
        }

        /// The words for a certificate that is refused. The transport over SwiftNIO sees the certificate, and says more.
        private static func refusal(of listener: NginxServer.Listener, for host: String, by tested: TestedTransport) -> String {
            guard tested == .nio else {
                return listener == .wrongHost ? "the certificate is for another host" : "the certificate is not trusted, or not valid now"
            }
            return switch listener {
            case .wrongHost: "the certificate is for another host, not for '\(host)'"
            case .expired: "the certificate has expired: it was valid until Sat, 01 Feb 2020 00:00:00 GMT"
            default:
                "the certificate is signed by an unknown authority, or by itself, or the server does not send its intermediate certificate"
            }
        }

        @Test(arguments: [NginxServer.Listener.selfSigned, .expired, .wrongHost], TestedTransport.allCases)
        func aBadCertificateIsRefused(_ listener: NginxServer.Listener, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            for host in ["localhost", "127.0.0.1"] {
                try await tested.run {
                    $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                } _: { transport in
                    let failure = try await expectRefusal(by: transport, url: nginx.url("/", listener, host: host))
                    // The transport over SwiftNIO says more at the end, with the address.
                    #expect(failure.message.hasPrefix(Self.refusal(of: listener, for: host, by: tested)), "\(host)")
                }
            }
        }

        @discardableResult
        private func expectRefusal(by transport: some HTTPTransport, url: String) async throws -> TransportError {
            let failure = try await transportError { try await transport.send(Request(.get, url: url)) }
            #expect(failure.code == .tls)
            #expect(failure.delivery == .notSent)
            #expect(failure.phase == .connect)
            #expect(failure.underlying != nil)
            return failure
        }

        @Test(arguments: [nil, .stranger, .client] as [TestCertificates.Client?], TestedTransport.allCases)
        func aServerSeesTheClientsCertificate(client: TestCertificates.Client?, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.tls.clientCertificate = client.map(nginx.certificates.identity)
            } _: { transport in
                let response = try await transport.send(Request(.get, url: nginx.url("/", .mutualTLS)))
                let text = String(decoding: try await response.body.collect(), as: UTF8.self)
                // nginx refuses after the handshake, by a response.
                #expect(response.status == (client == .client ? .ok : .badRequest))
                #expect(client != .client || text == "CN=test client\n")
            }
        }

        @Test(arguments: pairs([nil, .stranger, .client] as [TestCertificates.Client?], ["-tls1_2", "-tls1_3"]), TestedTransport.allCases)
        func aClientRefusedInTheHandshakeGetsAnError(_ example: (TestCertificates.Client?, String), by tested: TestedTransport) async throws
        {
            let (client, version) = example
            let nginx = try await NginxServer.shared()
            let server = try await OpenSSLServer(
                certificates: nginx.certificates, arguments: [version, "-Verify", "1", "-verify_return_error", "-www"])
            defer { server.stop() }
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
                $0.tls.clientCertificate = client.map(nginx.certificates.identity)
            } _: { transport in
                let request = try Request(.get, url: "https://localhost:\(server.port)/")
                if client == .client {
                    let response = try await transport.send(request)
                    #expect(response.status == .ok)
                    #expect(String(decoding: try await response.body.collect(), as: UTF8.self).contains("Client certificate"))
                } else {
                    let failure = try await transportError { try await transport.send(request) }
                    #expect(failure.code == .tls)
                    // TLS 1.3 lets a client send before the server has looked at its certificate.
                    #expect(version == "-tls1_3" || failure.delivery == .notSent)
                    #expect(failure.delivery != .sent)
                }
            }
        }

        @Test(arguments: TestedTransport.allCases) func aServerWithoutTLSIsRefused(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                _ = try connection.read()
                try connection.respond("400 Bad Request", body: Data("speak plainly".utf8))
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await expectRefusal(by: transport, url: server.url(scheme: "https"))
                let reason = "the other side does not speak TLS; the URL of a port without TLS begins with http://"
                #expect(failure.message.hasPrefix(reason))
            }
        }

        /// Whether the connection ends properly or with a reset, nothing of the request had left.
        @Test(arguments: [false, true], TestedTransport.allCases)
        func anEndInTheHandshakeIsAFailureToConnect(resets: Bool, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                _ = try connection.read()
                if resets { connection.resetAtEnd() }
            }
            defer { server.stop() }
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url(scheme: "https"))) }
                #expect([.tls, .cannotConnect, .connectionLost].contains(failure.code), "\(failure)")
                #expect(failure.delivery == .notSent)
                #expect(failure.phase == .connect)
            }
        }

        /// A body that is ended by the connection alone is whole only if TLS says so (RFC 9112, 9.8).
        @Test(arguments: ["Content-Length: 100000000", "X-Length: unknown"], TestedTransport.allCases)
        func aBodyThatTLSDoesNotEndIsLost(field: String, by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            let folder = try TestFolder("truncated")
            try folder.write(Data("HTTP/1.0 200 OK\r\n\(field)\r\n\r\n".utf8) + Data(count: 64 * 1024 * 1024), to: "response")
            let server = try await OpenSSLServer(certificates: nginx.certificates, arguments: ["-HTTP"], servedFolder: folder.path)
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "https://localhost:\(server.port)/response"))
                try await server.stopped()  // in the middle of it, since nobody reads yet
                var received = 0
                let failure = try await transportError {
                    for try await chunk in response.body { received += chunk.count }
                }
                #expect(failure.code == .connectionLost, "\(failure)")
                #expect(failure.phase == .body)
                #expect(failure.delivery == .sent)
                #expect(received > 0 && received < 64 * 1024 * 1024)
            }
        }
    }
}

extension TestCertificates {
    func identity(_ client: Client) -> TLSSettings.ClientCertificate {
        TLSSettings.ClientCertificate(chainPEMFile: certificate(client), keyPEMFile: key(client))
    }
}
#endif
