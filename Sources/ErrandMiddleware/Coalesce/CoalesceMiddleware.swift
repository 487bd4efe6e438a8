public import ErrandCore
internal import Synchronization

/// Shares one exchange among concurrent equal requests. The first request is sent, and each caller gets the response.
///
/// ```swift
/// let stack = transport.concurrencyLimit(6).coalesce().retry()
/// async let first = stack.send(try Request(.get, url: "https://a.example/config"))
/// async let second = stack.send(try Request(.get, url: "https://a.example/config"))  // no second exchange
/// ```
///
/// **Place:** inside the cache, so that a cache hit does not wait. The layer is outside `circuitBreaker` and the limits, so that a shared
/// exchange takes one slot. The layer is also inside `retry` and `authenticate`, because each caller handles the response independently.
///
/// A request can share an exchange only if the request has:
///
/// - a safe method: GET, HEAD, OPTIONS or QUERY ([RFC 9110, section 9.2.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1),
///   [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008));
/// - an authority;
/// - a body in memory;
/// - no `Upgrade`.
///
/// Two requests are equal if all of these are equal:
///
/// - method, URL and body;
/// - the header fields that ``Fields`` selects, including the fallback fields. Credentials are always compared;
/// - the value that `additionalKey` returns;
/// - the options: each key defines how its values are compared (``/ErrandCore/OptionKey/identity(of:)``). Both requests must have
///   equal values for these options: declared secret names, phase and attempt limits, delay, hedging, redirects, your own options, and
///   switched-off middleware. The values of these options may differ: deadline, timeout, retry policy, event sink, log, tags and URL
///   template. A request with an option that can't be compared never shares an exchange.
///
/// The priority may differ too, with one exception. If a shared request has no response yet, and a new caller has a higher priority, this
/// caller sends its own request. Later callers join the exchange of the new request.
///
/// The exchange belongs to all of its callers. The exchange uses the request of the first caller, with the options, priority and event sink
/// of this request. The exchange has no deadline, because each caller keeps its own deadline. If a caller is cancelled, or if the deadline
/// of a caller passes, this caller stops waiting immediately, and all other callers continue to wait. When no caller waits for the response
/// or reads its body any more, the exchange is cancelled. A later caller begins a new exchange. If an inner layer cancels the exchange, the
/// first caller gets the cancellation, and the other callers send their requests once more.
///
/// Callers can join until the first byte of the body is read, or until the exchange ends on the wire. Each caller reads the body
/// independently. The fastest caller determines how fast the body is read from the connection. For each slower caller, at most
/// `viewLimitBytes` are buffered. If a caller would need a larger buffer, this caller fails with ``SlowReaderError``. A failure
/// of the exchange reaches every caller.
///
/// **Per request:** with `request.options.coalesce = .off`, the request has an exchange that is not shared. If a caller joined the exchange
/// of another request, the caller's response has ``/ErrandCore/ResponseMetadata/coalescedInto``.
public struct CoalesceMiddleware: HTTPMiddleware {
    /// The default limit of the buffer for one slow caller: 5 MiB.
    public static let defaultViewLimitBytes = 5 * 1024 * 1024

    private let fields: Fields
    private let additionalKey: @Sendable (Request) -> String?
    private let table: SharedExchanges

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - fields: the fields that must be equal in the requests. Default: all fields except ``Fields/perRequest``.
    ///   - viewLimitBytes: the largest number of body bytes that are buffered for a slow caller, at least 0. Default: 5 MiB.
    ///   - additionalKey: a closure that returns a further value that must be equal in the requests. `nil` equals `nil`. Default:
    ///     a closure that returns `nil`.
    public init(
        by fields: Fields = .all, viewLimitBytes: Int = defaultViewLimitBytes,
        additionalKey: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) {
        precondition(viewLimitBytes >= 0, "viewLimitBytes must be at least 0 (is \(viewLimitBytes))")
        (self.fields, self.additionalKey, table) = (fields, additionalKey, SharedExchanges(limitBytes: viewLimitBytes))
    }

