public import ErrandCore

/// Limits the number of exchanges in progress. Further requests queue by ``/ErrandCore/RequestPriority``, then first in, first
/// out. Every tenth slot goes to the request that has queued longest, so that no request queues forever.
///
/// ```swift
/// let stack = transport.concurrencyLimit(6).retry()                    // at most 6 exchanges at each origin
/// let gentle = transport.concurrencyLimit(.adaptive(maximum: 50)).retry()
/// ```
///
/// **Place:** next to the transport, inside the cache, `coalesce` and `retry`. No slot is held during a backoff. With N slots, at most N
/// exchanges are on the wire. A slot is freed when the exchange ends on the wire, even if the body is still unread. If the response has at
/// most 64 KiB, its slot is freed even if no code reads the body.
///
/// A queued request can be cancelled at any time. If the deadline of a queued request passes, the request fails with the code
/// `timedOut`, in the phase `queue`.
///
/// **Per request:** with `request.options.concurrencyLimit = .off`, the request bypasses the queue. `request.options.priority` decides the
/// order of the queue.
public struct ConcurrencyLimitMiddleware: HTTPMiddleware {
    private let limiter: ConcurrencyLimiter
    private let scope: RequestScope
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - limit: the number of exchanges that may be in progress at the same time.
    ///   - scope: the requests that share a limit. Default: the requests of each origin.
    ///   - clock: the clock by which an adaptive limit measures response times.
    public init(_ limit: ConcurrencyLimit, per scope: RequestScope = .origin, clock: any Clock<Duration> = ContinuousClock()) {
        (limiter, self.scope, self.clock) = (ConcurrencyLimiter(limit), scope, clock)
    }

    public var place: MiddlewarePlace { .concurrencyLimit }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the limiter would not know the origin"),
            .inside(.retry, because: "a slot would be held during the backoff"),
            .inside(.hedge, because: "two attempts would share one slot"),
            .inside(.rateLimit, because: "a slot would be held while its request waits for the limit"),
        ]
    }

    public var label: String { "concurrencyLimit(\(limiter.limit) \(scope.phrase))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.concurrencyLimit.isOff, let key = scope.key(of: request) else { return try await next.send(request) }
        try await limiter.acquire(key, for: request)
        let elapsed = makeStopwatch(on: clock)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            limiter.release(key, Self.outcome(of: error))
            throw error
        }
        let outcome = response.head.status.isOverload ? ConcurrencyLimit.Outcome.dropped : .responded(after: elapsed())
        response.exchange.onEnd { [limiter] _ in limiter.release(key, outcome) }
        return response
    }

    /// Returns the outcome of a failed exchange for the adaptive limit. A failure does not change the limit if it says nothing about the
    /// load of the server. An example is a request that no server got.
    private static func outcome(of error: any Error) -> ConcurrencyLimit.Outcome {
        switch error {
        case _ where Task.isCancelled: .cancelled
        case let error as StatusError: error.status.isOverload ? .dropped : .cancelled
        case let error as TransportError where error.mayHaveBeenProcessed: error.isEvidenceAgainstServer ? .dropped : .cancelled
        default: .cancelled
        }
    }

    /// The current use of the limit of one key.
    public struct State: Sendable, Hashable {
        /// The number of exchanges in progress.
        public let inFlight: Int
        /// The number of queued requests.
        public let queued: Int
        /// The current limit, at most 10^15.
        public let limit: Int

        package init(inFlight: Int, queued: Int, limit: Int) { (self.inFlight, self.queued, self.limit) = (inFlight, queued, limit) }
    }

    /// Returns the current use of an origin's limit. The scope must be ``/ErrandCore/RequestScope/origin``. Use this function for gauges.
    public func state(of origin: Origin) -> State { limiter.state(of: .origin(origin)) }

    /// Returns the current use of the limit for a key. The scope must be a closure. Use this function for gauges.
    public func state(ofKey key: String) -> State { limiter.state(of: .named(key)) }

    /// The current use of the limit. The scope must be ``/ErrandCore/RequestScope/all``. Use this property for gauges.
    public var state: State { limiter.state(of: .all) }

    /// The number of keys that are kept.
    package var keyCount: Int { limiter.keyCount }
}

private enum ConcurrencyLimitKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether concurrency limits apply to this request. `.off`: the request bypasses every queue.
    public var concurrencyLimit: OptionOverride<Never> {
        get { self[ConcurrencyLimitKey.self] }
        set { self[ConcurrencyLimitKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Limits the number of exchanges in progress to `count`. See ``ConcurrencyLimitMiddleware``.
    ///
    /// ```swift
    /// transport.concurrencyLimit(6)  // at most 6 at each origin
    /// ```
    ///
    /// - Parameters:
    ///   - count: the largest number of exchanges in progress for each scope; at least 1.
    ///   - scope: the requests that share a limit. Default: the requests of each origin.
    public func concurrencyLimit(_ count: Int, per scope: RequestScope = .origin) -> HTTPStack {
        concurrencyLimit(.fixed(count), per: scope)
    }

    /// Limits the number of exchanges in progress, by a fixed or an adaptive limit. See ``ConcurrencyLimitMiddleware``.
    ///
    /// ```swift
    /// transport.concurrencyLimit(.adaptive(maximum: 50))
    /// ```
    ///
    /// - Parameters:
    ///   - limit: the number of exchanges that may be in progress at the same time.
    ///   - scope: the requests that share a limit. Default: the requests of each origin.
    ///   - clock: the clock by which an adaptive limit measures response times.
    public func concurrencyLimit(
        _ limit: ConcurrencyLimit, per scope: RequestScope = .origin, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: ConcurrencyLimitMiddleware(limit, per: scope, clock: clock)) }
}
