#if MockServer
internal import ErrandAuth
internal import ErrandCompression
internal import ErrandConformance
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandMockServer
internal import ErrandURLSession
internal import TestSupport
internal import Testing

extension URLSessionTransportTests {
    /// The transport, by the suite for every transport, over a real socket.
    @Suite struct URLSessionConformanceTests {
        #if Auth
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() }, .cookies: { $0.cookies(CookieJar()) },
        ]
        #else
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() },
        ]
        #endif

        @Test(arguments: TransportBehavior.all(excluding: NotOverURLSession.behaviors))
        func conforms(to behavior: TransportBehavior) async throws {
            let check = behavior.prepared()
            try await withMockServer(serving: check.stubs) { server in
                try await withTransport(URLSessionTransport()) { transport in
                    try await check(TransportUnderTest(transport, at: server.url(""), middleware: Self.middleware))
                }
            }
        }
    }
}
#endif
