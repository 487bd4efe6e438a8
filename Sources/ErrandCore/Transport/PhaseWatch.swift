internal import Synchronization

/// Tracks the phase of an exchange, and since when it lasts, from the transport's events and from its reads of the body.
final class PhaseWatch: EventSink {
    private struct State {
        var phase = ExchangePhase.queue
        var limit: Duration?
        var since: Duration
        /// Counts the changes of the phase, and everything else that restarts its time.
        var generation = 0
        var waiter: (ticket: Ticket, continuation: CheckedContinuation<Void, any Error>)?
    }

    private let limits: PhaseTimeouts
    private let sink: (any EventSink)?
    private let elapsed: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - reportsPhases: whether the transport reports when the request's head and its end were sent.
    ///   - sink: another sink, which gets the same events.
    init(_ limits: PhaseTimeouts, reportsPhases: Bool, sink: (any EventSink)?) {
        let limits = limits.bounded
        self.limits = limits
        self.sink = sink
        elapsed = stopwatch(limits.clock)
        var state = State(since: .zero)
        if reportsPhases {
            state.phase = limits.connect == nil ? .queue : .connect
            state.limit = Self.sum(limits.queue, limits.connect)
        } else {
            (state.phase, state.limit) = (.response, limits.firstByte)
        }
        self.state = Mutex(state)
    }

    private static func sum(_ first: Duration?, _ second: Duration?) -> Duration? {
        guard let first else { return second }
        return first + (second ?? .zero)
    }

    // MARK: What happens

    func record(_ event: ExchangeEvent) {
        switch event.kind {
        case .requestHeadSent:
            move(to: .send, limit: limits.idleWrite)
        case .requestBytesSent:
            // A part of a large chunk: bytes in memory are one chunk.
            if isHeld { move(to: .send, limit: limits.idleWrite) }
        case .requestSent:
            move(to: .response, limit: limits.firstByte)
        default: break
        }
        sink?.record(event)
    }

    /// The transport has a chunk of the body, and has not asked for the next one.
    func bodyIsHeld() { if isSending { move(to: .send, limit: limits.idleWrite) } }

    /// The transport asks the body for its next chunk: the time that the body takes does not count.
    func bodyIsAsked() { if isSending { move(to: .send, limit: nil) } }

    private var isSending: Bool { state.withLock { $0.phase == .send } }
    private var isHeld: Bool { state.withLock { $0.phase == .send && $0.limit != nil } }

    private func move(to phase: ExchangePhase, limit: Duration?) {
        let now = elapsed()
        let waiter = state.withLock { state in
            (state.phase, state.limit, state.since) = (phase, limit, now)
            state.generation += 1
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.continuation.resume()
    }

    // MARK: Waiting

    /// Returns the failure when a phase has taken too long. It never states that nothing was sent: while connecting, the request may be
    /// sent at the same moment, before the transport reports it.
    ///
    /// - Throws: `CancellationError`.
    func expiry(of request: Request) async throws -> TransportError {
        while true {
            let (generation, rest) = state.withLock { state in (state.generation, state.limit.map { $0 + state.since - elapsed() }) }
            if let rest, rest <= .zero {
                let phase = state.withLock(\.phase)
                return .timedOut(phase, after: elapsed(), limits.message(in: phase), request: request, delivery: .unknown)
            }
            let clock = limits.clock
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let rest { group.addTask { try await clock.sleep(for: rest) } }
                group.addTask { try await self.change(after: generation) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func change(after generation: Int) async throws {
        try await parked { ticket, continuation in
            state.withLock { state -> Result<Void, any Error>? in
                if Task.isCancelled { return .failure(CancellationError()) }
                guard state.generation == generation else { return .success(()) }
                state.waiter = (ticket, continuation)
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.waiter?.ticket == ticket ? $0.waiter.take()?.continuation : nil }
        }
    }
}

extension PhaseTimeouts {
    /// Which of the limits passed in `phase`, and its value.
    fileprivate func message(in phase: ExchangePhase) -> String {
        let named: [(String, Duration?)] =
            switch phase {
            case .send: [("idleWrite", idleWrite)]
            case .response: [("firstByte", firstByte)]
            default: [("queue", queue), ("connect", connect)]
            }
        return setter.message(named.compactMap { name, limit in limit.map { (name, $0) } })
    }

    /// That a limit passed: `the limit idleRead is 200 ms, set by .phaseTimeouts`.
    package func message(_ name: String, _ limit: Duration) -> String { setter.message([(name, limit)]) }
}

/// A request's body that reports to a watch when it is read and when a chunk is being sent.
struct WatchedBodySource: BodySource {
    let base: any BodySource
    let watch: PhaseWatch

    func next() async throws -> Data? {
        watch.bodyIsAsked()
        let chunk = try await base.next()
        watch.bodyIsHeld()
        return chunk
    }

    func abandon() { base.abandon() }
    func fail(with error: any Error) { base.fail(with: error) }
    var trailers: HTTPFields? { base.trailers }
}
