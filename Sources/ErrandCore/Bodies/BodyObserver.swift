internal import Synchronization

/// What an observer of a body sees.
public enum BodyEvent: Sendable {
    /// A request's body is sent, from this offset on: each time anew. A response's body has no such event.
    case opened(at: Int64)
    /// The next bytes, never empty, as they are handed on.
    case chunk(Data)
    /// The body has come to its end, has failed, or nobody reads on. Trailer fields come with a complete body alone, where there were any.
    case end(ExchangeLifetime.Outcome, trailers: HTTPFields?)
}

/// Tells a closure of one reading of a body: one event at a time, the end exactly once, and nothing after it.
final class BodyObserver: Sendable {
    private struct State {
        var isDelivering = false
        var isOver = false
        /// An end that has come while a chunk was handed over.
        var pending: BodyEvent?
    }

    private let handler: @Sendable (BodyEvent) -> Void
    private let state = Mutex(State())

    init(_ handler: @escaping @Sendable (BodyEvent) -> Void) { self.handler = handler }

    func opened(at offset: Int64) { handler(.opened(at: offset)) }

    /// Called by the one reader alone.
    func chunk(_ chunk: Data) {
        let isWanted = state.withLock { state in
            state.isDelivering = !state.isOver
            return state.isDelivering
        }
        guard isWanted else { return }
        handler(.chunk(chunk))
        let end = state.withLock { state in
            state.isDelivering = false
            return state.pending.take()
        }
        if let end { handler(end) }
    }

    func end(_ end: ExchangeLifetime.Outcome, trailers: HTTPFields? = nil) {
        let event = BodyEvent.end(end, trailers: trailers)
        let isNow = state.withLock { state in
            if state.isOver { return false }
            state.isOver = true
            if state.isDelivering { state.pending = event }
            return !state.isDelivering
        }
        if isNow { handler(event) }
    }

    /// Nobody can read the body any more.
    deinit { end(.abandoned) }
}
