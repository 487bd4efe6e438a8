public import ErrandCore
internal import Synchronization

/// Sends a request again when its response is slow, returns the first response, and cancels the other attempts.
///
/// ```swift
/// let budget = RetryBudget()
/// let stack = transport.concurrencyLimit(6).hedge(budget: budget).retry(budget: budget)
/// let response = try await stack.send(request)
/// response.metadata.hedge?.winner  // 2: the second attempt was faster
/// ```
///
/// Hedging helps if slowness is random: one of many servers stalls, or a packet is lost. A request is hedged if its method is safe, its
/// body can be sent again, and it asks for no protocol upgrade. Other requests are passed on without hedging. Each attempt after the first
/// attempt takes a token of a ``RetryBudget``. If the budget is empty, no request is hedged. Without a budget, hedging would double the
/// load of a slow, overloaded server.
///
/// If an attempt fails while another attempt is in progress, the other attempt decides the result. If no other attempt is in progress, the
/// failure is the result, and `retry` handles the failure. After a failed response with `Retry-After`, no further attempt begins.
///
/// The response is returned only after the cancelled attempts have ended. The transports and middleware of this library end a cancelled
/// attempt immediately. If your own sender ignores cancellation, the response is delayed until that sender ends.
///
/// **Place:** inside `retry`. The layer is also inside `coalesce`, because an inner `coalesce` would merge the attempts. The layer is
/// outside `circuitBreaker` and the limits, so that each attempt takes a slot. Hedging costs about 10 µs for each request.
///
/// **Per request:** set `request.options.hedge` to `.off` or `.use(policy)`.
public struct HedgeMiddleware: HTTPMiddleware {
    private let policy: HedgePolicy
    private let budget: RetryBudget
    private let ownsBudget: Bool
    private let latencies: OriginLatencies
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - policy: the wait before the next attempt, and the number of attempts. Default: ``HedgePolicy/standard``.
    ///   - budget: the budget from which each further attempt takes a token. Pass the budget that the `retry` of the same stack uses:
    ///     `retry` adds tokens to the budget for successful calls. With `nil`, the default, this middleware creates a budget. The new
    ///     budget has a reserve of 5 tokens, and gets one token for every twenty successful calls.
    ///   - clock: the clock that measures delays and response times.
    public init(_ policy: HedgePolicy = .standard, budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock()) {
        self.policy = policy
        self.budget = budget ?? RetryBudget(reserve: 5, perSuccess: 0.05, perSecond: 0, clock: clock)
        ownsBudget = budget == nil
        latencies = OriginLatencies(clock)
        self.clock = clock
    }

    public var place: MiddlewarePlace { .hedge }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.retry, because: "each hedged attempt would make all its own retries"),
            .inside(.coalesce, because: "the two attempts would share one exchange"),
        ]
    }

    public var label: String { "hedge(\(policy))" }

    /// The number of origins whose response times are kept.
    package var originCount: Int { latencies.count }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        // A request with an upgrade is not hedged. If a losing attempt changed the protocol of its connection, no code would close this
        // connection.
        guard let policy = request.options.hedge.resolved(policy), request.method.isSafe, request.body.replay.canRestart,
            request.options.upgrade == nil
        else { return try await next.send(request) }
        let origin = request.origin
        let elapsed = makeStopwatch(on: clock)
        let response: Response
        if let delay = latencies.delay(policy.delay, of: origin) {
            response = try await race(request, after: delay, policy, origin: origin, next)
        } else {
            response = try await next.send(request)
        }
        // A response that refuses the request says nothing about the usual response time.
        guard !policy.statuses.contains(response.head.status) else { return response }
        // The duration of the whole call is added as a response time, even if a later attempt gave the response. If slow calls were left
        // out, the delay would become shorter from call to call.
        latencies.add(elapsed(), policy.delay, of: origin)
        if ownsBudget { budget.deposit(origin) }
        return response
    }

    private enum RaceEnd: Sendable {
        case time
        case attempt(Int, Result<Response, any Error>)
    }

    private func race(
        _ request: Request, after delay: Duration, _ policy: HedgePolicy, origin: Origin?, _ next: some HTTPSender
    ) async throws -> Response {
        try await withThrowingTaskGroup(of: RaceEnd.self) { group in
            var attempt = request
            func begin(_ number: Int) {
                if number > 0 { attempt.countResend(after: nil) }
                group.addTask { [attempt] in .attempt(number, await Result(of: { try await next.send(attempt) })) }
            }
            func wait() {
                group.addTask { [clock] in
                    try? await clock.sleep(for: delay.bounded)
                    return .time
                }
            }
            begin(0)
            wait()
            var race = HedgeRace(maxAttempts: policy.maxAttempts)
            var last: (number: Int, result: Result<Response, any Error>)?
            while let end = try await group.next() {
                if Task.isCancelled {
                    if case .attempt(_, let result) = end { result.discard() }
                    break
                }
                let event: HedgeRace.Event
                switch end {
                case .time:
                    event = .timeUp
                case .attempt(let number, let result):
                    last?.result.discard()
                    last = (number, result)
                    event = Self.event(of: result, policy)
                }
                switch race.next(event) {
                case .wait:
                    continue
                case .begin(let thenTime):
                    guard budget.withdraw(origin) else { continue }
                    begin(race.started)
                    race.begun()
                    if thenTime { wait() }
                    continue
                case .end:
                    break
                }
                break
            }
            group.cancelAll()
            for try await late in group {
                if case .attempt(_, let result) = late { result.discard() }
            }
            guard !Task.isCancelled, let last else {
                last?.result.discard()
                throw CancellationError()
            }
            var response = try last.result.get()
            if race.started > 1 { response.metadata.hedge = HedgeRecord(attempts: race.started, winner: last.number + 1) }
            return response
        }
    }

    private static func event(of result: Result<Response, any Error>, _ policy: HedgePolicy) -> HedgeRace.Event {
        switch result {
        case .failure: .failed(isPushback: false)
        case .success(let response) where policy.statuses.contains(response.head.status):
            .failed(isPushback: response.head.headerFields[.retryAfter] != nil)
        case .success: .responded
        }
    }
}

