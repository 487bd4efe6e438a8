public import ErrandCore
internal import Synchronization

/// Refuses at once what would likely fail: an origin that fails too often is left alone for a while, and then asked carefully.
///
/// **Place:** inside `retry`, so that it sees each attempt, outside the limits: what it refuses takes no slot. A refusal is a
/// ``CircuitOpenError``, which never left and is not retried.
///
/// A failure is no answer, or one of the statuses 429, 500, 502, 503 and 504. A caller who leaves says nothing about the server, and a request
/// that can't be sent as it is, or gets no turn in time, doesn't either.
///
/// **Per request:** `request.options.circuitBreaker = .off` goes past it, and does not count.
public struct CircuitBreakerMiddleware: HTTPMiddleware {
    private static let failing: Set<Int> = [429, 500, 502, 503, 504]
    private let breaker: CircuitBreaker

    public init(_ breaker: CircuitBreaker) { self.breaker = breaker }

    public var place: MiddlewarePlace? { .circuitBreaker }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.retry, because: "the breaker would count a call once, not its attempts"),
            .inside(.coalesce, because: "the breaker would count a shared exchange once for each call"),
            .inside(.hedge, because: "the breaker would not see the attempts"),
            .outside(.rateLimit, because: "a request that the breaker refuses would use up the limit"),
            .outside(.concurrencyLimit, because: "a request that the breaker refuses would wait for a slot"),
        ]
    }

    public var label: String { "circuitBreaker(\(breaker.policy))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.circuitBreaker.isOff else { return try await next.send(request) }
        let origin = request.origin
        let (generation, began) = try breaker.enter(origin, request)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            breaker.leave(origin, generation, Self.outcome(of: error, after: breaker.now - began))
            throw error
        }
        breaker.leave(
            origin, generation,
            Self.failing.contains(response.head.status.code)
                ? .failed(retryAfter: response.head.headerFields.retryAfter) : .succeeded(after: breaker.now - began))
        return response
    }

    private static func outcome(of error: any Error, after elapsed: Duration) -> CircuitMachine.Outcome {
        if Task.isCancelled { return .cancelled }
        // A turn that did not come in time, under a limit inside, says nothing about the server either.
        guard let error = error as? TransportError, error.code != .timedOut || error.phase != .queue else { return .cancelled }
        switch error.code {
        case .cannotFindHost, .cannotConnect, .connectionLost, .timedOut, .tls, .invalidResponse: return .failed(retryAfter: nil)
        default: return .cancelled  // the request's own fault
        }
    }
}

/// The circuits of the origins that a stack talks to: to be looked at, and to be set by hand.
///
/// It keeps at most 1,000 origins without a failure in the window, and 1,000 others; beyond that, the least recently used of its kind is forgotten,
/// and counts anew. An origin that is isolated by hand is never forgotten. Requests that have no origin yet, as `server` stands further in, share a
/// circuit, whose changes are not reported.
public final class CircuitBreaker: Sendable {
    /// How a circuit is now.
    public enum State: Sendable, Hashable {
        /// Requests go.
        case closed
        /// Requests are refused, for so long yet.
        case open(for: Duration)
        /// A few requests go, to see.
        case halfOpen
        /// Opened by hand.
        case isolated
    }

    /// Beyond 1,000 origins without a failure, and 1,000 with one, the least recently used of its kind is forgotten.
    private static let originLimit = 1_000

    public let policy: CircuitPolicy
    private let elapsed: @Sendable () -> Duration
    private let onChange: @Sendable (Origin, State) -> Void
    private let machines = Mutex(
        TieredTable<Origin?, CircuitMachine>(
            limit: originLimit, isImportant: \.isTroubled, isPinned: { $0.state == .isolated }))
    private let changes = Mutex(Changes())

    /// What has to be told, in the order in which it happened.
    private struct Changes: Sendable {
        var untold: [(origin: Origin, state: State)] = []
        /// Whether a thread is calling `onChange`; others only append.
        var isTelling = false
    }

