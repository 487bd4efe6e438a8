internal import Synchronization

/// An event in the life of an observed body.
public enum BodyEvent: Sendable {
    /// A request's body was opened, and will be sent from this offset in bytes. The event is reported each time the body is sent. A
    /// response's body does not report this event.
    case opened(at: Int64)
    /// The next bytes, never empty.
    case chunk(Data)
    /// The body has ended, has failed, or was abandoned. Trailer fields are reported only if the body is complete and has trailer fields.
    ///
    /// A cancelled read fails the body with `CancellationError`. If the body is not read, the outcome is `abandoned`.
    case end(ExchangeLifetime.Outcome, trailers: HTTPFields?)
}

extension BodyEvent: CustomStringConvertible, HidesStorage {
    /// The name of the event, the length of a chunk, and the names of the trailer fields.
    public var description: String {
        switch self {
        case .opened(let offset): "opened at \(offset)"
        case .chunk(let chunk): "chunk of \(chunk.count.counted("byte"))"
        case .end(let outcome, nil): "end: \(outcome)"
        case .end(let outcome, let trailers?): "end: \(outcome), trailers \(trailers.map(\.name.rawName).joined(separator: ", "))"
        }
    }
}

/// An observer that reports one reading of a body to a closure. The closure gets one event at a time, and exactly one end as the last
/// event.
final class BodyObserver: Sendable {
    private struct State {
        var isDelivering = false
        var isOver = false
        /// The end event, which is reported later because the body ended while a chunk was being reported.
        var pending: BodyEvent?
    }

    private let handler: @Sendable (BodyEvent) -> Void
    private let state = Mutex(State())

    init(_ handler: @escaping @Sendable (BodyEvent) -> Void) { self.handler = handler }

    func opened(at offset: Int64) { handler(.opened(at: offset)) }

    /// Reports a chunk. Only the reader of the body calls this function.
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

    /// Ends the observation. Returns false, and reports nothing, if the observation had already ended.
    @discardableResult
    func end(_ end: ExchangeLifetime.Outcome, trailers: HTTPFields? = nil) -> Bool {
        let event = BodyEvent.end(end, trailers: trailers)
        let (isFirst, isNow) = state.withLock { state in
            if state.isOver { return (false, false) }
            state.isOver = true
            if state.isDelivering { state.pending = event }
            return (true, !state.isDelivering)
        }
        if isNow { handler(event) }
        return isFirst
    }

    /// If nobody can read the body any more, the observer is released. Therefore, a release without an end means that the body was
    /// abandoned.
    deinit { end(.abandoned) }
}
