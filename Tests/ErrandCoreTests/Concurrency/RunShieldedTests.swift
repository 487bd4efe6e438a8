import ErrandTesting
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct RunShieldedTests {
    @Test func workIsNotCancelledWithItsCaller() async throws {
        let runs = Counter()
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await runShielded { if !Task.isCancelled { runs.add() } }
        }
        try await caller.value
        #expect(runs.value == 1)
    }

    @Test func theErrorOfTheWorkIsThrown() async {
        await #expect(throws: CancellationError.self) { try await runShielded { throw CancellationError() } }
    }
}
