internal import Synchronization

/// What the two sides of a wait in line know of each other. It is read and changed under the lock of the line alone.
package final class Ticket: Sendable {
    private let state = Mutex<(place: Int?, isCancelled: Bool)>((nil, false))

    /// The waiter's number in its queue; nil while it is in none.
    package var place: Int? {
        get { state.withLock(\.place) }
        set { state.withLock { $0.place = newValue } }
    }

    /// The caller left, perhaps before it came to the line.
    package var isCancelled: Bool {
        get { state.withLock(\.isCancelled) }
        set { state.withLock { $0.isCancelled = newValue } }
    }
}

/// Waits for a turn in a line, or for the caller's cancellation.
///
/// - Parameters:
///   - enter: under the line's lock: what comes at once; nil where the continuation is in line, and the ticket has its place.
///   - leave: under the line's lock: marks the ticket, and takes the continuation out of the line if it is there.
/// - Throws: `CancellationError`, and what the turn comes to.
package func parked<Turn: Sendable>(
    _ enter: (Ticket, CheckedContinuation<Turn, any Error>) -> Result<Turn, any Error>?,
    leave: @escaping @Sendable (Ticket) -> CheckedContinuation<Turn, any Error>?
) async throws -> Turn {
    let ticket = Ticket()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            if let result = enter(ticket, continuation) { continuation.resume(with: result) }
        }
    } onCancel: {
        leave(ticket)?.resume(throwing: CancellationError())
    }
}