    public var place: MiddlewarePlace { .coalesce }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "requests to two servers with equal paths would share an exchange"),
            .inside(.cache, because: "a cached response would wait for a shared exchange"),
            .inside(.timeout, because: "all callers would get the timeout of the first caller"),
            .inside(.validateStatus, because: "all callers would get the status rule of the first caller"),
            .inside(.validate, because: "all callers would get the validators of the first caller"),
            .inside(.retry, because: "all callers would get the retries of the first caller"),
            .inside(.redirect, because: "all callers would get the redirects of the first caller"),
            .inside(.authenticate, because: "the credentials would not be compared"),
            .inside(.cookies, because: "the cookies would not be compared"),
        ]
    }

    public var label: String { "coalesce" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.coalesce.isOff, let key = CoalesceKey(request, by: fields, own: additionalKey(request)) else {
            return try await next.send(request)
        }
        try Task.checkCancellation()
        let caller = Caller(request)
        try caller.checkDeadline(.queue, .notSent)
        // A sender may cancel an exchange although every caller still waits, and may also cancel the next exchange. Therefore a caller
        // joins at most two exchanges.
        for _ in 0..<2 {
            let seat = table.join(key, request)
            if seat.isFirst { seat.exchange.send(request, to: next) }
            do {
                return try await seat.response(to: caller)
            } catch is CancelledBelowError {
            }
        }
        throw CancelledBelowError().failure(of: request, .response)
    }

    /// The current number of shared exchanges and callers, for gauges and tests.
    public struct State: Sendable, Hashable {
        /// The number of exchanges that have a waiting caller, or a caller that has not read the whole body.
        public let inFlight: Int
        /// The number of callers that share the exchanges.
        public let callers: Int
    }

    /// The current number of shared exchanges and callers. Reading this property takes time proportional to the number of
    /// exchanges.
    public var state: State { table.counts }
}

/// The exchanges in progress.
private final class SharedExchanges: Sendable {
    private struct State {
        /// The exchanges that a new caller can join.
        var open: [CoalesceKey: SharedExchange] = [:]
        /// All exchanges.
        var all: [Int: SharedExchange] = [:]
        var nextNumber = 0
    }

    private let limitBytes: Int
    private let state = Mutex(State())

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    var counts: CoalesceMiddleware.State {
        let all = state.withLock { Array($0.all.values) }
        return CoalesceMiddleware.State(inFlight: all.count, callers: all.reduce(0) { $0 + $1.memberCount })
    }

    func join(_ key: CoalesceKey, _ request: Request) -> SharedSeat {
        let priority = request.options.priority
        return state.withLock { state in
            if let exchange = state.open[key], let member = exchange.join(priority) {
                return SharedSeat(exchange: exchange, member: member, isFirst: false)
            }
            state.nextNumber += 1
            let number = state.nextNumber
            let exchange = SharedExchange(
                number: number, sent: request.id, priority: priority, limitBytes: limitBytes,
                onClose: { [weak self] in self?.close(key, number) },
                onOver: { [weak self] in self?.remove(number) })
            state.open[key] = exchange
            state.all[number] = exchange
            return SharedSeat(exchange: exchange, member: SharedExchangeState.firstMember, isFirst: true)
        }
    }

    private func close(_ key: CoalesceKey, _ number: Int) {
        // The removed exchange is released outside the lock, because its release can call code of the app.
        let closed = state.withLock { state in
            state.open[key]?.number == number ? state.open.removeValue(forKey: key) : nil
        }
        _ = closed
    }

    private func remove(_ number: Int) {
        // The removed exchange is released outside the lock, because its release can call code of the app.
        let removed = state.withLock { $0.all.removeValue(forKey: number) }
        _ = removed
    }
}

private enum CoalesceOptionKey: SwitchOptionKey {
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { value.isOff ? .unique : .ignored }
}

extension RequestOptions {
    /// Whether this request can share an exchange. `.off`: the exchange of the request is not shared.
    public var coalesce: OptionOverride<Never> {
        get { self[CoalesceOptionKey.self] }
        set { self[CoalesceOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Shares one exchange among concurrent equal requests. See ``CoalesceMiddleware``.
    ///
    /// ```swift
    /// let stack = transport.concurrencyLimit(6).coalesce().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - fields: the fields that must be equal in the requests. Default: all fields except the fields that have a new value
    ///     in every request.
    ///   - viewLimitBytes: the largest number of body bytes that are buffered for a slow caller, at least 0. Default: 5 MiB.
    ///   - additionalKey: a closure that returns a further value that must be equal in the requests. `nil` equals `nil`. Default:
    ///     a closure that returns `nil`.
    public func coalesce(
        by fields: CoalesceMiddleware.Fields = .all, viewLimitBytes: Int = CoalesceMiddleware.defaultViewLimitBytes,
        additionalKey: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) -> HTTPStack { wrapped(by: CoalesceMiddleware(by: fields, viewLimitBytes: viewLimitBytes, additionalKey: additionalKey)) }
}
