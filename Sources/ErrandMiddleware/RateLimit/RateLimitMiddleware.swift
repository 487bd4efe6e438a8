public import ErrandCore
internal import ErrandFormats

/// Lets no more requests go in a time than a limit has it, and than the server says it bears; the others wait in line: by
/// ``RequestPriority`` first, then by arrival. Every tenth turn goes to whoever has waited longest, so that nobody waits for ever.
///
/// **Place:** inside `retry` (each attempt counts), the cache, `coalesce` and `circuitBreaker`, outside `concurrencyLimit`: no slot is held by one who waits.
///
/// What the server says is read of every response (``RateLimitFields``): after a 429 or 503 with `Retry-After` no request of that key goes
/// until then, and of a quota no more than remain. Responses come back as they are.
///
/// Who waits can be cancelled at any time, and obeys its deadline: it fails with the code `timedOut`, in the phase `queue`. Where the
/// wait is known to be too long, it fails at once with ``RateLimitError``. Better news from the server ends a wait that has begun: at once where a response
/// to this middleware brings it, within a minute where another one shares the store.
///
/// A server is not believed for ever: what it says beyond `longestServerWait`, or beyond an hour where that is longer, holds for that long.
/// Until then requests fail at once; then one goes as a probe, and its response decides for the others.
///
/// **Per request:** `request.options.rateLimit = .off` goes past the line, and its answer is not looked at; `request.options.priority` moves it forward.
public struct RateLimitMiddleware: HTTPMiddleware {
    /// What becomes of requests when the ``RateLimitStore`` fails.
    public enum StoreFailure: Sendable, Hashable {
        /// They go, without a limit: a failure of the store is none of the client.
        case failOpen
        /// They fail with ``RateLimitStoreError``.
        case failClosed
    }

    private let limiter: RateLimiter
    private let limit: RateLimit?
    private let scope: RequestScope
    private let obeysServer: Bool

    /// - Parameters:
    ///   - limit: nil for what the server says alone.
    ///   - scope: which requests are counted together, and what an answer's fields are held to be about.
    ///   - store: shared by all that hold one limit together; nil is a ``MemoryRateLimitStore`` of its own, on `clock`.
    ///   - maxWait: the longest wait; nil is without bounds but the deadline, and zero has nobody wait.
    ///   - obeysServer: whether the server's fields are read.
    ///   - longestServerWait: if the server wants to be left alone for longer, requests fail at once instead of waiting: an hour by default.
    ///   - clock: what the waits are measured by.
    public init(
        _ limit: RateLimit? = nil, per scope: RequestScope = .origin, store: (any RateLimitStore)? = nil, maxWait: Duration? = nil,
        obeysServer: Bool = true, longestServerWait: Duration = .seconds(3600), storeFailure: StoreFailure = .failOpen,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        precondition(maxWait ?? .zero >= .zero, "maxWait must be at least zero, or nil (is \(maxWait ?? .zero))")
        precondition(longestServerWait >= .zero, "longestServerWait must be at least zero (is \(longestServerWait))")
        (self.limit, self.scope, self.obeysServer) = (limit, scope, obeysServer)
        limiter = RateLimiter(
            RateLimiter.Settings(
                limit: limit, maxWait: maxWait, longestServerWait: longestServerWait, storeFailure: storeFailure),
            store: store ?? MemoryRateLimitStore(clock: clock), clock: clock)
    }

