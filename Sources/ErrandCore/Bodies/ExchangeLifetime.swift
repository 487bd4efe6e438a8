internal import Synchronization

/// The end of one exchange, told once to whoever asked: when the last byte of the response was *received*, whether or not it
/// has been read.
///
/// A concurrency slot, a span, a metric or a connection hangs on it; nobody wraps a body to see its end. Transports read up to
/// 64 KiB ahead, so a small response that nobody reads ends by itself.
public final class ExchangeLifetime: Sendable {
    /// How an exchange ended.
    public enum End: Sendable {
        /// The whole response was received.
        case complete
        /// It broke off.
        case failed(any Error)
        /// Nobody wanted the rest of it.
        case abandoned
    }

    private struct State {
        var end: End?
        var handlers: [@Sendable (End) -> Void] = []
    }

    private let state: Mutex<State>

    /// An exchange that goes on until ``end(_:)``.
    public init() {
        state = Mutex(State())
        LiveWork.exchange.begin()
    }

    /// An exchange that is over, such as one answered from memory.
    public init(ended end: End) { state = Mutex(State(end: end)) }

    /// How it ended; nil while it goes on.
    public var ended: End? { state.withLock(\.end) }

    /// Calls `handler` once, when the exchange ends; at once if it has. Handlers run where the end is told, and must not block.
    public func onEnd(_ handler: @escaping @Sendable (End) -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.handlers.append(handler) }
            return state.end
        }
        if let end { handler(end) }
    }

    /// Ends the exchange; the first call counts, later ones do nothing. For transports.
    public func end(_ end: End) {
        let handlers = state.withLock { state -> [@Sendable (End) -> Void]? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.handlers = [] }
            return state.handlers
        }
        guard let handlers else { return }
        LiveWork.exchange.end()
        for handler in handlers { handler(end) }
    }

    deinit { if ended == nil { LiveWork.exchange.end() } }
}
