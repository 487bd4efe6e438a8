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
    try await firstOf({ try await operation() }, { try await clock.sleep(for: limit.bounded) })
}