/// How a hedged call got its response.
public struct HedgeRecord: Sendable, Hashable {
    /// The number of attempts: at least 2.
    public let attempts: Int
    /// The number of the attempt whose response was returned; the first is 1.
    public let winner: Int

    /// Creates a record.
    public init(attempts: Int, winner: Int) { (self.attempts, self.winner) = (attempts, winner) }
}

/// The recent response times of the origins.
private final class OriginLatencies: Sendable {
    /// The largest number of origins. Beyond this number, the least recently used origin is removed. Each origin takes at most 5 KB.
    private static let originLimit = 1_000

    private let elapsed: @Sendable () -> Duration
    private let windows = Mutex(BoundedTable<Origin?, LatencyWindow>(limit: originLimit))

    init(_ clock: any Clock<Duration>) { elapsed = makeStopwatch(on: clock) }

    var count: Int { windows.withLock(\.count) }

    func delay(_ delay: HedgePolicy.Delay, of origin: Origin?) -> Duration? {
        switch delay.kind {
        case .fixed(let delay): return delay
        case .percentile(let share, _, let minimum, let samples):
            let now = elapsed()
            let known = windows.withLock { windows in
                windows.updateIfPresent(origin) { $0.percentile(share, of: samples, at: now) }
            }
            return (known ?? nil).map { max(minimum, $0) }
        }
    }

    func add(_ latency: Duration, _ delay: HedgePolicy.Delay, of origin: Origin?) {
        guard case .percentile(_, let window, _, _) = delay.kind else { return }
        let now = elapsed()
        windows.withLock { windows in
            windows.update(origin, default: LatencyWindow(window: window, at: now)) { $0.add(latency, at: now) }
        }
    }
}

private enum HedgeOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<HedgePolicy> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .hedge }
}

private enum HedgeRecordKey: MetadataKey { static var defaultValue: HedgeRecord? { nil } }

extension RequestOptions {
    /// Replaces the stack's hedging policy for this request. `.off`: no hedging. Default: `.inherited`, the stack's policy.
    public var hedge: OptionOverride<HedgePolicy> {
        get { self[HedgeOptionKey.self] }
        set { self[HedgeOptionKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// How the call was hedged; `nil` if there was no second attempt.
    public var hedge: HedgeRecord? {
        get { self[HedgeRecordKey.self] }
        set { self[HedgeRecordKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends a slow request again, and returns the first response. See ``HedgeMiddleware``.
    ///
    /// ```swift
    /// let budget = RetryBudget()
    /// transport.hedge(budget: budget).retry(budget: budget)
    /// ```
    ///
    /// - Parameters:
    ///   - policy: the wait before the next attempt, and the number of attempts.
    ///   - budget: the budget from which each further attempt takes a token. Pass the budget that the `retry` of the same stack
    ///     uses. With `nil`, the default, this middleware creates a budget.
    ///   - clock: the clock that measures delays and response times.
    public func hedge(
        _ policy: HedgePolicy = .standard, budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack { wrapped(by: HedgeMiddleware(policy, budget: budget, clock: clock)) }
}
