internal import ErrandCore

/// Decides when a circuit opens and closes: a pure state machine. It is notified when calls begin and end.
///
/// Closed, it counts calls within a window. It opens when there were at least ``CircuitPolicy/minimumCalls`` calls, and the share of failed
/// or slow ones reaches its limit. Open, it refuses calls for ``CircuitPolicy/breakTime``, or for as long as the server asked. Half-open,
/// it allows ``CircuitPolicy/probes`` probes: it closes when all of them succeed, and opens again when one fails. A probe without an
/// outcome for ``CircuitPolicy/breakTime`` does not block the circuit: one more probe is allowed.
package struct CircuitMachine: Sendable {
    package enum State: Sendable, Hashable {
        case closed
        case open(until: Duration)
        case halfOpen(inFlight: Int, succeeded: Int)
        /// Opened by hand, until it is closed by hand.
        case isolated
    }

    private struct Slot: Sendable {
        var number: Int
        var calls = 0
        var failed = 0
        var slow = 0
        /// The latest instant until which a failed call was asked to wait.
        var pausedUntil: Duration?
    }

    /// The number of parts that the window is divided into.
    private static let slotCount = 10

    let policy: CircuitPolicy
    package private(set) var state = State.closed
    /// The number of state changes. A call that began before a change does not count after it.
    private(set) var generation = 0
    private var slots: [Slot] = []
    /// When the last probe began.
    private var lastProbe = Duration.zero

    /// Whether anything but successful calls is known.
    var isTroubled: Bool { state != .closed || slots.contains { $0.failed > 0 || $0.slow > 0 } }

    package init(_ policy: CircuitPolicy) { self.policy = policy }

    package enum Entry: Sendable, Hashable {
        case go(generation: Int)
        /// Refused, and the remaining duration; `nil` if it is unknown.
        case refused(for: Duration?)
    }

    /// Whether a call may begin at the instant `now`, which is counted from any fixed instant.
    package mutating func enter(at now: Duration) -> Entry {
        switch state {
        case .closed: return .go(generation: generation)
        case .isolated: return .refused(for: nil)
        case .open(let until):
            guard now >= until else { return .refused(for: until - now) }
            move(to: .halfOpen(inFlight: 1, succeeded: 0))
            lastProbe = now
            return .go(generation: generation)
        case .halfOpen(let inFlight, let succeeded):
            // Probes that hang, without a timeout inside, must not keep the circuit half-open.
            guard inFlight + succeeded < policy.probes || now - lastProbe >= policy.breakTime else { return .refused(for: nil) }
            lastProbe = now
            state = .halfOpen(inFlight: inFlight + 1, succeeded: succeeded)
            return .go(generation: generation)
        }
    }

    package enum Outcome: Sendable, Hashable {
        case succeeded(after: Duration)
        /// With the duration that the server asked to wait, if any.
        case failed(retryAfter: Duration?)
        /// Cancelled by the caller: it is no evidence about the server.
        case cancelled
    }

    package mutating func leave(_ entered: Int, _ outcome: Outcome, at now: Duration) {
        guard entered == generation else { return }
        switch state {
        case .closed: count(outcome, at: now)
        case .halfOpen(let inFlight, let succeeded):
            switch outcome {
            case .cancelled: state = .halfOpen(inFlight: inFlight - 1, succeeded: succeeded)
            case .failed(let retryAfter): open(at: now, for: retryAfter)
            case .succeeded(let elapsed) where isSlow(elapsed): open(at: now, for: nil)
            case .succeeded:
                if succeeded + 1 >= policy.probes {
                    move(to: .closed)
                } else {
                    state = .halfOpen(inFlight: inFlight - 1, succeeded: succeeded + 1)
                }
            }
        case .open, .isolated: break
        }
    }

    package mutating func isolate() { move(to: .isolated) }
    package mutating func close() { move(to: .closed) }

    private func isSlow(_ elapsed: Duration) -> Bool { policy.slowCall.map { elapsed >= $0 } ?? false }

    private mutating func count(_ outcome: Outcome, at now: Duration) {
        guard outcome != .cancelled else { return }
        let number = Int(min(now / max(policy.window / Self.slotCount, .nanoseconds(1)), 1e15))
        slots.removeAll { $0.number <= number - Self.slotCount }
        if slots.last?.number != number { slots.append(Slot(number: number)) }
        slots[slots.count - 1].calls += 1
        switch outcome {
        case .failed(let wait):
            slots[slots.count - 1].failed += 1
            if let wait {
                slots[slots.count - 1].pausedUntil = max(slots[slots.count - 1].pausedUntil ?? .zero, now + wait.bounded)
            }
        case .succeeded(let elapsed) where isSlow(elapsed): slots[slots.count - 1].slow += 1
        case .succeeded, .cancelled: break
        }
        let calls = slots.reduce(0) { $0 + $1.calls }
        guard calls >= policy.minimumCalls else { return }
        let failed = Double(slots.reduce(0) { $0 + $1.failed }) / Double(calls)
        let slow = Double(slots.reduce(0) { $0 + $1.slow }) / Double(calls)
        if failed >= policy.failureRatio || (policy.slowCall != nil && slow >= policy.slowRatio) {
            open(at: now, for: slots.compactMap(\.pausedUntil).max().map { $0 - now })
        }
    }

    private mutating func open(at now: Duration, for retryAfter: Duration?) {
        move(to: .open(until: now + min(policy.longestBreak, max(policy.breakTime, retryAfter ?? .zero)).bounded))
    }

    private mutating func move(to state: State) {
        self.state = state
        generation += 1
        slots = []
    }
}

