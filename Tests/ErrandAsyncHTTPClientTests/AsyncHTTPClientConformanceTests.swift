#if AsyncHTTPClient && NIO && MockServer
import Errand
import ErrandConformance
import ErrandMockServer
import TestSupport
import Testing

extension AsyncHTTPClientTransportTests {
    /// The transport, by the suite that a third party runs on its own, over a real socket.
    @Suite struct AsyncHTTPClientConformanceTests {
        static let notYet = "there is no such middleware yet"

        #if Brotli
        static let notCompiledIn: [String: String] = [:]
        #else
        static let notCompiledIn = ["Brotli": "the package's trait Brotli is off"]
        #endif

        static let leftOut = [
            "BasicCookieSetAndUse": notYet, "ETag": notYet,
            "TrailerRead": "AsyncHTTPClient drops the trailers of a response",
            "TrailerWrite": "AsyncHTTPClient sends none",
            "Informational": "AsyncHTTPClient drops informational responses",
            "ShutdownEndsExchanges": "the connections are those of the app's client",
        ].merging(notCompiledIn) { $1 }

        @Test(arguments: TransportBehavior.all(excluding: leftOut))
        func conforms(to behavior: TransportBehavior) async throws { try await check(behavior) }

        static let noWire = "bytes that break the rules of HTTP/1.1 can't be sent over HTTP/2"

        static let leftOutOverHTTP2 = leftOut.merging(TransportBehavior.needsWire.mapValues { _ in noWire }) { $1 }

        @Test(arguments: TransportBehavior.all(excluding: leftOutOverHTTP2))
        func conformsOverHTTP2(to behavior: TransportBehavior) async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            try await check(
                behavior, on: .tls(try authority.certificate(), protocols: [.http2]), trusting: [folder.file("authority.pem")])
        }

        private func check(
            _ behavior: TransportBehavior, on configuration: MockServer.Configuration = MockServer.Configuration(),
            trusting authorities: [String] = []
        ) async throws {
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs, configuration) { server in
                try await TestedTransport.asyncHTTPClient.run {
                    $0.tls.extraRootsPEMFiles = authorities
                } _: { transport in
                    try await check(
                        TransportUnderTest(
                            transport, at: server.url(""),
                            middleware: [.redirect: { $0.redirect() }, .decompress: { $0.decompress() }]))
                }
            }
        }
    }
}
#endif
