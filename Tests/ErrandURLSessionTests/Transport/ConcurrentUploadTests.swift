#if MockServer
internal import ErrandCore
internal import ErrandMiddleware
internal import ErrandMockServer
internal import ErrandTesting
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#else
internal import Foundation
#endif

extension URLSessionTransportTests {
    /// On Linux, a session waits for the bytes of a stream, and its other calls wait with the session. The bytes come from tasks.
    /// Therefore, a call must not hold a thread of Swift's concurrency.
    @Suite struct ConcurrentUploadTests {
        /// More uploads than a machine for tests has processors.
        @Test func manyUploadsAtTheSameTimeEnd() async throws {
            let (count, size) = (32, 512 * 1024)
            try await withMockServer(serving: [Stub(.post).responds(.echo)]) { server in
                try await withTransport(URLSessionTransport()) { transport in
                    let url = server.url("/")
                    let received = try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<count {
                            group.addTask {
                                let chunks = AsyncStream<Data> { continuation in
                                    for _ in 0..<8 { continuation.yield(Data(count: size / 8)) }
                                    continuation.finish()
                                }
                                let request = try Request(.post, url: url, body: .stream(chunks))
                                return try await HTTPStack(transport).timeout(.seconds(60)).send(request).body.collect().count
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(received == Array(repeating: size, count: count))
                }
            }
        }

        /// The stream has no bytes before the other calls have ended.
        @Test func aStalledUploadBlocksNoDeadline() async throws {
            let (chunks, continuation) = AsyncStream<Data>.makeStream()
            try await withMockServer(serving: [Stub(.post).responds(.echo), Stub().responds(.status(.ok))]) { server in
                try await withTransport(URLSessionTransport()) { uploading in
                    let upload = try Request(.post, url: server.url("/"), body: .stream(chunks))
                    async let uploaded = HTTPStack(uploading).timeout(.seconds(60)).send(upload).body.collect()
                    try await withTransport(URLSessionTransport()) { transport in
                        let url = server.url("/")
                        await withTaskGroup { group in
                            // Each call ends: with a response, or at its deadline.
                            for _ in 0..<8 {
                                group.addTask {
                                    _ = try? await HTTPStack(transport).timeout(.seconds(1)).send(Request(.get, url: url)).body.collect()
                                }
                            }
                        }
                    }
                    continuation.yield(Data("tea".utf8))
                    continuation.finish()
                    #expect(try await uploaded == Data("tea".utf8))
                }
            }
        }

        @Test func aCallAfterTheShutdownCreatesNoTask() async throws {
            let sessions = Sessions(.ephemeral, idleTimeout: nil, configure: nil)
            sessions.shutDown()
            let failure = try await transportError { try await sessions.send(Request(.get, url: "http://a.invalid/")) }
            #expect(failure.code == .shutDown && failure.delivery == .notSent && sessions.exchangeCount == 0)
        }

        @Test func aCancelledCallLeavesNoExchange() async throws {
            let sessions = Sessions(.ephemeral, idleTimeout: nil, configure: nil)
            for body in [RequestBody.empty, .stream(AsyncStream { $0.finish() })] {
                let request = try Request(.post, url: "http://a.invalid/", body: body)
                let call = Task { try await sessions.send(request) }
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(sessions.exchangeCount == 0)
            }
            sessions.shutDown()
        }
    }
}
#endif
