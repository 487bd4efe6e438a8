#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The connections of a transport, and the exchanges that wait for one.
///
/// ``PoolMachine`` decides under the one lock; what it decides is done after the lock is released.
final class Pool: Sendable {
    typealias Machine = PoolMachine<Origin, Exchange, Connection>
    typealias Ticket = Machine.Ticket

    fileprivate struct State: Sendable {
        var machine: Machine
        var open: [Int: Connection] = [:]
        /// Until nothing of them is left open.
        var attempts: [Machine.Attempt: ConnectAttempt] = [:]
        /// Completed when the attempt ends; `preconnect` waits for them.
        var preconnects: [Machine.Attempt: EventLoopPromise<Void>] = [:]
        var lastNumber = 0
        /// Succeeds when the pool is shut down and its last connection has closed.
        var closed: [EventLoopPromise<Void>] = []
        /// What each connection that closes is reported to, by name.
        var observers: [String: @Sendable (ClosedConnection) -> Void] = [:]
    }

    let settings: NIOTransport.Configuration
    private let connector: Connector
    private let group: any EventLoopGroup
    /// Of the group.
    private let loops: Set<ObjectIdentifier>
    private let state: Mutex<State>

    init(_ settings: NIOTransport.Configuration, _ connector: Connector, on group: any EventLoopGroup) {
        (self.settings, self.connector, self.group) = (settings, connector, group)
        loops = Set(group.makeIterator().map { ObjectIdentifier($0) })
        state = Mutex(
            State(
                machine: Machine(
                    .init(
                        connectionsPerOrigin: settings.maxConnectionsPerOrigin, connections: settings.maxConnections,
                        idleTime: settings.maxConnectionAge.map { min($0, settings.idleTimeout) } ?? settings.idleTimeout))))
    }

    /// The event loop that the caller runs on, if it is one of the group's. Others may be shut down before the transport.
    private var currentLoop: (any EventLoop)? {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop, loops.contains(ObjectIdentifier(loop)) else { return nil }
        return loop
    }

    private static let base = ContinuousClock.now
    /// The time since the process began, more or less. It goes on while the machine sleeps.
    static func now() -> Duration { base.duration(to: .now) }

    // MARK: - Exchanges

    /// Sends an exchange over a connection, as soon as there is one.
    ///
    /// - Parameter isFresh: whether only a new connection is to be used, or one that was in use until now.
    func send(_ exchange: Exchange, isFresh: Bool = false) {
        let loop = currentLoop
        let lane = exchange.request.options.priority.urgency
        let now = Self.now()
        let lease = state.withLock { state in
            state.machine.lease(
                exchange, for: exchange.origin, lane: lane, on: loop.map { ObjectIdentifier($0) }, isFresh: isFresh, at: now)
        }
        switch lease {
        case .use(let connection, let closing):
            for stale in closing { stale.close() }
            connection.begin(exchange)
        case .wait(let ticket, let work):
            // A request that can't be written opens no connection. On a kept one, its head is checked when it is written.
            if !work.connect.isEmpty, let failure = exchange.unwritable {
                for stale in work.close { stale.close() }
                for attempt in work.connect { failed(attempt) { _ in failure } }
                return
            }
            let timer = exchange.queueTimer(isConnecting: !work.connect.isEmpty, on: loop ?? group.next()) {
                self.withdraw(exchange, ticket, because: self.explained($0, of: ticket))
            }
            if exchange.enqueued(ticket, timer: timer) { withdraw(exchange, ticket, because: CancellationError()) }
            perform(work, for: exchange, on: loop)
        case .shutDown:
            exchange.resume(throwing: exchange.failure(.shutDown, phase: .request, delivery: .notSent))
        }
    }

    /// An exchange leaves the queue. If its turn has come, the connection ends it.
    func withdraw(_ exchange: Exchange, _ ticket: Ticket, because error: any Error) {
        guard let (waiter, work) = state.withLock({ $0.machine.withdraw(ticket) }) else { return }
        waiter.resume(throwing: error)
        perform(work)
    }

    /// What an exchange in the queue waits for, and the attempt to connect if it waits for one.
    func wait(of ticket: Ticket) -> (Machine.Wait?, attempt: ConnectAttempt?) {
        state.withLock { state in
            let wait = state.machine.wait(of: ticket)
            if case .attempt(let attempt) = wait { return (wait, state.attempts[attempt]) }
            return (wait, nil)
        }
    }

    // MARK: - Connecting

