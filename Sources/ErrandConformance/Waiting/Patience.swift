internal import ErrandCore
internal import ErrandTesting
internal import Testing

/// The maximum times of a behavior: for one expected step, and for the whole check. On a busy machine, these times are longer
/// (``sleepPatiently(for:)``).
enum Patience {
    /// The maximum time for one step.
    @TaskLocal static var forOne = Duration.seconds(20)

    /// Runs `check`. `limit` is the maximum time for one step, and twice `limit` is the maximum time for the whole check.
    static func bounded(_ name: String, _ limit: Duration, _ check: @escaping @Sendable () async throws -> Void) async throws {
        precondition(limit > .zero, "patience must be more than zero (is \(limit.inWords))")
        let limit = limit.bounded
        try await $forOne.withValue(limit) {
            try await withPatience("the end of \(name)", within: (limit * 2).bounded) { try await check() }
        }
    }
}

/// Returns the result of `operation`, which runs in its own task. The function does not wait for an operation that ignores its
/// cancellation.
///
/// - Parameters:
///   - what: the expected step, for the error.
///   - limit: the maximum time to wait. `nil`, the default: ``Patience/forOne``.
/// - Throws: `WaitTimeout` after `limit`; `CancellationError` as soon as the caller is cancelled. If the function throws one of these
///   errors, the task is cancelled, and the function does not wait for the end of the task.
func withPatience<Result: Sendable>(
    _ what: String, within limit: Duration? = nil, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let task = Task { try await operation() }
    return try await value(of: task, within: limit ?? Patience.forOne, what)
}

/// Returns the result of `task` if the task ends within `limit`. If the limit passes, cancels the task without waiting for its end.
func value<Result: Sendable>(of task: Task<Result, any Error>, within limit: Duration, _ what: String) async throws -> Result {
    let end = FirstResult<Result>()
    let watcher = Task { end.decide(await task.result) }
    let timer = Task {
        try await sleepPatiently(for: limit)
        end.decide(.failure(WaitTimeout(what: what, limit: limit)))
    }
    defer {
        timer.cancel()
        watcher.cancel()
    }
    do {
        return try await end.wait()
    } catch {
        task.cancel()
        throw error
    }
}

/// Runs `operation` in its own task, and cancels the task when `moment` is signaled.
///
/// If the operation does not end soon with `CancellationError`, records an issue. The function does not wait for an operation that ignores
/// its cancellation.
func expectCancellation(
    when moment: Signal, sourceLocation: SourceLocation = #_sourceLocation, _ operation: @escaping @Sendable () async throws -> Void
) async throws {
    let task = Task { try await operation() }
    do {
        try await withPatience("the operation to start") { try await moment.wait() }
    } catch {
        task.cancel()
        throw error
    }
    task.cancel()
    await #expect(throws: CancellationError.self, "a cancelled operation must end soon", sourceLocation: sourceLocation) {
        try await value(of: task, within: Patience.forOne, "the cancelled operation to end")
    }
}
