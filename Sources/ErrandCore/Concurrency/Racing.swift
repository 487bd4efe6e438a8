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

/// The source of a response's body, each read of which is raced against what would end it.
struct RacedBodySource: BodySource {
    private let base: any BodySource
    private let ready: (any ReadyBodySource)?
    private let exchange: ExchangeLifetime
    private let deadline: Deadline?
    private let expiry: @Sendable () async throws -> TransportError

    /// - Parameters:
    ///   - exchange: ends with the expiry's error, where the transport would know of a cancellation alone.
    ///   - deadline: what `expiry` waits for; nil where it waits anew for each read.
    init(
        _ base: any BodySource, of exchange: ExchangeLifetime, deadline: Deadline? = nil,
        expiry: @escaping @Sendable () async throws -> TransportError
    ) {
        (self.base, self.exchange, self.deadline, self.expiry) = (base, exchange, deadline, expiry)
        ready = base as? any ReadyBodySource
    }

    var trailers: HTTPFields? { base.trailers }

    func next() async throws -> Data? {
        // A race costs more than to look.
        if let ready, deadline?.hasPassed != true, let chunk = ready.takeReadyChunk() { return chunk }
        return try await racing(expiry, onExpiry: { exchange.end(.failed($0)) }, discard: { _ in }, operation: { try await base.next() })
    }

    func abandon() { base.abandon() }
    func fail(with error: any Error) { base.fail(with: error) }
}
