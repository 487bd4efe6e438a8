public import ErrandCore
internal import Synchronization

/// Lets concurrent equal requests share one exchange: the first is sent, and all are answered by its response.
///
/// **Place:** inside the cache, so that a hit waits for nobody, and outside `circuitBreaker` and the limits: a shared exchange takes one slot.
/// It stands inside `retry` and `authenticate`: each caller decides for itself what to do with the answer.
///
/// Only GET, HEAD, OPTIONS and QUERY (RFC 9110, 9.2.1; RFC 10008) are shared, with an authority, a body that is in memory, and no `Upgrade`. Two
/// requests are equal if these are: method, URL, body, and fields, those to fall back on included (see ``Fields``; credentials always count); what
/// `also` names; and their options, as each says of itself (``ErrandCore/OptionKey/identity(of:)``). Declared secret names, limits of phases and of an
/// attempt, delay, hedging, redirects, options of your own and which middleware they switch off count; a request with an option that can't be
/// compared shares with none. Deadline, timeout, retry policy, event sink, log, tags and URL template may differ, and so may the priority, with one
/// exception: a caller that is more urgent than a request without a response so far sends its own, which later callers join.
///
/// The exchange belongs to none of its callers. It is sent as the first one's request, with its options, priority and event sink, but without a
/// deadline: each caller has its own. Who is cancelled, or whose deadline passes, leaves at once and alone; when the last one leaves, the exchange
/// is cancelled, and a later caller begins anew. A cancellation that comes from below is the first one's alone: the others ask once more.
///
/// Callers join until the first byte of the body is read, or the exchange has ended on the wire. Each reads the body by itself, at the pace of
/// the fastest; for a slower one at most `viewLimitBytes` are kept, beyond which it fails with ``SlowReaderError``. A failure reaches every caller.
///
/// **Per request:** `request.options.coalesce = .off` is sent by itself. ``ErrandCore/ResponseMetadata/coalescedInto`` tells who has joined.
public struct CoalesceMiddleware: HTTPMiddleware {
    /// What is kept of a body for a slow caller, unless told: 5 MiB.
    public static let defaultViewLimitBytes = 5 * 1024 * 1024

    private let fields: Fields
    private let also: @Sendable (Request) -> String?
    private let table: SharedExchanges

    /// - Parameters:
    ///   - fields: which of them must be equal.
    ///   - viewLimitBytes: the most that is kept of a body for one caller that reads more slowly than another.
    ///   - also: something else in which requests must be equal; nil is equal to nil.
    public init(
        by fields: Fields = .all, viewLimitBytes: Int = defaultViewLimitBytes, also: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) {
        precondition(viewLimitBytes >= 0, "viewLimitBytes must be at least 0 (is \(viewLimitBytes))")
        (self.fields, self.also, table) = (fields, also, SharedExchanges(limitBytes: viewLimitBytes))
    }

    public var place: MiddlewarePlace? { .coalesce }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "two servers' paths would be taken for one"),
            .inside(.cache, because: "a hit would wait for a shared exchange"),
            .inside(.timeout, because: "the callers would have the timeout of one of them"),
            .inside(.validateStatus, because: "the callers would have the rule of one of them"),
            .inside(.validate, because: "the callers would have the validators of one of them"),
            .inside(.retry, because: "the callers would have the retries of one of them"),
            .inside(.redirect, because: "the callers would have the redirects of one of them"),
            .inside(.authenticate, because: "the credentials would not be compared"),
            .inside(.cookies, because: "the cookies would not be compared"),
        ]
    }

    public var label: String { "coalesce" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.coalesce.isOff, let key = CoalesceKey(request, by: fields, own: also(request)) else {
            return try await next.send(request)
        }
        try Task.checkCancellation()
        let caller = Caller(request)
        if caller.isTooLate { throw caller.timedOut(.queue, .notSent) }
        // A sender that is cancelled by itself may be so again: no caller goes from one exchange to the next without end.
        for _ in 0..<2 {
            let seat = table.join(key, request)
            if seat.isFirst { seat.exchange.send(request, to: next) }
            do {
                return try await seat.response(to: caller)
            } catch is CancelledBelow {
            }
        }
        throw CancelledBelow().failure(of: request, .response)
    }

    /// What goes on now. For a gauge, and for tests.
    public struct State: Sendable, Hashable {
        /// Exchanges that somebody waits for, or whose body somebody has not read yet.
        public let inFlight: Int
        /// Those who share them.
        public let callers: Int
    }

    /// What goes on now. It takes a moment for each exchange.
    public var state: State { table.counts }
}

/// The exchanges under way.
private final class SharedExchanges: Sendable {
    private struct State {
        /// Those that can be joined.
        var open: [CoalesceKey: SharedExchange] = [:]
        /// All.
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
        // It is let go of outside the lock.
        let closed = state.withLock { state in
            state.open[key]?.number == number ? state.open.removeValue(forKey: key) : nil
        }
        _ = closed
    }

    private func remove(_ number: Int) {
        // It is let go of outside the lock.
        let removed = state.withLock { $0.all.removeValue(forKey: number) }
        _ = removed
    }
}

private enum CoalesceOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { value.isOff ? .unique : .none }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` has an exchange of its own.
    public var coalesce: OptionOverride<Never> {
        get { self[CoalesceOptionKey.self] }
        set { self[CoalesceOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Lets concurrent equal requests share one exchange. See ``CoalesceMiddleware``.
    ///
    /// - Parameters:
    ///   - fields: which of them must be equal; all but those that every request has anew.
    ///   - viewLimitBytes: the most that is kept of a body for one caller that reads more slowly than another; 5 MiB.
    ///   - also: something else in which requests must be equal; nil is equal to nil.
    public func coalesce(
        by fields: CoalesceMiddleware.Fields = .all, viewLimitBytes: Int = CoalesceMiddleware.defaultViewLimitBytes,
        also: @escaping @Sendable (Request) -> String? = { _ in nil }
    ) -> HTTPStack { wrapped(by: CoalesceMiddleware(by: fields, viewLimitBytes: viewLimitBytes, also: also)) }
}
