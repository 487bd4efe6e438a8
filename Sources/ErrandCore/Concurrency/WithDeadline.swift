private enum RaceEnd<Result: Sendable>: Sendable {
    case result(Result)
    case expiry(TransportError)
}

/// Returns the result of `operation`, unless `expiry` returns first.
///
/// If `expiry` returns first, `operation` is cancelled. After `operation` has ended, this function throws the error of `expiry`.
///
/// - Parameters:
///   - expiry: returns the error when the time has passed.
///   - onExpiry: called with the error of `expiry`, before `operation` is cancelled.
///   - discard: called with a result that comes too late to be returned, even if the caller is cancelled. The closure must
///     release the resources of the result.
///   - operation: the work.
public func withExpiry<Result: Sendable>(
    _ expiry: @escaping @Sendable () async throws -> TransportError, onExpiry: @Sendable (TransportError) -> Void = { _ in },
    discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: RaceEnd<Result>.self) { group in
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

/// Returns the result of `operation`, unless `deadline` passes first. If `deadline` passes first, throws the error of `onTimeout`.
public func withDeadline<Result: Sendable>(
    _ deadline: Deadline, onTimeout: @escaping @Sendable () -> TransportError, discard: @escaping @Sendable (Result) -> Void,
    operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withExpiry(
        {
            try await deadline.wait()
            return onTimeout()
        }, discard: discard, operation: operation)
}