/// When a circuit breaker opens, how long it stays open, and when it closes.
///
/// ```swift
/// let policy = CircuitPolicy(failureRatio: 0.3, minimumCalls: 50, breakTime: .seconds(10))
/// let stack = transport.circuitBreaker(CircuitBreaker(policy))
/// ```
public struct CircuitPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The share of failed calls at which the circuit opens: from 0 to 1, 0.5 by default.
    public var failureRatio: Double
    /// The number of calls within the window below which the circuit stays closed: at least 1, 20 by default.
    public var minimumCalls: Int
    /// The period in which calls are counted: more than zero, 30 s by default.
    public var window: Duration
    /// How long the circuit stays open: more than zero, 5 s by default. A longer `Retry-After` of a failed call within the window replaces
    /// it. While the circuit is half-open, one more probe is allowed when the last one has had no outcome for this duration.
    public var breakTime: Duration
    /// The longest `Retry-After` that is obeyed: at least ``breakTime``, 60 s by default.
    public var longestBreak: Duration
    /// The number of calls that must succeed, in sequence or concurrently, before a half-open circuit closes: at least 1, 3 by default.
    public var probes: Int
    /// The duration from which a call counts as slow; `nil`, the default: no call counts as slow.
    public var slowCall: Duration?
    /// The share of slow calls at which the circuit opens: from 0 to 1, 0.5 by default.
    public var slowRatio: Double

    /// Creates a policy. For each parameter, see the property of the same name.
    ///
    /// - Precondition: `failureRatio` and `slowRatio` are from 0 to 1, `minimumCalls` and `probes` are at least 1, `window` and `breakTime`
    ///   are more than zero, and `longestBreak` is at least `breakTime`.
    public init(
        failureRatio: Double = 0.5, minimumCalls: Int = 20, window: Duration = .seconds(30), breakTime: Duration = .seconds(5),
        longestBreak: Duration = .seconds(60), probes: Int = 3, slowCall: Duration? = nil, slowRatio: Double = 0.5
    ) {
        precondition((0...1).contains(failureRatio), "failureRatio must be from 0 to 1 (is \(failureRatio))")
        precondition(minimumCalls >= 1, "minimumCalls must be at least 1 (is \(minimumCalls))")
        precondition(window > .zero, "window must be more than zero (is \(window.inWords))")
        precondition(breakTime > .zero, "breakTime must be more than zero (is \(breakTime.inWords))")
        precondition(
            longestBreak >= breakTime, "longestBreak must be at least breakTime, which is \(breakTime.inWords) (is \(longestBreak.inWords))"
        )
        precondition(probes >= 1, "probes must be at least 1 (is \(probes))")
        precondition((0...1).contains(slowRatio), "slowRatio must be from 0 to 1 (is \(slowRatio))")
        (self.failureRatio, self.minimumCalls, self.window, self.breakTime) = (failureRatio, minimumCalls, window, breakTime)
        (self.longestBreak, self.probes, self.slowCall, self.slowRatio) = (longestBreak, probes, slowCall, slowRatio)
    }

    /// Opens for 5 s when half of at least 20 calls within 30 s fail, and closes after three successful probes.
    public static let standard = CircuitPolicy()

    /// When the circuit opens, and for how long: `opens at 50 % of 20 in 30 s, for 5 s`.
    public var description: String {
        let slow = slowCall.map { " failed or \(slowRatio.inPercent) slower than \($0.inWords)" } ?? ""
        return "opens at \(failureRatio.inPercent)\(slow) of \(minimumCalls) in \(window.inWords), for \(breakTime.inWords)"
    }
}
