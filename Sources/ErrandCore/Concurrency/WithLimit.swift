/// Waits until `operation` has ended, or `limit` has passed. If `limit` passes first, `operation` is cancelled, and this function waits until
/// `operation` has ended.
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
