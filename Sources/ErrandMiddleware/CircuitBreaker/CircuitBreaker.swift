public import ErrandCore
internal import Synchronization

/// The circuits of a stack, one for each origin. Use a breaker to read the state of a circuit, to isolate an origin, or to close its
/// circuit.
///
/// A breaker keeps two groups of origins, of at most 1,000 origins each. The first group has the origins whose circuit is not closed, or
/// whose window contains a failed or slow call. The second group has all other origins. If one of these groups exceeds its limit, the
/// breaker removes the group's least recently used origin. The counts of a removed origin restart from zero. An origin that the app has
/// isolated is never removed. If `server` is an inner layer, a request without a host has no origin when it reaches the breaker. Requests
/// without an origin share one circuit, and the breaker does not report the changes of this circuit.
public final class CircuitBreaker: Sendable, CustomStringConvertible {
    /// The state of a circuit.
    public enum State: Sendable, Hashable {
        /// Requests are allowed.
        case closed
        /// The circuit is open. Until the remaining duration has passed, requests fail immediately.
        case open(for: Duration)
        /// The circuit is half-open. A limited number of probe requests is allowed.
        case halfOpen
        /// The app has isolated the origin. The circuit stays isolated until the app closes it.
        case isolated

        fileprivate var inWords: String {
            switch self {
            case .closed: "closed"
            case .open(let rest): "open for another \(rest.inWords)"
            case .halfOpen: "half-open"
            case .isolated: "isolated"
            }
        }
    }

    /// The largest number of origins in each of the two groups of ``CircuitBreaker``.
    private static let originLimit = 1_000

    /// The rules for opening and closing a circuit.
    public let policy: CircuitBreakerPolicy
    private let elapsed: @Sendable () -> Duration
    private let onChange: @Sendable (Origin, State) -> Void
    private let machines = Mutex(
        TieredTable<Origin?, CircuitBreakerMachine>(
            limit: originLimit, isImportant: \.isTroubled, isPinned: { $0.state == .isolated }))
    private let changes = Mutex(Changes())

    /// The changes to report, in the order in which they happened.
    private struct Changes: Sendable {
        var unreported: [(origin: Origin, state: State)] = []
        /// Whether a thread is calling `onChange`. While a thread is calling the closure, other threads only append their
        /// changes.
        var isReporting = false
    }

    /// Creates a breaker whose circuits are all closed.
    ///
    /// - Parameters:
    ///   - policy: the rules for opening and closing a circuit. Default: ``CircuitBreakerPolicy/standard``.
    ///   - clock: the clock that measures the policy's durations.
    ///   - onChange: a closure that is called with the new state when the circuit of an origin changes. The breaker reports one change at a
    ///     time, in the order of the changes, and holds no lock during the call. The closure must return quickly.
    public init(
        _ policy: CircuitBreakerPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        onChange: @escaping @Sendable (_ origin: Origin, _ state: State) -> Void = { _, _ in }
    ) {
        (self.policy, self.onChange) = (policy, onChange)
        elapsed = makeStopwatch(on: clock)
    }

    /// Returns the state of an origin's circuit: `.closed` for an unknown origin.
    public func state(of origin: Origin) -> State {
        let now = elapsed()
        return machines.withLock { Self.shown($0[origin]?.state ?? .closed, at: now) }
    }

    /// Refuses all requests to an origin, until ``close(_:)`` is called.
    ///
    /// ```swift
    /// breaker.isolate(try Origin("https://a.example"))
    /// ```
    public func isolate(_ origin: Origin) { change(origin) { machine, _ in machine.isolate() } }

    /// Allows requests to an origin again, and resets the counts of the origin's circuit.
    public func close(_ origin: Origin) { change(origin) { machine, _ in machine.close() } }

