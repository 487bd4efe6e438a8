/// Waits until `limit` has passed. On a busy machine, the wait can exceed `limit`.
///
/// The wait has a hundred steps. At the end of each step, the caller yields to the other tasks that are ready to run. Therefore a busy
/// processor alone does not make a test report that the work is late.
///
/// - Throws: `CancellationError`.
package func sleepPatiently(for limit: Duration) async throws {
    let steps = 100
    for _ in 0..<steps {
        try await Task.sleep(for: limit / steps)
        await Task.yield()
    }
}
