#if AsyncHTTPClient && MockServer
import AsyncHTTPClient
import ErrandAsyncHTTPClient
import ErrandCore
import ErrandMockServer
import Foundation
import TestSupport
import Testing

/// The settings of TLS that this transport supports, and those that it refuses.
@Suite(.timeLimit(.minutes(5))) struct TLSSettingsTests {
    private func failure(_ transport: AsyncHTTPClientTransport, _ url: String) async throws -> TransportError {
        try await transportError { try await transport.send(Request(.get, url: url)).body.collect() }
    }

    @Test func theMinimumVersionIsObeyed() async throws {
        let files = try FileAuthority()
        var configuration = MockServer.Configuration.tls(try files.authority.certificate(), protocols: [.http1])
        configuration.tls?.versions = .tls12 ... .tls12
        try await withMockServer(configuration) { server in
            server.dispatch { _ in .text("x") }
            try await withAHC {
                $0.tls.extraRootsPEMFiles = [files.path]
                $0.tls.minimumVersion = .tls13
            } _: { transport in
                let error = try await failure(transport, server.url())
                #expect(error.code == .tls)
                #expect(error.message == "no version of TLS in common")
            }
        }
    }

    @Test(arguments: [false, true])
    func anUncheckedHostAloneMayHaveAnyCertificate(decompresses: Bool) async throws {
        try await withMockServer(.tls(try TestAuthority().certificate())) { server in
            server.dispatch { $0.path == "/away" ? .redirect(to: "https://127.0.0.1:\(server.port)/") : .text("x") }
            let unchecked = try TLSSettings.UncheckedHosts.hosts("localhost")
            try await withAHC {
                $0.tls.trustsAnyCertificateForTesting = unchecked
                $0.decompresses = decompresses
                $0.customize = { $0.redirectConfiguration = .follow(max: 5, allowCycles: false) }
            } _: { transport in
                let text = try await transport.send(Request(.get, url: server.url())).body.collect()
                #expect(text == Data("x".utf8))
                let error = try await failure(transport, "https://127.0.0.1:\(server.port)/")
                #expect(error.code == .tls)
                let response = try await transport.send(Request(.get, url: server.url("/away")))
                #expect(response.status == .found)
                _ = try await response.body.collect()
            }
        }
    }

    @Test func pinsAreRefused() throws {
        var configuration = AsyncHTTPClientTransport.Configuration()
        configuration.tls.pins = try CertificatePins([
            "a.example": [
                "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
            ]
        ])
        let error = #expect(throws: TLSSettingsError.self) { try AsyncHTTPClientTransport(configuration) }
        #expect(error?.reason == .unsupported)
        #expect(
            error?.description
                == "invalid TLS setting 'pins': AsyncHTTPClient does not show the chain of certificates; use NIOTransport of ErrandNIO")
    }
}
#endif