    public var place: MiddlewarePlace? { .rateLimit }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the limiter would not know the origin"),
            .inside(.retry, because: "the attempts after the first would go past the limit"),
            .inside(.cache, because: "a hit would use up the limit"),
            .inside(.coalesce, because: "a shared exchange would use up the limit once for each call"),
            .inside(.hedge, because: "two attempts would count as one"),
        ]
    }

    public var label: String { "rateLimit(\(limit.map(\.description) ?? "as the server says") per \(scope))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.rateLimit.isOff, let key = scope.key(request)?.text else { return try await next.send(request) }
        let permit = try await limiter.acquire(key, for: request)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            if permit.isProbe { limiter.endProbe(key, isAnswered: false) }
            throw error
        }
        var fields = RateLimitFields()
        if obeysServer { fields = RateLimitFields(response.head, now: HTTPDate(secondsSinceEpoch: Int64(Date.now.timeIntervalSince1970))) }
        if !fields.isEmpty { await limiter.observe(fields, key, after: permit.grant, within: request.deadline) }
        if permit.isProbe { limiter.endProbe(key, isAnswered: true) }
        return response
    }

    /// What goes on behind a key.
    public struct State: Sendable, Hashable {
        /// Requests in line.
        public let waiting: Int
        /// How many could go now; nil where nothing limits them, or the store does not tell.
        public let available: Int?

        package init(waiting: Int, available: Int?) { (self.waiting, self.available) = (waiting, available) }
    }

    /// What goes on under the limit of an origin, for the scope ``ErrandCore/RequestScope/origin``. For a gauge.
    public func state(of origin: Origin) async -> State { await state(of: .origin(origin)) }

    /// What goes on under the limit of a key of the scope's closure. For a gauge.
    public func state(ofKey key: String) async -> State { await state(of: .named(key)) }

    /// What goes on under the one limit of the scope ``ErrandCore/RequestScope/all``. For a gauge.
    public var state: State {
        get async { await state(of: .all) }
    }

    private func state(of key: RequestScope.Key) async -> State {
        State(waiting: waiting(for: key.text), available: try? await limiter.available(key.text))
    }

    package func waiting(for key: String) -> Int { limiter.waiting(for: key) }
}

/// A request was refused because it would have to wait for too long.
public struct RateLimitError: RequestFailure {
    public var request: Request?
    /// At least until a request may go, as far as is known; nil where it has waited for as long as it might.
    public let retryAfter: Duration?
    /// Who would make it wait.
    public let cause: RateLimitDecision.Cause
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, retryAfter: Duration?, cause: RateLimitDecision.Cause) {
        (self.request, self.retryAfter, self.cause) = (request, retryAfter, cause)
    }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")refused by the rate limit\(cause == .server ? " of the server" : "")"
            + (retryAfter.map { ": the next request may go in \($0.formattedSeconds)" } ?? "") + " (not sent)" + shownAttempts
    }
}

extension RateLimitError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

/// The ``RateLimitStore`` failed, and requests don't go without it.
public struct RateLimitStoreError: RequestFailure {
    public var request: Request?
    /// What the store threw.
    public let underlying: any Error
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, underlying: any Error) { (self.request, self.underlying) = (request, underlying) }

    /// Of the store's error, only the type is known to be without secrets.
    public var description: String {
        "\(request.map { "\($0): " } ?? "")refused, the store of the rate limit failed: \(type(of: underlying))"
            + " (not sent)" + shownAttempts
    }
}

extension RateLimitStoreError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

private enum RateLimitKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` goes past every rate limit.
    public var rateLimit: OptionOverride<Never> {
        get { self[RateLimitKey.self] }
        set { self[RateLimitKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Lets no more requests go in a time than the limit has it, and than the server says it bears; without a limit, the server alone.
    /// See ``RateLimitMiddleware``.
    ///
    /// ```swift
    /// transport.rateLimit(.perSecond(50, burst: 10), per: .origin)
    /// ```
    public func rateLimit(
        _ limit: RateLimit? = nil, per scope: RequestScope = .origin, store: (any RateLimitStore)? = nil, maxWait: Duration? = nil,
        obeysServer: Bool = true, longestServerWait: Duration = .seconds(3600),
        storeFailure: RateLimitMiddleware.StoreFailure = .failOpen, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(
            by: RateLimitMiddleware(
                limit, per: scope, store: store, maxWait: maxWait, obeysServer: obeysServer, longestServerWait: longestServerWait,
                storeFailure: storeFailure, clock: clock))
    }
}
