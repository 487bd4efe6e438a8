/// Waits until `limit` has passed. On a busy machine, waits longer.
///
/// The wait has a hundred steps. At the end of each step, the caller yields to the other tasks that are ready to run.
/// Therefore the awaited work is not reported as late if other tasks or processes use the processor.
///
/// - Throws: `CancellationError`.
package func sleepPatiently(for limit: Duration) async throws {
    let steps = 100
    for _ in 0..<steps {
        try await Task.sleep(for: limit / steps)
        await Task.yield()
    }
}
