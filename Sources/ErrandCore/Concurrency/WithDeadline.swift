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
///   - discard: releases the resources of a late result, which can't be returned. The closure is also called if the caller is cancelled.
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
        case .success(.result), nil: throw CancellationError()  // not possible: the group has two tasks, and a result was returned above
        }
    }
}

extension Deadline {
    /// Returns the error for work that this deadline has ended.
    ///
    /// - Parameters:
    ///   - phase: the phase of the exchange in which the deadline passed.
    ///   - before: the remaining time at the beginning of the work. The error reports the duration of the work, which is this time minus
    ///     the time that remains now. `nil` if the remaining time is not known.
    ///   - work: the end of the message, which names the work: `while waiting for a token`. With `nil`, the default, the message states
    ///     only the limit.
    ///   - request: the request; `nil` if no request has caused the work.
    ///   - response: the head of the response; `nil` if no head had arrived.
    ///   - delivery: whether the request was sent.
    public func timeoutError(
        in phase: ExchangePhase, since before: Duration?, _ work: String? = nil, request: Request?, response: HTTPResponse? = nil,
        delivery: Delivery
    ) -> TransportError {
        .timedOut(
            phase, after: before.map { $0 - remaining }, work.map { "\(passedMessage), \($0)" }, request: request, response: response,
            delivery: delivery)
    }
}

extension Request {
    /// Returns the result of `operation`, unless the deadline of the request passes first. If the request has no deadline, the operation
    /// has no limit.
    ///
    /// - Parameters:
    ///   - phase: the phase of the exchange in which the operation runs.
    ///   - delivery: whether the request was sent.
    ///   - before: the remaining time at the beginning of the work, if the operation is only a part of the work. With `nil`, the
    ///     default, the operation is the whole work.
    ///   - work: the end of the error's message, which names the work: `while waiting for a token`. With `nil`, the default, the message
    ///     states only the limit.
    ///   - response: the head of the response; `nil`, the default, if no head has arrived.
    ///   - discard: releases the resources of a late result, which can't be returned. The closure is also called if the caller is
    ///     cancelled.
    ///   - operation: the work.
    /// - Throws: ``TransportError`` with the code ``TransportError/Code/timedOut`` if the deadline passes first; otherwise any error that
    ///   `operation` throws.
    public func withinDeadline<Result: Sendable>(
        _ phase: ExchangePhase, delivery: Delivery, since before: Duration? = nil, _ work: String? = nil, response: HTTPResponse? = nil,
        discard: @escaping @Sendable (Result) -> Void, operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let deadline else { return try await operation() }
        let before = before ?? deadline.remaining
        return try await withDeadline(
            deadline,
            onTimeout: {
                deadline.timeoutError(in: phase, since: before, work, request: self, response: response, delivery: delivery)
            }, discard: discard, operation: operation)
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
