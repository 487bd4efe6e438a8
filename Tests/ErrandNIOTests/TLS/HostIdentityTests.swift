#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandTesting
import Foundation
import NIOSSL
import TestSupport
import Testing

@testable import ErrandNIO

extension NIOTransportTests {
    /// Which certificate is for which host: BoringSSL validates the chain, and `CertificateNames` compares the host.
    @Suite(.timeLimit(.minutes(5))) struct HostIdentityTests {
        /// Sends a request to a server whose certificate has `names`, which is at 127.0.0.1.
        private func get(_ host: String, _ names: [String], _ authority: TestAuthority) async throws -> HTTPResponse.Status {
            let folder = try TestFolder("authority")
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let stub = Stub(.get, "/").responds(.status(.ok))
            return try await withMockServer(serving: [stub], .tls(try authority.certificate(for: names), protocols: [.http1_1])) { server in
                let port = try #require(Request(.get, url: server.url("")).origin?.effectivePort)
                return try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                    $0.resolver = StubResolver("127.0.0.1")
                } _: { transport in
                    try await transport.send(Request(.get, url: "https://\(host):\(port)/").within(.seconds(10))).status
                }
            }
        }

        @Test(arguments: [
            ("foo.example", ["foo.example"]), ("foo.example.", ["foo.example"]), ("a_b.local.example", ["*.local.example"]),
            ("xn--mnchen-3ya.local.example", ["*.local.example"]), ("a_b.example", ["a_b.example"]),
            ("a.example", ["127.0.0.1", "A.example"]),
            ("127.0.0.1", ["127.0.0.1"]),
        ])
        func aCertificateForTheHostIsAccepted(_ host: String, _ names: [String]) async throws {
            #expect(try await get(host, names, TestAuthority()) == .ok)
        }

        @Test(arguments: [
            ("foo.example", ["f*o.example"]), ("localhost", ["*"]), ("foo.example", ["*.foo.example"]), ("a.b.example", ["*.example"]),
            ("foo.example", ["127.0.0.1"]), ("xn--a.example", ["xn--*.example"]), ("127.0.0.1", ["127.0.0.2"]),
            ("127.0.0.1", ["foo.example"]),
        ])
        func aCertificateForAnotherHostIsRefused(_ host: String, _ names: [String]) async throws {
            let error = try await transportError { _ = try await get(host, names, TestAuthority()) }
            #expect(error.code == .tls && error.message.contains("the certificate is for another host, not for '\(host)'"), "\(error)")
        }

        /// RFC 9525, section 1.2: the common name does not count.
        @Test func aCommonNameDoesNotCount() throws {
            let certificate = try NIOSSLCertificate(bytes: Array(TestAuthority(name: "localhost").certificatePEM.utf8), format: .pem)
            #expect(!CertificateNames.allow("localhost", in: certificate) && CertificateNames.hosts(in: certificate) == [])
        }

        /// Only the comparison of the host is ours.
        @Test func aChainIsValidatedAsBefore() throws {
            #expect(TLSConfiguration.makeClientConfiguration().changed(for: .init()).certificateVerification == .noHostnameVerification)
        }

        /// A proxy gets no certificate of the client.
        @Test(arguments: [false, true]) func aProxyGetsNoCertificateOfTheClient(isOfProxy: Bool) throws {
            let pair = try TestAuthority().clientCertificate()
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateChain = [.certificate(try NIOSSLCertificate(bytes: Array(pair.certificatePEM.utf8), format: .pem))]
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(pair.keyPEM.utf8), format: .pem))
            let changed = configuration.changed(for: .init(isOfProxy: isOfProxy))
            #expect(changed.certificateChain.isEmpty == isOfProxy && (changed.privateKey == nil) == isOfProxy)
        }
    }
}
#endif
