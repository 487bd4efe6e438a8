internal import Synchronization

/// An event in the life of an observed body.
public enum BodyEvent: Sendable {
    /// A request's body is opened to be sent from this offset, in bytes; once for each time it is sent. A response's body has no such
    /// event.
    case opened(at: Int64)
    /// The next bytes, never empty, as they are passed on.
    case chunk(Data)
    /// The body has ended, has failed, or was abandoned. Only a complete body has trailer fields, if there were any.
    ///
    /// A cancelled read fails the body with `CancellationError`. A body that is not read is abandoned.
    case end(ExchangeLifetime.Outcome, trailers: HTTPFields?)
}

extension BodyEvent: CustomStringConvertible, HidesStorage {
    /// The event, with the number of bytes of a chunk and the names of trailer fields.
    public var description: String {
        switch self {
        case .opened(let offset): "opened at \(offset)"
        case .chunk(let chunk): "chunk of \(chunk.count) \(chunk.count == 1 ? "byte" : "bytes")"
        case .end(let outcome, nil): "end: \(outcome)"
        case .end(let outcome, let trailers?): "end: \(outcome), trailers \(trailers.map(\.name.rawName).joined(separator: ", "))"
        }
    }
}

/// Reports one reading of a body to a closure: one event at a time, the end exactly once, and nothing after it.
final class BodyObserver: Sendable {
    private struct State {
        var isDelivering = false
        var isOver = false
        /// An end that came while a chunk was being reported.
        var pending: BodyEvent?
    }

    private let handler: @Sendable (BodyEvent) -> Void
    private let state = Mutex(State())

    init(_ handler: @escaping @Sendable (BodyEvent) -> Void) { self.handler = handler }

    func opened(at offset: Int64) { handler(.opened(at: offset)) }

    /// Reports a chunk. Only the one reader calls it.
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

    /// Returns whether this is the end: the first one counts.
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

    /// The body can't be read any more.
    deinit { end(.abandoned) }
}
