#if AsyncHTTPClient && NIO && MockServer
internal import AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    /// Requests as AsyncHTTPClient has them, and requests that it can't send.
    @Suite
    struct AsyncHTTPClientRequestTests {
        /// A target that continued the authority would send credentials to another host or port.
        @Test(arguments: [":1/stolen", ".evil.example/x", "users/1", "@evil.example/", "*", "%2F", "\\x"])
        func aTargetThatContinuesTheAuthorityIsRefused(target: String) {
            let head = HTTPRequest(
                method: .get, scheme: "http", authority: "127.0.0.1:1", path: target, headerFields: [.authorization: "Bearer hunter2"])
            #expect(throws: InvalidURLError.self) { try HTTPClient.Request(Request(head: head), body: nil) }
        }

        @Test(arguments: [
            Duration.seconds(9_223_372_036.9), .seconds(Int64.max), .seconds(9_223_372_037), .nanoseconds(Int64.max),
            .seconds(-9_223_372_036.9),
            .seconds(Int64.min), .zero,
        ])
        func everyDurationHasNanosecondsInRange(duration: Duration) {
            let century = Duration.longest.components.seconds * 1_000_000_000
            let nanoseconds = duration.wholeNanoseconds
            #expect((-century...century).contains(nanoseconds))
            #expect((nanoseconds < 0) == (duration < .zero) && (nanoseconds == 0) == (duration == .zero))
        }

        @Test func anUnsupportedUpgradeIsRefused() async throws {
            try await TestedTransport.asyncHTTPClient.run { transport in
                var request = try Request(.get, url: "http://127.0.0.1/")
                request.options.upgrade = UpgradeRequest(protocolName: "websocket")
                let failure = try await transportError { [request] in try await transport.send(request) }
                #expect(failure.code == .unsupported)
                #expect(failure.delivery == .notSent)
            }
        }
    }
}
#endif
