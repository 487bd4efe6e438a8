import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct BackgroundWriterTests {
    /// A store whose writes end when the test gives their results.
    private final class Store: Sendable {
        let begun = Watched(0)
        let results = Watched<[Bool]>([])

        func write() async throws {
            begun.change { $0 += 1 }
            let number = begun.value
            let results = try await results.wait { $0.count >= number }
            if !results[number - 1] { throw TestError("full") }
        }

        func end(_ hasSucceeded: Bool) { results.change { $0.append(hasSucceeded) } }
    }

    private let store = Store()
    private let writer = BackgroundWriter()

    private func begin() { writer.begin { [store] in try await store.write() } }
    private func finish() async throws { try await writer.finish { [store] in try await store.write() } }

    @Test func changesDuringAWriteAreWrittenTogetherAfterwards() async throws {
        begin()
        try await store.begun.wait { $0 == 1 }
        for _ in 0..<3 { begin() }
        #expect(store.begun.value == 1, "one write at a time")
        store.end(true)
        try await store.begun.wait { $0 == 2 }
        async let end: Void = finish()
        store.end(true)
        store.end(true)
        try await end
        #expect(writer.failure == nil && store.begun.value == 3)
    }

    @Test func aFailedWriteIsTriedAgainAtTheNextCall() async throws {
        store.end(false)
        await #expect(throws: TestError("full")) { try await finish() }
        #expect(writer.failure as? TestError == TestError("full") && store.begun.value == 1)
        store.end(true)
        try await finish()
        #expect(writer.failure == nil && store.begun.value == 2)
    }

    @Test func aCallDuringAFailingWriteTriesAgain() async throws {
        begin()
        try await store.begun.wait { $0 == 1 }
        begin()
        store.end(false)
        try await store.begun.wait { $0 == 2 }
        store.end(true)
    }

    @Test func theFailureOfAnEarlierWriteIsNotTheResultOfAFinish() async throws {
        begin()
        try await store.begun.wait { $0 == 1 }
        let end = Task { try await finish() }
        await eventually { writer.waiterCount == 1 }
        store.end(false)
        store.end(true)
        try await end.value
        #expect(writer.failure == nil)
    }

    @Test func aCancelledCallerLeavesAndTheWriteContinues() async throws {
        let task = Task { try await finish() }
        try await store.begun.wait { $0 == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        store.end(true)
        store.end(true)
        try await finish()
        #expect(writer.failure == nil)
    }

    @Test func manyCallersOverlap() async throws {
        let saved = Watched(0)
        let changes = Watched(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { [writer] in
                    for _ in 0..<20 {
                        changes.change { $0 += 1 }
                        let own = changes.value
                        try await writer.finish {
                            let all = changes.value
                            await Task.yield()
                            saved.change { $0 = all }
                        }
                        #expect(saved.value >= own)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(saved.value == 1_000 && changes.value == 1_000)
    }
}
