public import ErrandCore
internal import ErrandFormats

/// Limits the request rate to `limit` and to the rate that the server's rate-limit fields allow. Excess requests queue by
/// ``/ErrandCore/RequestPriority``, then first in, first out. Every tenth grant goes to the request that has queued longest, so that no
/// request queues forever.
///
/// ```swift
/// let stack = transport.concurrencyLimit(6).rateLimit(.perSecond(50, burst: 10)).retry()
/// ```
///
/// **Place:** inside `retry`, so that the limit includes each attempt. The layer is also inside the cache, `coalesce` and `circuitBreaker`.
/// The layer is outside `concurrencyLimit`, so that no slot is held while a request queues.
///
/// The rate-limit fields of every response are read (``/ErrandFormats/RateLimitFields``). After a 429 or 503 with `Retry-After`, no request
/// under the same limit is sent before the time in this field has passed. The number of further requests never exceeds the remaining quota
/// of the server. Responses are returned unchanged.
///
/// A queued request can be cancelled at any time. If the deadline of a queued request passes, the request fails with the code `timedOut`,
/// in the phase `queue`. The request fails immediately with ``RateLimitError`` if its known wait exceeds `maxWait` or the deadline.
/// The request also fails if the server asked for the wait, and the wait exceeds `maxServerWait`. Newer fields from the server can end a
/// wait early. If this middleware gets the newer fields, the wait ends immediately. If another process that shares the store gets the
/// fields, the wait ends within a minute.
///
/// The middleware obeys a server's wait for at most an hour, or for at most `maxServerWait` if `maxServerWait` is longer. If the server
/// asks for a longer wait, requests fail immediately while the middleware obeys the wait. The first request after this time is sent as a
/// probe. The response to the probe decides how the middleware handles the other requests.
///
/// **Per request:** with `request.options.rateLimit = .off`, the request bypasses the queue, and rate-limit fields in its
/// response are ignored. `request.options.priority` decides the order of the queue.
public struct RateLimitMiddleware: HTTPMiddleware {
    /// The handling of requests when the ``RateLimitStore`` fails.
    public enum StoreFailure: Sendable, Hashable {
        /// Requests are sent without a limit, so that a failing store does not stop the client.
        case failOpen
        /// Requests fail with ``RateLimitStoreError``.
        case failClosed
    }

    private let limiter: RateLimiter
    private let limit: RateLimit?
    private let scope: RequestScope
    private let obeysServer: Bool

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - limit: the request rate. With `nil`, the default, only the server's fields limit the rate.
    ///   - scope: the requests that share a limit. The rate-limit fields of a response apply to all requests that share the limit. Default:
    ///     the requests of one origin.
    ///   - store: the store. Stacks that share a limit must use the same store. With `nil`, the default, the middleware creates
    ///     a ``MemoryRateLimitStore`` on `clock`.
    ///   - maxWait: the longest time in the queue: at least zero. With `nil`, the default, only the deadline limits the time. With
    ///     `.zero`, requests fail instead of queueing.
    ///   - obeysServer: whether the server's fields are read. Default: `true`.
    ///   - maxServerWait: the longest wait that the middleware accepts from a server, at least zero. If the server asks for a
    ///     longer wait, requests fail immediately instead of queueing. Default: an hour.
    ///   - storeFailure: the handling of requests when the store fails. Default: requests are sent.
    ///   - clock: the clock that measures the waits.
    public init(
        _ limit: RateLimit? = nil, per scope: RequestScope = .origin, store: (any RateLimitStore)? = nil, maxWait: Duration? = nil,
        obeysServer: Bool = true, maxServerWait: Duration = .seconds(3600), storeFailure: StoreFailure = .failOpen,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        precondition(maxWait ?? .zero >= .zero, "maxWait must be at least zero, or nil (is \((maxWait ?? .zero).inWords))")
        precondition(maxServerWait >= .zero, "maxServerWait must be at least zero (is \(maxServerWait.inWords))")
        (self.limit, self.scope, self.obeysServer) = (limit, scope, obeysServer)
        limiter = RateLimiter(
            RateLimiter.Settings(
                limit: limit, maxWait: maxWait, maxServerWait: maxServerWait, storeFailure: storeFailure),
            store: store ?? MemoryRateLimitStore(clock: clock), clock: clock)
    }

