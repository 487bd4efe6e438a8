internal import Synchronization

/// The lifetime of one exchange on the wire. The exchange ends when the last byte of the response was *received*, even if nobody
/// has read that byte.
///
/// ```swift
/// let response = try await next.send(request)
/// response.exchange.onEnd { outcome in print(outcome) }      // complete
/// ```
///
/// Use ``onEnd(_:)`` to free a concurrency slot, to end a span or to record a metric. No wrapper around the body is necessary.
/// Transports read up to 64 KiB ahead. Therefore the exchange of a small response ends even if nobody reads the response.
///
/// Copies share one lifetime. If an exchange has already ended when its lifetime is created, the lifetime allocates no
/// memory.
public struct ExchangeLifetime: Sendable {
    /// The end of an exchange.
    public enum Outcome: Sendable {
        /// The whole response was received.
        case complete
        /// The exchange failed before the whole response was received.
        case failed(any Error)
        /// The rest of the response was abandoned.
        case abandoned

        package var isComplete: Bool { if case .complete = self { true } else { false } }
    }

    /// The sizes of the bodies on the wire, in bytes. For a compressed body, the size is the compressed size. Heads, framing and
    /// trailers do not count.
    public struct BodySizes: Sendable, Hashable {
        /// The number of bytes that were sent; `nil` if the transport does not report this number.
        public var requestBytes: Int64?
        /// The number of bytes that were received; `nil` if the transport does not report this number.
        public var responseBytes: Int64?

        /// Creates the sizes of the bodies.
        public init(requestBytes: Int64? = nil, responseBytes: Int64? = nil) {
            (self.requestBytes, self.responseBytes) = (requestBytes, responseBytes)
        }
    }

    private enum Storage: Sendable {
        case over(Outcome, BodySizes)
        case running(Running)
    }

    private let storage: Storage

    /// Creates the lifetime of an exchange that is in progress until ``end(_:sizes:)`` is called, or until the last reference to the
    /// lifetime is released.
    public init() { storage = .running(Running()) }

    /// Creates the lifetime of an exchange that is already over, such as the exchange of a response from memory.
    ///
    /// - Parameter sizes: the sizes of the bodies, if they are known.
    public init(outcome: Outcome, sizes: BodySizes = BodySizes()) { storage = .over(outcome, sizes) }

    /// The end of the exchange; `nil` while it is in progress.
    public var outcome: Outcome? {
        switch storage {
        case .over(let end, _): end
        case .running(let running): running.outcome
        }
    }

    /// The end of the exchange, with the sizes of the bodies; `nil` while the exchange is in progress.
    var result: (outcome: Outcome, sizes: BodySizes)? {
        switch storage {
        case .over(let end, let sizes): (end, sizes)
        case .running(let running): running.result
        }
    }

    /// Calls `handler` once, when the exchange ends, or immediately if it has ended. Handlers are called by the code that
    /// reports the end, and must not block.
    public func onEnd(_ handler: @escaping @Sendable (Outcome) -> Void) { onEnd { end, _ in handler(end) } }

    /// Calls `handler` once, with the sizes of the bodies, when the exchange ends, or immediately if it has ended.
    public func onEnd(_ handler: @escaping @Sendable (Outcome, BodySizes) -> Void) {
        switch storage {
        case .over(let end, let sizes): handler(end, sizes)
        case .running(let running): running.onEnd(handler)
        }
    }

    /// Ends the exchange. Only the first call ends the exchange; later calls do nothing. For transports.
    ///
    /// - Parameter sizes: the sizes of the bodies so far, if the transport knows them.
    public func end(_ end: Outcome, sizes: BodySizes = BodySizes()) {
        if case .running(let running) = storage { running.end(end, sizes) }
    }

    private final class Running: Sendable {
        private struct State {
            var end: Outcome?
            var sizes = BodySizes()
            var handlers: [@Sendable (Outcome, BodySizes) -> Void] = []
        }

        private let state = Mutex(State())

        init() { LiveWork.exchange.begin() }

        var outcome: Outcome? { state.withLock(\.end) }
        var result: (outcome: Outcome, sizes: BodySizes)? { state.withLock { state in state.end.map { ($0, state.sizes) } } }

        func onEnd(_ handler: @escaping @Sendable (Outcome, BodySizes) -> Void) {
            let (end, sizes) = state.withLock { state in
                if state.end == nil { state.handlers.append(handler) }
                return (state.end, state.sizes)
            }
            if let end { handler(end, sizes) }
        }

        func end(_ end: Outcome, _ sizes: BodySizes) {
            let handlers = state.withLock { state -> [@Sendable (Outcome, BodySizes) -> Void]? in
                guard state.end == nil else { return nil }
                (state.end, state.sizes) = (end, sizes)
                defer { state.handlers = [] }
                return state.handlers
            }
            guard let handlers else { return }
            LiveWork.exchange.end()
            for handler in handlers { handler(end, sizes) }
        }

        /// Ends the exchange as abandoned, if a transport releases the exchange without reporting its end.
        deinit { end(.abandoned, BodySizes()) }
    }
}

extension ExchangeLifetime: CustomStringConvertible, HidesStorage {
    /// The end of the exchange, without secrets; `in progress` before the end.
    public var description: String { outcome.map(\.description) ?? "in progress" }
}

extension ExchangeLifetime.Outcome: CustomStringConvertible, HidesStorage {
    /// The outcome in words: `complete`, `abandoned`, or `failed:` with the error. An error of another library shows only its type.
    public var description: String {
        switch self {
        case .complete: "complete"
        case .failed(let error): "failed: \(safeDescription(of: error))"
        case .abandoned: "abandoned"
        }
    }
}
