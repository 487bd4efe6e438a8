#if MockServer
internal import ErrandAuth
internal import ErrandCompression
internal import ErrandConformance
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandMockServer
internal import ErrandURLSession
internal import Testing

extension URLSessionTransportTests {
    /// The transport, by the suite for every transport, over a real socket.
    @Suite struct URLSessionConformanceTests {
        static let notYet = "there is no such middleware yet"
        static let noTrailers = "URLSession has no trailer fields"

        #if canImport(FoundationNetworking)
        /// What `URLSession` can't do on Linux. Each of these behaviors failed there, with Swift 6.3.
        static let notHere = [
            "TrailerRead": "URLSession ends the process if a response has trailer fields",
            "BadHTTPCase": "curl accepts a protocol name in lower case",
            "ConflictingContentLength": "curl accepts two different lengths, and uses the last",
            "EchoInterleave": "reading a stream blocks the queue that receives the response",
            "SpeakInterleave": "reading a stream blocks the queue that receives the response",
        ]
        #else
        static let notHere = ["TrailerRead": noTrailers, "Informational": "URLSession drops informational responses"]
        #endif

        #if Auth
        static let leftOut = ["ETag": notYet, "TrailerWrite": noTrailers].merging(notHere) { $1 }
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() }, .cookies: { $0.cookies(CookieJar()) },
        ]
        #else
        static let leftOut = [
            "BasicCookieSetAndUse": "the package's trait Auth is off", "ETag": notYet, "TrailerWrite": noTrailers,
        ].merging(notHere) { $1 }
        static let middleware: [MiddlewarePlace: @Sendable (HTTPStack) -> HTTPStack] = [
            .redirect: { $0.redirect() }, .decompress: { $0.decompress() },
        ]
        #endif

        @Test(arguments: TransportBehavior.all(excluding: leftOut))
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
