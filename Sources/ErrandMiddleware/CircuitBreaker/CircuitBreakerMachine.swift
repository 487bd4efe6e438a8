internal import ErrandCore

/// A pure state machine that decides when a circuit opens and closes. The events are the beginnings and ends of calls.
///
/// A closed circuit counts calls within a window. The circuit opens when the window has at least ``CircuitBreakerPolicy/minimumCalls``
/// calls, and the share of failed or slow calls reaches its limit. The circuit also opens when ``CircuitBreakerPolicy/consecutiveFailures``
/// calls in succession have failed within the window. An open circuit refuses calls for ``CircuitBreakerPolicy/breakTime``. If the server
/// asked for a longer wait, the circuit refuses calls for that wait, up to ``CircuitBreakerPolicy/maxBreakTime``. A half-open circuit
/// allows ``CircuitBreakerPolicy/probeCount`` probes. The circuit closes when this number of probes has succeeded, and opens again when a
/// probe fails or is slow. If a probe has no outcome after ``CircuitBreakerPolicy/breakTime``, one more probe is allowed, so that the
/// circuit is not blocked.
package struct CircuitBreakerMachine: Sendable {
    package enum State: Sendable, Hashable {
        case closed
        case open(until: Duration)
        case halfOpen(inFlight: Int, succeeded: Int)
        /// The app has opened the circuit. The circuit stays open until the app closes it.
        case isolated
    }

    private struct Slot: Sendable {
        var number: Int
        var calls = 0
        var failed = 0
        /// The number of failed calls after the last call that succeeded.
        var failedInSuccession = 0
        var slow = 0
        /// The latest end of a wait that the server has asked for; `nil` if the server has asked for no wait.
        var pausedUntil: Duration?
    }

    /// The number of equal parts of the window.
    private static let slotCount = 10

    let policy: CircuitBreakerPolicy
    package private(set) var state = State.closed
    /// The number of state changes. If the state changes during a call, the call is not counted.
    private(set) var generation = 0
    private var slots: [Slot] = []
    /// The instant at which the last probe began.
    private var lastProbe = Duration.zero

    /// Whether the circuit is not closed, or the window contains a failed or slow call.
    var isTroubled: Bool { state != .closed || slots.contains { $0.failed > 0 || $0.slow > 0 } }

    package init(_ policy: CircuitBreakerPolicy) { self.policy = policy }

    package enum Entry: Sendable, Hashable {
        case go(generation: Int)
        /// The call is refused for this remaining duration; `nil`: the duration is unknown.
        case refused(for: Duration?)
    }

    /// Decides whether a call may begin at the instant `now`. An instant is a duration since an arbitrary fixed instant.
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
            // If there is no inner timeout, a probe may never end. A probe that never ends must not keep the circuit half-open.
            guard inFlight + succeeded < policy.probeCount || now - lastProbe >= policy.breakTime else { return .refused(for: nil) }
            lastProbe = now
            state = .halfOpen(inFlight: inFlight + 1, succeeded: succeeded)
            return .go(generation: generation)
        }
    }

    package enum Outcome: Sendable, Hashable {
        case succeeded(after: Duration)
        /// The call failed. `retryAfter` is the wait that the server asked for. If the server asked for no wait, `retryAfter`
        /// is `nil`.
        case failed(retryAfter: Duration?)
        /// The caller cancelled the call. A cancelled call says nothing about the server.
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
                if succeeded + 1 >= policy.probeCount {
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

    private func isSlow(_ elapsed: Duration) -> Bool { policy.slowCallThreshold.map { elapsed >= $0 } ?? false }

    private mutating func count(_ outcome: Outcome, at now: Duration) {
        guard outcome != .cancelled else { return }
        let number = Int(min(now / max(policy.window / Self.slotCount, .nanoseconds(1)), 1e15))
        slots.removeAll { $0.number <= number - Self.slotCount }
        if slots.last?.number != number { slots.append(Slot(number: number)) }
        slots[slots.count - 1].calls += 1
        switch outcome {
        case .failed(let wait):
            slots[slots.count - 1].failed += 1
            slots[slots.count - 1].failedInSuccession += 1
            if let wait {
                slots[slots.count - 1].pausedUntil = max(slots[slots.count - 1].pausedUntil ?? .zero, now + wait.bounded)
            }
        case .succeeded(let elapsed):
            if isSlow(elapsed) { slots[slots.count - 1].slow += 1 }
            for index in slots.indices { slots[index].failedInSuccession = 0 }
        case .cancelled: break
        }
        if hasTooManyFailures { open(at: now, for: slots.compactMap(\.pausedUntil).max().map { $0 - now }) }
    }

    /// Whether the counts of the window open the circuit.
    private var hasTooManyFailures: Bool {
        if let limit = policy.consecutiveFailures, slots.reduce(0, { $0 + $1.failedInSuccession }) >= limit { return true }
        let calls = slots.reduce(0) { $0 + $1.calls }
        guard calls >= policy.minimumCalls else { return false }
        let failed = Double(slots.reduce(0) { $0 + $1.failed }) / Double(calls)
        let slow = Double(slots.reduce(0) { $0 + $1.slow }) / Double(calls)
        return failed >= policy.failureRatio || (policy.slowCallThreshold != nil && slow >= policy.slowCallRatio)
    }

    private mutating func open(at now: Duration, for retryAfter: Duration?) {
        move(to: .open(until: now + min(policy.maxBreakTime, max(policy.breakTime, retryAfter ?? .zero)).bounded))
    }

    private mutating func move(to state: State) {
        self.state = state
        generation += 1
        slots = []
    }
}
