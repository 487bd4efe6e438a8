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

    /// How long the bodies were on the wire, coded as they were sent; without heads, framing and trailers.
    public struct BodySizes: Sendable, Hashable {
        /// What was sent; nil where the transport does not say.
        public var requestBytes: Int64?
        /// What was received; nil where the transport does not say.
        public var responseBytes: Int64?

        public init(requestBytes: Int64? = nil, responseBytes: Int64? = nil) {
            (self.requestBytes, self.responseBytes) = (requestBytes, responseBytes)
        }
    }

    private struct State {
        var end: End?
        var sizes = BodySizes()
        var handlers: [@Sendable (End, BodySizes) -> Void] = []
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
    public func onEnd(_ handler: @escaping @Sendable (End) -> Void) { onEnd { end, _ in handler(end) } }

    /// The same, with the sizes of the bodies.
    public func onEnd(_ handler: @escaping @Sendable (End, BodySizes) -> Void) {
        let (end, sizes) = state.withLock { state in
            if state.end == nil { state.handlers.append(handler) }
            return (state.end, state.sizes)
        }
        if let end { handler(end, sizes) }
    }

    /// Ends the exchange; the first call counts, later ones do nothing. For transports.
    ///
    /// - Parameter sizes: of the bodies so far, as far as the transport knows them.
    public func end(_ end: End, sizes: BodySizes = BodySizes()) {
        let handlers = state.withLock { state -> [@Sendable (End, BodySizes) -> Void]? in
            guard state.end == nil else { return nil }
            (state.end, state.sizes) = (end, sizes)
            defer { state.handlers = [] }
            return state.handlers
        }
        guard let handlers else { return }
        LiveWork.exchange.end()
        for handler in handlers { handler(end, sizes) }
    }

    /// One that a transport let go of without an end was given up.
    deinit { end(.abandoned) }
}

extension ExchangeLifetime: CustomStringConvertible, CustomReflectable {
    /// How it ended, without secrets; `in progress` until then.
    public var description: String { ended.map(\.description) ?? "in progress" }
    public var customMirror: Mirror { Mirror(self, children: ["state": description]) }
}

extension ExchangeLifetime.End: CustomStringConvertible, CustomReflectable {
    /// How it ended; of an error that is not this library's own, the type.
    public var description: String {
        switch self {
        case .complete: "complete"
        case .failed(let error): "failed: \(shownError(error))"
        case .abandoned: "abandoned"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["end": description]) }
}