    public var place: MiddlewarePlace { .rateLimit }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the limiter would not know the origin"),
            .inside(.retry, because: "the attempts after the first would bypass the limit"),
            .inside(.cache, because: "a cached response would use up the limit"),
            .inside(.coalesce, because: "a shared exchange would use up the limit once for each call"),
            .inside(.hedge, because: "two attempts would count as one"),
        ]
    }

    public var label: String { "rateLimit(\(limit.map(\.description) ?? "as the server says"), \(scope.phrase))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.rateLimit.isOff, let key = scope.key(of: request)?.text else { return try await next.send(request) }
        let permit = try await limiter.acquire(key, for: request)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            if permit.isProbe { limiter.endProbe(key, hasResponse: false) }
            throw error
        }
        var fields = RateLimitFields()
        if obeysServer { fields = RateLimitFields(response.head, now: HTTPDate(Date())) }
        if !fields.isEmpty { await limiter.observe(fields, for: key, after: permit.grant, of: request) }
        if permit.isProbe { limiter.endProbe(key, hasResponse: true) }
        return response
    }

    /// The current use of the limit of one key.
    public struct State: Sendable, Hashable {
        /// The number of queued requests.
        public let queued: Int
        /// The number of requests that may be sent now. `nil`: there is no limit now, or the store does not report the number.
        public let available: Int?

        package init(queued: Int, available: Int?) { (self.queued, self.available) = (queued, available) }
    }

    /// Returns the current use of an origin's limit. The scope must be ``/ErrandCore/RequestScope/origin``. Use this function for gauges.
    public func state(of origin: Origin) async -> State { await state(of: .origin(origin)) }

    /// Returns the current use of the limit for a key. The scope must be a closure. Use this function for gauges.
    public func state(ofKey key: String) async -> State { await state(of: .named(key)) }

    /// The current use of the limit. The scope must be ``/ErrandCore/RequestScope/all``. Use this property for gauges.
    public var state: State {
        get async { await state(of: .all) }
    }

    private func state(of key: RequestScope.Key) async -> State {
        State(queued: queued(for: key.text), available: try? await limiter.available(key.text))
    }

    package func queued(for key: String) -> Int { limiter.queued(for: key) }
}

/// The error for a request that was refused because it would wait too long in the queue. The request was not sent.
public struct RateLimitError: TemporaryRefusal, NumberedFailure {
    /// The refused request.
    public var request: Request?
    /// The shortest known duration until a request may be sent; `nil` if the request has queued for `maxWait`.
    public let retryAfter: Duration?
    /// The cause of the refusal: the app's own limit, or the server.
    public let cause: RateLimitDecision.Cause
    /// The earlier attempts of the call; empty if the stack has no `retry`.
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, retryAfter: Duration?, cause: RateLimitDecision.Cause) {
        (self.request, self.retryAfter, self.cause) = (request, retryAfter, cause)
    }

    public var description: String {
        "\(shownRequest)refused by the rate limit\(cause == .server ? " of the server" : "")"
            + (retryAfter.map { ": the next request may be sent in \($0.inWords)" } ?? "") + " (not sent)" + shownAttempts
    }

    public var failureNumber: FailureNumber { .rateLimit }
    public var failureReason: String? { "The rate limit\(cause == .server ? " of the server" : "") is reached." }
    public var recoverySuggestion: String? { tryAgain(in: retryAfter) }
}

/// The error of a request that was refused because the ``RateLimitStore`` failed. The request was not sent.
public struct RateLimitStoreError: RequestFailure, NumberedFailure {
    /// The refused request.
    public var request: Request?
    /// The error that the store threw.
    public let underlying: any Error
    /// The earlier attempts of the call; empty if the stack has no `retry`.
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, underlying: any Error) { (self.request, self.underlying) = (request, underlying) }

    /// A description that contains only the type of the store's error, because the text of that error may contain secrets.
    public var description: String {
        "\(shownRequest)refused, because the store of the rate limit failed: \(type(of: underlying))"
            + " (not sent)" + shownAttempts
    }

    public var failureNumber: FailureNumber { .rateLimitStore }
    public var failureReason: String? { "The store of the rate limit failed: \(type(of: underlying))." }
    public var recoverySuggestion: String? { "Try again later." }
}

private enum RateLimitKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether rate limits apply to this request. `.off`: the request bypasses every rate limit.
    public var rateLimit: OptionOverride<Never> {
        get { self[RateLimitKey.self] }
        set { self[RateLimitKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Limits the request rate to `limit`, and to the rate that the server's rate-limit fields allow. Without a `limit`, only the
    /// server's fields limit the rate. See ``RateLimitMiddleware``.
    ///
    /// ```swift
    /// transport.rateLimit(.perSecond(50, burst: 10), per: .origin)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the request rate. With `nil`, only the server's fields limit the rate.
    ///   - scope: the requests that share a limit. Default: the requests of one origin.
    ///   - store: the store. Stacks that share a limit must use the same store. With `nil`, the middleware creates a
    ///     ``MemoryRateLimitStore``.
    ///   - maxWait: the longest time in the queue. With `nil`, only the deadline limits the time. With `.zero`, requests fail
    ///     instead of queueing.
    ///   - obeysServer: whether the server's fields are read.
    ///   - maxServerWait: the longest wait that the middleware accepts from a server. If the server asks for a longer wait,
    ///     requests fail immediately instead of queueing. Default: an hour.
    ///   - storeFailure: the handling of requests when the store fails. Default: requests are sent.
    ///   - clock: the clock that measures the waits.
    public func rateLimit(
        _ limit: RateLimit? = nil, per scope: RequestScope = .origin, store: (any RateLimitStore)? = nil, maxWait: Duration? = nil,
        obeysServer: Bool = true, maxServerWait: Duration = .seconds(3600),
        storeFailure: RateLimitMiddleware.StoreFailure = .failOpen, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(
            by: RateLimitMiddleware(
                limit, per: scope, store: store, maxWait: maxWait, obeysServer: obeysServer, maxServerWait: maxServerWait,
                storeFailure: storeFailure, clock: clock))
    }
}