    /// Opens connections that no exchange has asked for yet. Returns when those that were missing are open.
    func preconnect(to origin: Origin, count: Int) async throws {
        let loop = currentLoop
        let (isShutDown, promises) = state.withLock { state in
            let attempts = state.machine.preconnect(count, for: origin, at: Self.now())
            let promises = attempts.map { ($0, group.next().makePromise(of: Void.self)) }
            for (attempt, promise) in promises { state.preconnects[attempt] = promise }
            return (state.machine.isShutDown, promises)
        }
        if isShutDown { throw shutDownFailure(origin) }
        for (attempt, _) in promises { connect(attempt, on: loop ?? group.next()) }
        try await withTaskCancellationHandler {
            var failure: (any Error)?
            for (_, promise) in promises {
                do { try await promise.futureResult.get() } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
        } onCancel: {
            for (attempt, promise) in promises {
                let work = state.withLock { state -> Machine.Work? in
                    guard state.preconnects.removeValue(forKey: attempt) != nil else { return nil }
                    return state.machine.withdraw(attempt)
                }
                guard let work else { continue }
                promise.fail(CancellationError())
                perform(work)
            }
        }
    }

    /// An attempt is over, which may have been made by ``preconnect(to:count:)``.
    private func finishPreconnect(_ attempt: Machine.Attempt, _ error: (any Error)? = nil) {
        guard let promise = state.withLock({ $0.preconnects.removeValue(forKey: attempt) }) else { return }
        if let error {
            promise.fail(ConnectFailure(error, settings).failure(of: attempt.key))
        } else {
            promise.succeed()
        }
    }

    private func shutDownFailure(_ origin: Origin) -> TransportError {
        TransportError(.shutDown, phase: .connect, to: origin)
    }

    /// - Parameter exchange: the first attempt is made for it.
    private func perform(_ work: Machine.Work, for exchange: Exchange? = nil, on loop: (any EventLoop)? = nil) {
        if work.isEmpty { return }
        for attempt in work.cancel { state.withLock { $0.attempts[attempt] }?.cancel() }
        for connection in work.close { connection.close() }
        for attempt in work.connect { connect(attempt, on: loop ?? group.next()) }
        for (exchange, connection) in work.begin { connection.begin(exchange) }
    }

    private func connect(_ attempt: Machine.Attempt, on loop: any EventLoop) {
        let made = state.withLock { state -> (number: Int, attempt: ConnectAttempt)? in
            // Its exchange may have left since the machine has asked for it.
            guard state.machine.isWanted(attempt) else { return nil }
            state.lastNumber += 1
            let made = ConnectAttempt(loop.makePromise(), for: state.machine.waiter(of: attempt))
            state.attempts[attempt] = made
            return (state.lastNumber, made)
        }
        guard let made else { return }
        connector.connect(to: attempt.key, number: made.number, for: self, made.attempt, on: loop).whenComplete { result in
            switch result {
            case .success(let connection):
                self.arrived(attempt, made.attempt, connection)
                self.finishPreconnect(attempt)
            case .failure(let error):
                self.failed(attempt) { ConnectFailure(error, self.settings).failure(of: $0) }
                self.finishPreconnect(attempt, error)
                self.end(attempt, made.attempt)
            }
        }
    }

    private func arrived(_ attempt: Machine.Attempt, _ made: ConnectAttempt, _ connection: Connection) {
        let arrival = state.withLock { state in
            let arrival = state.machine.connected(attempt, connection, on: connection.loopID, at: Self.now())
            if case .refuse = arrival { return arrival }
            state.open[connection.number] = connection
            state.attempts[attempt] = nil
            return arrival
        }
        switch arrival {
        case .begin(let exchange): connection.begin(exchange)
        case .idle(let time): connection.onLoop { $0.becomeIdle(for: time) }
        case .close(let work):
            connection.close()
            perform(work)
        case .refuse: end(attempt, made)
        }
    }

    /// An attempt has failed, or its connection is not needed. It counts until what it has opened is closed.
    private func end(_ attempt: Machine.Attempt, _ made: ConnectAttempt) {
        made.close().whenComplete { _ in
            let promises = self.state.withLock { state in
                state.attempts[attempt] = nil
                return state.takeClosed()
            }
            for promise in promises { promise.succeed() }
        }
    }

    private func failed(_ attempt: Machine.Attempt, _ failure: (Exchange) -> any Error) {
        let (exchange, work) = state.withLock { $0.machine.failed(attempt) }
        if let exchange { exchange.resume(throwing: failure(exchange)) }
        if work.connect.isEmpty { return perform(work) }
        // Later: an attempt that fails at once would otherwise begin the next one from within.
        group.next().execute { self.perform(work) }
    }

    // MARK: - Connections

    /// An exchange is over, and its connection can take another. On the connection's event loop.
    ///
    /// - Returns: the next exchange, or for how long the connection is kept unused; `nil` if it must be closed.
    func release(_ connection: Connection, idleTime: Duration) -> Machine.Release {
        let now = Self.now()
        let rest = settings.maxConnectionAge.map { connection.opened + $0 - now }
        let release = state.withLock { state in
            if let rest, rest <= .zero { return Machine.Release.close(state.machine.closed(connection, of: connection.origin)) }
            let time = rest.map { min($0, idleTime) } ?? idleTime
            return state.machine.release(connection, of: connection.origin, on: connection.loopID, idleTime: time, at: now)
        }
        if case .close(let work) = release { perform(work) }
        return release
    }

    /// A connection that had an exchange was lost, or is closed after it.
    func spent(_ connection: Connection) {
        let work = state.withLock { $0.machine.closed(connection, of: connection.origin) }
        perform(work)
    }

    /// Takes an idle connection out of the pool. Returns false if an exchange uses it.
    func retire(_ connection: Connection) -> Bool {
        let (isRetired, work) = state.withLock { $0.machine.retire(connection, of: connection.origin) }
        perform(work)
        return isRetired
    }

    /// The channel is closed.
    func forget(_ connection: Connection) {
        let (promises, observers) = state.withLock { state in
            state.open[connection.number] = nil
            return (state.takeClosed(), state.observers.isEmpty ? nil : state.observers)
        }
        if let observers {
            let closed = connection.closed
            for observer in observers.values { observer(closed) }
        }
        for promise in promises { promise.succeed() }
    }

    func observeClosedConnections(as id: String, _ observer: @escaping @Sendable (ClosedConnection) -> Void) {
        state.withLock { $0.observers[id] = observer }
    }

    var waitingExchanges: [Origin: Int] { state.withLock { $0.machine.waiterCounts } }

    var openConnections: [OpenConnection] { state.withLock { Array($0.open.values) }.map(\.shown).sorted { $0.number < $1.number } }

    // MARK: - The end

    var isShutDown: Bool { state.withLock(\.machine.isShutDown) }

    /// Closes every connection; exchanges in progress fail. The future succeeds when all connections have closed, those included that were
    /// being opened.
    func shutDown() -> EventLoopFuture<Void> {
        let promise = group.any().makePromise(of: Void.self)
        let (waiters, work, open, attempts, preconnects, promises) = state.withLock { state in
            let (waiters, work) = state.machine.isShutDown ? ([], Machine.Work()) : state.machine.shutDown()
            state.closed.append(promise)
            defer { state.preconnects = [:] }
            let attempts = Array(state.attempts.values)
            return (waiters, work, Array(state.open.values), attempts, state.preconnects, state.takeClosed())
        }
        for (attempt, promise) in preconnects { promise.fail(shutDownFailure(attempt.key)) }
        for waiter in waiters { waiter.resume(throwing: waiter.failure(.shutDown, phase: .queue, delivery: .notSent)) }
        for attempt in attempts { attempt.cancel() }
        for connection in work.close { connection.close() }
        for connection in open { connection.onLoop { $0.shutDown() } }
        for promise in promises { promise.succeed() }
        return promise.futureResult
    }
}

extension Pool.State {
    fileprivate mutating func takeClosed() -> [EventLoopPromise<Void>] {
        guard machine.isShutDown, open.isEmpty, attempts.isEmpty else { return [] }
        defer { closed = [] }
        return closed
    }
}

extension Exchange {
    /// The timer that ends the wait for a connection: at the deadline, or when the limit for queueing or connecting has passed.
    ///
    /// - Parameter isConnecting: whether a connection is being opened for this exchange. Otherwise it waits for one that is in use.
    fileprivate func queueTimer(
        isConnecting: Bool, on loop: any EventLoop, _ expire: @escaping @Sendable (any Error) -> Void
    ) -> Scheduled<Void>? {
        let limit = isConnecting ? PhaseLimit("connect", limits?.connect) : PhaseLimit("queue", limits?.queue)
        let phase = isConnecting ? ExchangePhase.connect : .queue
        let deadline = deadline
        guard let due = [limit?.due, deadline].compactMap({ $0 }).min() else { return nil }
        return loop.scheduleTask(deadline: due) { [weak self] in
            guard let self else { return }
            if let limit, limit.due == due {
                expire(limitPassed(limit, phase, delivery: .notSent))
            } else {
                expire(deadlinePassed(phase, delivery: .notSent))
            }
        }
    }
}
#endif
