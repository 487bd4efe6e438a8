#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import Foundation
import TestSupport
import Testing

extension MockServerTests {
    /// TLS by a throw-away authority, and what is agreed on in it.
    @Suite
    struct MockServerTLSTests {
        @Test func aServerThatIsTrustedResponds() async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate())) { server in
                server.dispatch { _ in .text("hidden") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport async throws in
                    #expect(try await transport.text(server.url()) == "hidden")
                    let request = try await server.nextRequest()
                    #expect(request.serverName == "localhost")
                    #expect(request.negotiatedProtocol == "h2")
                    #expect(request.httpVersion == .http2)
                    #expect(request.head.scheme == "https")
                    #expect(request.head.authority == "localhost:\(server.port)")
                    #expect(try await transport.text("https://127.0.0.1:\(server.port)/") == "hidden")
                    #expect(try await server.nextRequest().serverName == nil)
                }
            }
        }

        @Test(arguments: [[MockServer.ApplicationProtocol.http1_1], [.http1_1, .http2], [.http2, .http1_1], [.http2]])
        func theServersPreferenceDecides(protocols: [MockServer.ApplicationProtocol]) async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate(), protocols: protocols)) { server in
                server.dispatch { _ in .text("x") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let response = try await transport.send(Request(.get, url: server.url()))
                    let wanted = protocols[0] == .http1_1 ? HTTPVersion.http1_1 : .http2
                    #expect(response.metadata.httpVersion == wanted)
                    #expect(try await server.nextRequest().negotiatedProtocol == protocols[0].rawValue)
                }
            }
        }

        @Test(arguments: [MockServer.TLS.Version.tls12, .tls13])
        func eachVersionIsSpoken(version: MockServer.TLS.Version) async throws {
            let files = try FileAuthority()
            var configuration = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http1_1])
            configuration.tls?.versions = version...version
            try await withMockServer(configuration) { server in
                server.dispatch { _ in .text("hidden") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport async throws in
                    #expect(try await transport.text(server.url("/a")) == "hidden")
                    #expect(try await transport.text(server.url("/b")) == "hidden")
                    #expect(server.requests.map(\.connectionIndex) == [0, 0])
                }
            }
        }

        enum Distrust: String, CaseIterable { case unknown, wrongHost, expired, notYet }

        @Test(arguments: Distrust.allCases)
        func aServerThatIsNotTrustedGetsNoRequest(why: Distrust) async throws {
            let files = try FileAuthority()
            let certificate =
                switch why {
                case .unknown: try TestAuthority().certificate()
                case .wrongHost: try files.authority.certificate(for: ["elsewhere.example"])
                case .expired: try files.authority.certificate(validity: .expired)
                case .notYet: try files.authority.certificate(validity: .notYet)
                }
            try await withMockServer(.tls(certificate)) { server in
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                    #expect(failure.code == .tls)
                    #expect(failure.phase == .connect)
                    #expect(failure.delivery == .notSent)
                    let reason =
                        switch why {
                        case .unknown: "the certificate is signed by an unknown authority, or by itself"
                        case .wrongHost: "the certificate is for another host, not for 'localhost'"
                        case .expired: "the certificate has expired"
                        case .notYet: "the certificate is not valid yet"
                        }
                    #expect(failure.message.hasPrefix(reason), "\(failure)")
                    #expect(server.requests.isEmpty)
                }
                try await server.waitUntil { $0.openConnections == 0 }
            }
        }

        @Test(arguments: [false, true])
        func aClientShowsItsCertificate(isKnown: Bool) async throws {
            let files = try FileAuthority()
            let client = try (isKnown ? files.authority : try TestAuthority()).clientCertificate()
            let (certificate, key) = (files.folder.file("client.pem"), files.folder.file("client.key"))
            try client.write(certificateToPath: certificate, keyToPath: key)
            var configuration = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http1_1])
            configuration.tls?.clientAuthority = files.authority
            configuration.tls?.versions = .tls12 ... .tls12  // in 1.3 a client may send before it is refused
            try await withMockServer(configuration) { server in
                server.dispatch { _ in .text("known") }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                    $0.tls.clientCertificate = TLSSettings.ClientCertificate(chainPEMFile: certificate, keyPEMFile: key)
                } _: { transport in
                    if isKnown {
                        #expect(try await transport.text(server.url()) == "known")
                    } else {
                        let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                        #expect(failure.code == .tls)
                        #expect(failure.delivery == .notSent)
                        try await server.waitUntil { $0.failedConnections == 1 }
                    }
                }
            }
        }

        @Test func aHandshakeIsRefused() async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate())) { server in
                server.dispatch { _ in .text("after all") }
                server.failConnections(.handshake)
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                    #expect(failure.code == .tls, "\(failure)")
                    #expect(failure.delivery == .notSent)
                    #expect(try await transport.text(server.url()) == "after all")
                }
            }
        }

        @Test func aDescriptionShowsNoKey() throws {
            let certificate = try TestAuthority().certificate()
            var dumped = ""
            dump(certificate, to: &dumped)
            #expect(!"\(certificate)\(dumped)\(MockServer.TLS(certificate))".contains("PRIVATE"))
        }

        @Test(.enabled(if: Programs.find("openssl") != nil, "there is no openssl on this machine"))
        func opensslAgreesWithTheCertificates() async throws {
            let files = try FileAuthority()
            try files.folder.write(try files.authority.certificate().certificatePEM, to: "leaf.pem")
            let text = try await Programs.run(
                try #require(Programs.find("openssl")),
                [
                    "verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", "127.0.0.1", "-CAfile", files.path,
                    files.folder.file("leaf.pem"),
                ])
            #expect(text.contains("leaf.pem: OK"))
        }
    }
}
#endif