    /// - Parameters:
    ///   - clock: what windows and breaks are measured by.
    ///   - onChange: called for each origin whose circuit changes, with its new state: one call after the other, in the order of the changes, and
    ///     not under a lock. It must return quickly.
    public init(
        _ policy: CircuitPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        onChange: @escaping @Sendable (_ origin: Origin, _ state: State) -> Void = { _, _ in }
    ) {
        (self.policy, self.onChange) = (policy, onChange)
        elapsed = stopwatch(clock)
    }

    /// The circuit of an origin.
    public func state(of origin: Origin) -> State {
        let now = elapsed()
        return machines.withLock { Self.shown($0[origin]?.state ?? .closed, at: now) }
    }

    /// Refuses all requests to an origin, until ``close(_:)``.
    ///
    /// ```swift
    /// breaker.isolate(try Origin("https://a.example"))
    /// ```
    public func isolate(_ origin: Origin) { change(origin) { machine, _ in machine.isolate() } }

    /// Lets requests go again, and forgets what was counted.
    public func close(_ origin: Origin) { change(origin) { machine, _ in machine.close() } }

    /// How many origins are kept now.
    package var originCount: Int { machines.withLock(\.count) }

    var now: Duration { elapsed() }

    func enter(_ origin: Origin?, _ request: Request) throws -> (generation: Int, began: Duration) {
        switch change(origin, { machine, now in machine.enter(at: now) }) {
        case .go(let generation): return (generation, elapsed())
        case .refused(let rest): throw CircuitOpenError(request: request, retryAfter: rest)
        }
    }

    func leave(_ origin: Origin?, _ generation: Int, _ outcome: CircuitMachine.Outcome) {
        change(origin) { machine, now in machine.leave(generation, outcome, at: now) }
    }

    @discardableResult
    private func change<Result: Sendable>(_ origin: Origin?, _ body: (inout CircuitMachine, Duration) -> Result) -> Result {
        let now = elapsed()
        let (result, hasChanged) = machines.withLock { machines in
            machines.update(origin, default: CircuitMachine(policy)) { machine -> (Result, Bool) in
                let generation = machine.generation
                let result = body(&machine, now)
                guard machine.generation != generation, let origin else { return (result, false) }
                // Under the lock, so that changes come in order.
                let state = Self.shown(machine.state, at: now)
                changes.withLock { $0.untold.append((origin, state)) }
                return (result, true)
            }
        }
        if hasChanged { tellChanges() }
        return result
    }

    private func tellChanges() {
        guard
            changes.withLock({ changes in
                defer { changes.isTelling = true }
                return !changes.isTelling
            })
        else { return }
        while true {
            let untold = changes.withLock { changes in
                defer { changes.untold = [] }
                if changes.untold.isEmpty { changes.isTelling = false }
                return changes.untold
            }
            guard !untold.isEmpty else { return }
            for (origin, state) in untold { onChange(origin, state) }
        }
    }

    private static func shown(_ state: CircuitMachine.State, at now: Duration) -> State {
        switch state {
        case .closed: .closed
        case .open(let until): now < until ? .open(for: until - now) : .halfOpen
        case .halfOpen: .halfOpen
        case .isolated: .isolated
        }
    }
}

/// A request was refused because its origin's circuit is open.
public struct CircuitOpenError: RequestFailure {
    public var request: Request?
    /// Until a request may go; nil where nobody knows.
    public let retryAfter: Duration?
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, retryAfter: Duration?) { (self.request, self.retryAfter) = (request, retryAfter) }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")refused: "
            + (retryAfter.map { "the circuit stays open for another \($0.formattedSeconds)" } ?? "the circuit is open")
            + " (not sent)" + shownAttempts
    }
}

extension CircuitOpenError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

private enum CircuitBreakerKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` goes past the circuit breaker.
    public var circuitBreaker: OptionOverride<Never> {
        get { self[CircuitBreakerKey.self] }
        set { self[CircuitBreakerKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Refuses what would likely fail. See ``CircuitBreakerMiddleware``; keep a ``CircuitBreaker`` to look at it.
    public func circuitBreaker(_ breaker: CircuitBreaker = CircuitBreaker()) -> HTTPStack {
        wrapped(by: CircuitBreakerMiddleware(breaker))
    }
}
