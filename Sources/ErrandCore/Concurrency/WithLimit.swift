/// Runs `operation`, and cancels it after `limit`. The caller always waits until `operation` has ended, even after the cancellation.
///
/// - Parameters:
///   - limit: the longest time for `operation`.
///   - clock: measures the time.
///   - operation: the work.
/// - Throws: the error of `operation` if `operation` ends first; `CancellationError` if the caller is cancelled.
package func withLimit(
    _ limit: Duration, on clock: any Clock<Duration>, _ operation: @escaping @Sendable () async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await operation() }
        group.addTask { try await clock.sleep(for: limit.bounded) }
        defer { group.cancelAll() }
        try await group.next()
    }
}