    /// At most five circuits that are not closed, and the number of closed circuits:
    /// `circuit breaker, https://a.example: open for another 4.2 s, closed: 12`.
    public var description: String {
        let now = elapsed()
        let (count, troubled) = machines.withLock { machines in
            (machines.count, machines.importantEntries.map { (origin: $0.key, state: Self.shown($0.value.state, at: now)) })
        }
        let changed = troubled.filter { $0.state != .closed }
            .map { "\($0.origin?.description ?? "requests without an origin"): \($0.state.inWords)" }.sorted()
        var parts = ["circuit breaker"]
        parts += changed.prefix(5)
        if changed.count > 5 { parts.append("\(changed.count - 5) more circuits that are not closed") }
        parts.append("closed: \(count - changed.count)")
        return parts.joined(separator: ", ")
    }

    /// The number of origins that are kept.
    package var originCount: Int { machines.withLock(\.count) }

    var now: Duration { elapsed() }

    func enter(_ origin: Origin?, _ request: Request) throws -> (generation: Int, began: Duration) {
        switch change(origin, { machine, now in machine.enter(at: now) }) {
        case .go(let generation): return (generation, elapsed())
        case .refused(let rest): throw CircuitBreakerError(request: request, retryAfter: rest)
        }
    }

    func leave(_ origin: Origin?, _ generation: Int, _ outcome: CircuitBreakerMachine.Outcome) {
        change(origin) { machine, now in machine.leave(generation, outcome, at: now) }
    }

    @discardableResult
    private func change<Result: Sendable>(_ origin: Origin?, _ body: (inout CircuitBreakerMachine, Duration) -> Result) -> Result {
        let now = elapsed()
        let (result, hasChanged) = machines.withLock { machines in
            machines.update(origin, default: CircuitBreakerMachine(policy)) { machine -> (Result, Bool) in
                let generation = machine.generation
                let result = body(&machine, now)
                guard machine.generation != generation, let origin else { return (result, false) }
                // The change is added under the lock, so that changes are reported in order.
                let state = Self.shown(machine.state, at: now)
                changes.withLock { $0.unreported.append((origin, state)) }
                return (result, true)
            }
        }
        if hasChanged { reportChanges() }
        return result
    }

    private func reportChanges() {
        guard
            changes.withLock({ changes in
                defer { changes.isReporting = true }
                return !changes.isReporting
            })
        else { return }
        while true {
            let unreported = changes.withLock { changes in
                defer { changes.unreported = [] }
                if changes.unreported.isEmpty { changes.isReporting = false }
                return changes.unreported
            }
            guard !unreported.isEmpty else { return }
            for (origin, state) in unreported { onChange(origin, state) }
        }
    }

    private static func shown(_ state: CircuitBreakerMachine.State, at now: Duration) -> State {
        switch state {
        case .closed: .closed
        case .open(let until): now < until ? .open(for: until - now) : .halfOpen
        case .halfOpen: .halfOpen
        case .isolated: .isolated
        }
    }
}

/// The error of a request that was refused by the circuit of its origin. The circuit is open or isolated, or it is half-open and allows no
/// further probe. The request was not sent.
public struct CircuitBreakerError: TemporaryRefusal, NumberedFailure {
    /// The refused request.
    public var request: Request?
    /// The duration after which a request may be sent; `nil` if this duration is unknown.
    public let retryAfter: Duration?
    /// The earlier attempts of the call; empty if the stack has no `retry`.
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    init(request: Request, retryAfter: Duration?) { (self.request, self.retryAfter) = (request, retryAfter) }

    public var description: String {
        "\(shownRequest)refused: "
            + (retryAfter.map { "the circuit stays open for another \($0.inWords)" } ?? "the circuit is open")
            + " (not sent)" + shownAttempts
    }

    public var failureNumber: FailureNumber { .circuitBreaker }
    public var failureReason: String? {
        (retryAfter.map { "the circuit stays open for another \($0.inWords)" } ?? "the circuit is open").asSentence
    }
    public var recoverySuggestion: String? { tryAgain(in: retryAfter) }
}
