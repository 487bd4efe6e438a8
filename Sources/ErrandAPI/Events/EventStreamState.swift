internal import ErrandCore
internal import Synchronization

/// The state of an event stream's connection.
public enum EventStreamState: Sendable, CustomStringConvertible {
    /// A request was sent, or is about to be.
    case connecting
    /// The server responds with an event stream.
    case open
    /// The connection is over, because of the error if there is one, and the stream connects again after this time.
    case waiting(Duration, after: (any Error)?)
    /// The stream is over, and does not connect again: it has ended or failed, its reader was cancelled, or reads no more.
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

/// Reports the states of one reader's stream. The last one is `closed`, also if the reader is released before the end.
final class EventStreamObserver: Sendable {
    private let observe: @Sendable (EventStreamState) -> Void
    private let isClosed = Atomic(false)

    init(_ observe: @escaping @Sendable (EventStreamState) -> Void) { self.observe = observe }

    func report(_ state: EventStreamState) { if !isClosed.load(ordering: .acquiring) { observe(state) } }

    func close() { if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { observe(.closed) } }

    deinit { close() }
}
