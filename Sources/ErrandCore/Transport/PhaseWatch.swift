internal import Synchronization

/// A record of the current phase of an exchange, and of the start of that phase. The transport's events and the transport's reads of the
/// request's body determine the phase.
final class PhaseWatch: EventSink {
    private struct State {
        var phase = ExchangePhase.queue
        var limit: Duration?
        var since: Duration
        /// The number of times that the timer has started again, for example for a new phase.
        var generation = 0
        var waiter: (ticket: QueueTicket, continuation: CheckedContinuation<Void, any Error>)?
    }

    private let limits: PhaseTimeouts
    private let sink: (any EventSink)?
    private let elapsed: @Sendable () -> Duration
    private let state: Mutex<State>

    /// Creates a record that starts in the first phase.
    ///
    /// - Parameters:
    ///   - reportsPhases: whether the transport reports when the head was sent, and when the whole request was sent.
    ///   - sink: another sink, which receives every event too.
    init(_ limits: PhaseTimeouts, reportsPhases: Bool, sink: (any EventSink)?) {
        let limits = limits.bounded
        self.limits = limits
        self.sink = sink
        elapsed = makeStopwatch(on: limits.clock)
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

    // MARK: Events

    func record(_ event: ExchangeEvent) {
        switch event.kind {
        case .requestHeadSent:
            move(to: .send, limit: limits.idleWrite)
        case .requestBytesSent:
            // A body in memory is one large chunk. The limit starts again each time that a part of the chunk was sent.
            if isHeld { move(to: .send, limit: limits.idleWrite) }
        case .requestSent:
            move(to: .response, limit: limits.firstByte)
        default: break
        }
        sink?.record(event)
    }

    /// Records that the transport holds a chunk of the body, and has not asked for the next chunk.
    func bodyIsHeld() { if isSending { move(to: .send, limit: limits.idleWrite) } }

    /// Records that the transport asks the body for the next chunk. The timer stops while the body produces the chunk.
    func bodyIsAsked() { if isSending { move(to: .send, limit: nil) } }

    private var isSending: Bool { state.withLock { $0.phase == .send } }
    private var isHeld: Bool { state.withLock { $0.phase == .send && $0.limit != nil } }

    private func move(to phase: ExchangePhase, limit: Duration?) {
        let now = elapsed()
        let waiter = state.withLock { state in
            (state.phase, state.limit, state.since) = (phase, limit, now)
            state.generation += 1
            return state.waiter.take()
        }
        waiter?.continuation.resume()
    }

    // MARK: Waiting

    /// Waits until a phase has taken too long, and returns the failure. The `delivery` of the failure is always `unknown`, because the
    /// transport may send the request before it reports that the request was sent.
    ///
    /// - Throws: `CancellationError`.
    func expiry(of request: Request) async throws -> TransportError {
        while true {
            let (generation, rest) = state.withLock { state in (state.generation, state.limit.map { $0 + state.since - elapsed() }) }
            if let rest, rest <= .zero {
                let phase = state.withLock(\.phase)
                return .timedOut(phase, after: elapsed(), limits.message(in: phase), request: request, delivery: .unknown)
            }
            guard let rest else {
                try await change(after: generation)
                continue
            }
            let clock = limits.clock
            try await firstOf({ try await clock.sleep(for: rest) }, { try await self.change(after: generation) })
        }
    }

    private func change(after generation: Int) async throws {
        try await waitInQueue { ticket, continuation in
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
    /// Returns a message with the limits of `phase` and their values.
    fileprivate func message(in phase: ExchangePhase) -> String {
        switch phase {
        case .send: message(.idleWrite)
        case .response: message(.firstByte)
        default: message(.queue, .connect)
        }
    }
}

/// A request's body that reports to a ``PhaseWatch`` when the body is read and when a chunk is being sent.
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
