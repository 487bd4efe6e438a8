private enum Finisher<Result: Sendable>: Sendable {
    case result(Result)
    case expiry(TransportError)
}

/// The result of `operation`, or the error of `expiry` if that returns first; then `operation` is cancelled and awaited.
///
/// - Parameters:
///   - onExpiry: told of the expiry's error where that is first, before the operation is cancelled.
///   - discard: gets a result that comes too late to be returned, also where the caller is cancelled: what it holds must not be lost
///     unreleased.
package func racing<Result: Sendable>(
    _ expiry: @escaping @Sendable () async throws -> TransportError, onExpiry: @Sendable (TransportError) -> Void = { _ in },
    discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Finisher<Result>.self) { group in
        group.addTask { .result(try await operation()) }
        group.addTask { .expiry(try await expiry()) }
        let first = await group.nextResult()
        if case .success(.expiry(let error)) = first { onExpiry(error) }
        group.cancelAll()
        if case .success(.result(let result)) = first { return result }
        while let late = await group.nextResult() {
            if case .success(.result(let result)) = late { discard(result) }
        }
        try Task.checkCancellation()
        switch first {
        case .success(.expiry(let error)): throw error
        case .failure(let error): throw error
        case .success(.result), nil: throw CancellationError()  // two were added, and a result was returned
        }
    }
}

/// The same, where a deadline is the expiry.
package func racing<Result: Sendable>(
    _ deadline: Deadline, onTimeout: @escaping @Sendable () -> TransportError, discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await racing(
        {
            try await deadline.wait()
            return onTimeout()
        }, discard: discard, operation: operation)
}
