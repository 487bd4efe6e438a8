import ErrandTesting
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferControlTests {
    private struct Failure: Error {}

    @Test func aTransferThatIsNotPausedDoesNotWait() async throws {
        let (control, pauses) = (TransferControl(), Counter())
        try await control.waitWhilePaused { pauses.add() }
        control.pause()
        control.resume()
        try await control.waitWhilePaused { pauses.add() }
        #expect(pauses.value == 0)
    }

    @Test func aPausedTransferWaitsUntilItIsResumed() async throws {
        let (control, pauses, paused) = (TransferControl(), Counter(), Signal())
        control.pause()
        async let wait: Void = control.waitWhilePaused {
            pauses.add()
            paused.signal()
        }
        try await paused.wait()
        control.pause()
        control.resume()
        try await wait
        #expect(pauses.value == 1)
    }

    @Test func aCancelledWaitThrows() async throws {
        let (control, paused) = (TransferControl(), Signal())
        control.pause()
        let task = Task { try await control.waitWhilePaused { paused.signal() } }
        try await paused.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func theWorkReturnsOrThrows() async throws {
        let control = TransferControl()
        #expect(try await control.untilPaused { 7 } == 7)
        await #expect(throws: Failure.self) { try await control.untilPaused { throw Failure() } }
    }

    @Test func aPauseCancelsTheWorkAndWaitsForItsEnd() async throws {
        let (control, begun, ended) = (TransferControl(), Signal(), Counter())
        async let result = control.untilPaused {
            begun.signal()
            try? await Task.sleep(for: .seconds(600))
            // The cleanup of the work takes more than one step.
            for _ in 0..<10 { await Task.yield() }
            return ended.add()
        }
        try await begun.wait()
        control.pause()
        let value = try await result
        #expect(value == nil && ended.value == 1)
    }

    @Test func workOfAPausedTransferIsCancelledAtOnce() async throws {
        let control = TransferControl()
        control.pause()
        let value = try await control.untilPaused { () -> Int in
            try await Task.sleep(for: .seconds(600))
            return 7
        }
        #expect(value == nil)
    }

    @Test func aCancellationEndsTheWork() async throws {
        let (control, begun) = (TransferControl(), Signal())
        let task = Task {
            try await control.untilPaused {
                begun.signal()
                try await Task.sleep(for: .seconds(600))
            }
        }
        try await begun.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
