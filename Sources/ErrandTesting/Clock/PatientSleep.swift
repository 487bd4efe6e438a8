/// Waits until `limit` has passed, and longer on a machine that has no time for the awaited work.
///
/// The limit passes in a hundred steps. At the end of each, the caller waits for its turn among the tasks that are ready to run. So work of a few steps is not
/// reported as late because other tasks, or other processes, take the processor.
///
/// - Throws: `CancellationError`.
package func sleepPatiently(for limit: Duration) async throws {
    let steps = 100
    for _ in 0..<steps {
        try await Task.sleep(for: limit / steps)
        await Task.yield()
    }
}
