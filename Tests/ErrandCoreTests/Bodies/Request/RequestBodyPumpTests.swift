import ErrandCore
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Reading a request's body to its end, as each transport does.
@Suite(.timeLimit(.minutes(5))) struct RequestBodyPumpTests {
    private struct Refused: Error {}

    private func body(_ source: ScriptedBodySource, length: Int64? = nil) -> RequestBody {
        .stream(length: length, replay: .oneShot) { _ in source }
    }

    @Test func theChunksArriveInOrderWithTheTrailers() async throws {
        let name = try #require(HTTPField.Name("X-Sum"))
        let source = ScriptedBodySource(chunks: ["ab", "c"].map { Data($0.utf8) }, trailers: [name: "1"])
        var chunks: [String] = []
        let trailers = try await body(source).pump { chunks.append(String(decoding: $0, as: UTF8.self)) }
        #expect(chunks == ["ab", "c"] && trailers?[name] == "1" && source.abandonCount == 1)
    }

    @Test func aRefusedChunkEndsTheReading() async throws {
        let source = ScriptedBodySource(["a", "b", "c"])
        let count = Mutex(0)
        await #expect(throws: Refused.self) {
            _ = try await body(source).pump { _ in
                count.withLock { $0 += 1 }
                throw Refused()
            }
        }
        #expect(count.withLock(\.self) == 1 && source.unreadCount == 2 && source.abandonCount == 1)
    }

    @Test func aBodyOfAnotherLengthFails() async throws {
        await #expect(throws: RequestBodyLengthError.self) { _ = try await body(ScriptedBodySource(["abc"]), length: 4).pump { _ in } }
    }

    /// The end that a cancelled sequence reports is not the end of the body.
    @Test func aCancelledReadingIsNotComplete() async throws {
        let source = ScriptedBodySource(["a"], then: .stallThenEnd)
        let task = Task { [body = body(source)] in _ = try await body.pump { _ in } }
        try await source.reachedEnding.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
