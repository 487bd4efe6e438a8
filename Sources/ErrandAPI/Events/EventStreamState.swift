internal import ErrandCore
internal import Synchronization

/// The state of an event stream's connection.
public enum EventStreamState: Sendable, CustomStringConvertible {
    /// A request is being sent, or waits for its response.
    case connecting
    /// The server responds with an event stream.
    case open
    /// The connection has ended. If the connection failed, `after` is the error. The stream connects again after the duration.
    case waiting(Duration, after: (any Error)?)
    /// The stream does not connect again: it has ended or failed, its reader was cancelled, or its iterator was released.
    case closed

    /// The state in words: `waiting for 3.4 s`. The error is not shown.
    public var description: String {
        switch self {
        case .connecting: "connecting"
        case .open: "open"
        case .waiting(let wait, _): "waiting for \(wait.inWords)"
        case .closed: "closed"
        }
    }
}

/// Reports the states of one reader's stream. The last state is `closed`, even if the reader is released before the end.
final class EventStreamObserver: Sendable {
    private let observe: @Sendable (EventStreamState) -> Void
    private let isClosed = Atomic(false)

    init(_ observe: @escaping @Sendable (EventStreamState) -> Void) { self.observe = observe }

    func report(_ state: EventStreamState) { if !isClosed.load(ordering: .acquiring) { observe(state) } }

    func close() { if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { observe(.closed) } }

    deinit { close() }
}
