#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import TestSupport
import Testing

extension IntegrationTests {
    /// Requests that the server reports as not processed (RFC 9113, 8.7).
    @Suite struct UnprocessedTests {
        /// By the transport itself: `retry` sees one attempt.
        @Test func aRefusedStreamIsSentOnceMoreForEveryMethod() async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate(), protocols: [.http2])) { server in
                server.enqueue(.status(.ok).fault(.refusedStream, at: .requestStart), .status(.created))
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let stack = transport.retry(RetryPolicy(maxAttempts: 1), budget: RetryBudget(reserve: 0))
                    let response = try await stack.send(Request(.post, url: server.url("/orders"), body: .text("tea")))
                    #expect(response.status == .created)
                    #expect(response.metadata.attempts.isEmpty)
                    #expect(server.requests.count == 2)
                }
            }
        }

        @Test func aSecondRefusalIsLeftToThePolicy() async throws {
            let files = try FileAuthority()
            try await withMockServer(.tls(try files.authority.certificate(), protocols: [.http2])) { server in
                server.dispatch { _ in .status(.ok).fault(.refusedStream, at: .requestStart) }
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [files.path]
                } _: { transport in
                    let stack = transport.retry(RetryPolicy(maxAttempts: 2, backoff: .immediate))
                    let error = await #expect(throws: TransportError.self) {
                        try await stack.send(Request(.post, url: server.url("/orders"), body: .text("tea")))
                    }
                    #expect(error?.delivery == .notSent)
                    #expect(error?.attempts.count == 2, "one that is free, and one that counts")
                    #expect(server.requests.count == 6, "each attempt is sent once more by the transport")
                }
            }
        }
    }
}
#endif
