internal import ErrandCore

/// Pauses and resumes a transfer.
final class TransferControl: Sendable {
    private let isPaused = CurrentValue(false)

    func pause() { isPaused.set(true) }

    func resume() { isPaused.set(false) }

    /// Waits until the transfer is not paused. Calls `onPause` once if the transfer is paused.
    ///
    /// - Throws: `CancellationError`.
    func waitWhilePaused(_ onPause: () async -> Void) async throws {
        guard isPaused.value else { return }
        await onPause()
        for await isPaused in isPaused.values() where !isPaused { return }
        try Task.checkCancellation()
    }

    /// Returns the result of `work`; `nil` if the transfer was paused. If the transfer was paused, `work` was cancelled, and has ended.
    func untilPaused<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value? {
        let isPaused = isPaused
        return try await firstOf(
            { try await work() },
            {
                for await value in isPaused.values() where value { return nil }
                throw CancellationError()
            })
    }
}
