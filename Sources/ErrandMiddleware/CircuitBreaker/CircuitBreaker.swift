internal import ErrandCore

/// When a circuit opens and closes: a pure state machine. It is told of calls, and says whether one may go.
///
/// Closed, it counts within a window. It opens when there were ``CircuitPolicy/minimumCalls`` and the share of those that failed, or were slow,
/// is too large. Open, it refuses for ``CircuitPolicy/breakTime``, or for as long as the server asked. Then a few probes go: all must succeed, or it opens
/// again. A probe without an outcome for ``CircuitPolicy/breakTime`` does not block the circuit: one more may go.
package struct CircuitMachine: Sendable {
    package enum State: Sendable, Hashable {
        case closed
        case open(until: Duration)
        case halfOpen(inFlight: Int, succeeded: Int)
        /// By hand, until it is closed by hand.
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

    /// The window is counted in so many parts.
    private static let slotCount = 10

    let policy: CircuitPolicy
    package private(set) var state = State.closed
    /// Told apart so that what was begun before a change does not count after it.
    private(set) var generation = 0
    private var slots: [Slot] = []
    /// When the last probe went.
    private var lastProbe = Duration.zero

    /// Whether anything is known but calls that succeeded.
    var isTroubled: Bool { state != .closed || slots.contains { $0.failed > 0 || $0.slow > 0 } }

    package init(_ policy: CircuitPolicy) { self.policy = policy }

    package enum Entry: Sendable, Hashable {
        case go(generation: Int)
        /// Refused, and for how long yet; nil where nobody knows.
        case refused(for: Duration?)
    }

    /// Whether a call may go at the instant `now`, counted from any fixed one.
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
            // Probes that hang, without a timeout inside, must not keep the circuit half-open for as long as they live.
            guard inFlight + succeeded < policy.probes || now - lastProbe >= policy.breakTime else { return .refused(for: nil) }
            lastProbe = now
            state = .halfOpen(inFlight: inFlight + 1, succeeded: succeeded)
            return .go(generation: generation)
        }
    }

    package enum Outcome: Sendable, Hashable {
        case succeeded(after: Duration)
        /// And how long the server asked to be left alone.
        case failed(retryAfter: Duration?)
        /// By the caller: it says nothing about the server.
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

/// The numbers of a circuit breaker.
public struct CircuitPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The share of calls that fail at which it opens: 0.5 by default.
    public var failureRatio: Double
    /// Fewer calls than these within the window say nothing: 20 by default.
    public var minimumCalls: Int
    /// 30 s by default.
    public var window: Duration
    /// How long it refuses: 5 s by default. A longer `Retry-After` of any failure within the window counts instead. Half-open, it lets one more
    /// probe go where the last one has had no outcome for so long.
    public var breakTime: Duration
    /// The longest `Retry-After` that is believed: 60 s by default.
    public var longestBreak: Duration
    /// How many calls must succeed, one after the other or together, before it closes: 3 by default.
    public var probes: Int
    /// From this on a call is slow: nil (the default) knows no slow ones.
    public var slowCall: Duration?
    /// The share of slow calls at which it opens: 0.5 by default.
    public var slowRatio: Double

    public init(
        failureRatio: Double = 0.5, minimumCalls: Int = 20, window: Duration = .seconds(30), breakTime: Duration = .seconds(5),
        longestBreak: Duration = .seconds(60), probes: Int = 3, slowCall: Duration? = nil, slowRatio: Double = 0.5
    ) {
        precondition((0...1).contains(failureRatio), "failureRatio must be from 0 to 1 (is \(failureRatio))")
        precondition(minimumCalls >= 1, "minimumCalls must be at least 1 (is \(minimumCalls))")
        precondition(window > .zero, "window must be more than zero (is \(window))")
        precondition(breakTime > .zero, "breakTime must be more than zero (is \(breakTime))")
        precondition(longestBreak >= breakTime, "longestBreak must be at least breakTime, which is \(breakTime) (is \(longestBreak))")
        precondition(probes >= 1, "probes must be at least 1 (is \(probes))")
        precondition((0...1).contains(slowRatio), "slowRatio must be from 0 to 1 (is \(slowRatio))")
        (self.failureRatio, self.minimumCalls, self.window, self.breakTime) = (failureRatio, minimumCalls, window, breakTime)
        (self.longestBreak, self.probes, self.slowCall, self.slowRatio) = (longestBreak, probes, slowCall, slowRatio)
    }

    /// Half of at least 20 calls in 30 s failed: five seconds of rest, then three probes.
    public static let standard = CircuitPolicy()

    public var description: String { "\(failureRatio) of \(minimumCalls) in \(window), \(breakTime)" }
}
