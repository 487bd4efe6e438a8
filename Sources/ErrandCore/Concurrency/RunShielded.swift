/// Runs work to its end, even if the caller is cancelled. The caller waits for the end of the work.
///
/// - Parameters:
///   - executor: the executor that the work prefers. `nil`, the default: the default executor.
///   - work: the work, which is not cancelled.
/// - Throws: the error of the work.
package func runShielded(
    on executor: (any TaskExecutor)? = nil, _ work: @escaping @Sendable () async throws -> Void
) async throws {
    try await Task(executorPreference: executor) { try await work() }.value
}
