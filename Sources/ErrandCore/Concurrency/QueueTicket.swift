internal import Synchronization

/// The shared state of the two sides of a queued wait: the waiter and its cancellation. The state is read and changed only
/// under the queue's lock.
public final class QueueTicket: Sendable {
    private let state = Mutex<(place: Int?, isCancelled: Bool)>((nil, false))

    package init() {}

    /// The waiter's number in its queue; `nil` while the waiter is in no queue.
    public var place: Int? {
        get { state.withLock(\.place) }
        set { state.withLock { $0.place = newValue } }
    }

    /// Whether the caller has left, possibly before it was queued.
    public var isCancelled: Bool {
        get { state.withLock(\.isCancelled) }
        set { state.withLock { $0.isCancelled = newValue } }
    }
}

extension QueueTicket: Hashable {
    public static func == (one: QueueTicket, other: QueueTicket) -> Bool { one === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Waits in a queue until the queue resumes the caller, or until the caller is cancelled.
///
/// - Parameters:
///   - enter: called once, before the wait. Under the queue's lock, `enter` returns a result that is available immediately, or
///     queues the continuation and returns `nil`.
///   - leave: called when the caller is cancelled, possibly before `enter` and possibly twice. Under the queue's lock, `leave`
///     removes the continuation from the queue and returns the continuation; `nil` if the continuation is not queued.
/// - Throws: `CancellationError` if the caller is cancelled while it is queued; otherwise the error that `enter` returns, or with which the
///   queue resumes the caller.
public func waitInQueue<Outcome: Sendable>(
    _ enter: (QueueTicket, CheckedContinuation<Outcome, any Error>) -> Result<Outcome, any Error>?,
    leave: @escaping @Sendable (QueueTicket) -> CheckedContinuation<Outcome, any Error>?
) async throws -> Outcome {
    let ticket = QueueTicket()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            if let result = enter(ticket, continuation) {
                continuation.resume(with: result)
            } else if Task.isCancelled {
                // The handler for cancellation may have run before the continuation was queued.
                leave(ticket)?.resume(throwing: CancellationError())
            }
        }
    } onCancel: {
        leave(ticket)?.resume(throwing: CancellationError())
    }
}
