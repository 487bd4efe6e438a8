public import ErrandCore

/// Limits how many exchanges are in progress. Other requests queue by ``RequestPriority``, then first in, first out; every tenth slot goes to the
/// request that has queued longest, so that none queues for ever.
///
/// **Place:** inside `retry` (a slot is not held during a backoff), the cache and `coalesce`; just around the transport. With N slots, at most
/// N exchanges are on the wire. A slot is freed when the exchange ends there, whether or not its body has been read: a response of at most
/// 64 KiB needs nobody to read it.
///
/// Who waits can be cancelled at any time, and obeys its deadline: it fails with the code `timedOut`, in the phase `queue`.
///
/// **Per request:** `request.options.concurrencyLimit = .off` goes past the line; `request.options.priority` moves it forward.
public struct ConcurrencyLimitMiddleware: HTTPMiddleware {
    private let limiter: ConcurrencyLimiter
    private let scope: RequestScope
    private let clock: any Clock<Duration>

    /// - Parameter clock: what an adaptive limit measures answers by.
    public init(_ limit: ConcurrencyLimit, per scope: RequestScope = .origin, clock: any Clock<Duration> = ContinuousClock()) {
        (limiter, self.scope, self.clock) = (ConcurrencyLimiter(limit), scope, clock)
    }

    public var place: MiddlewarePlace? { .concurrencyLimit }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the limiter would not know the origin"),
            .inside(.retry, because: "a slot would be held during the backoff"),
            .inside(.hedge, because: "two attempts would share one slot"),
            .inside(.rateLimit, because: "a slot would be held while its request waits for the limit"),
        ]
    }

    public var label: String { "concurrencyLimit(\(limiter.limit) per \(scope))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.concurrencyLimit.isOff, let key = scope.key(request) else { return try await next.send(request) }
        try await limiter.acquire(key, for: request)
        let elapsed = stopwatch(clock)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            limiter.release(key, Self.outcome(of: error))
            throw error
        }
        let isRefused = [429, 503].contains(response.head.status.code)
        let outcome = isRefused ? ConcurrencyLimit.Outcome.dropped : .answered(after: elapsed())
        response.exchange.onEnd { [limiter] _ in limiter.release(key, outcome) }
        return response
    }

    /// What a failure says of the server's load: nothing, if no server got the request.
    private static func outcome(of error: any Error) -> ConcurrencyLimit.Outcome {
        switch error {
        case _ where Task.isCancelled: .cancelled
        case let error as StatusError: [429, 503].contains(error.status.code) ? .dropped : .cancelled
        case let error as TransportError where error.delivery != .notSent:
            switch error.code {
            case .cannotFindHost, .cannotConnect, .connectionLost, .timedOut, .tls, .invalidResponse: .dropped
            default: .cancelled  // the request's own fault
            }
        default: .cancelled
        }
    }

    /// What goes on behind a key.
    public struct State: Sendable, Hashable {
        /// Exchanges.
        public let inFlight: Int
        public let waiting: Int
        /// As it is now, at most 10^15.
        public let limit: Int

        package init(inFlight: Int, waiting: Int, limit: Int) { (self.inFlight, self.waiting, self.limit) = (inFlight, waiting, limit) }
    }

    /// What goes on under the limit of an origin, for the scope ``ErrandCore/RequestScope/origin``. For a gauge.
    public func state(of origin: Origin) -> State { limiter.state(of: .origin(origin)) }

    /// What goes on under the limit of a key of the scope's closure. For a gauge.
    public func state(ofKey key: String) -> State { limiter.state(of: .named(key)) }

    /// What goes on under the one limit of the scope ``ErrandCore/RequestScope/all``. For a gauge.
    public var state: State { limiter.state(of: .all) }

    /// How many keys are remembered now.
    package var keyCount: Int { limiter.keyCount }
}

private enum ConcurrencyLimitKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` goes past every line.
    public var concurrencyLimit: OptionOverride<Never> {
        get { self[ConcurrencyLimitKey.self] }
        set { self[ConcurrencyLimitKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Lets at most `count` exchanges be under way at once. See ``ConcurrencyLimitMiddleware``.
    public func concurrencyLimit(_ count: Int, per scope: RequestScope = .origin) -> HTTPStack {
        concurrencyLimit(.fixed(count), per: scope)
    }

    /// Lets as many exchanges be under way at once as the limit has it. See ``ConcurrencyLimitMiddleware``.
    public func concurrencyLimit(
        _ limit: ConcurrencyLimit, per scope: RequestScope = .origin, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: ConcurrencyLimitMiddleware(limit, per: scope, clock: clock)) }
}
