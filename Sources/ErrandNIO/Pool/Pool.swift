#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The connections of a transport, and the exchanges that wait for a connection.
///
/// ``PoolMachine`` decides under the lock. The pool acts on the decisions after it has released the lock.
final class Pool: Sendable {
    typealias Machine = PoolMachine<Route, Exchange, Connection>
    typealias Ticket = Machine.Ticket

    struct State: Sendable {
        var machine: Machine
        var open: [Int: Connection] = [:]
        /// The attempts to connect. An attempt stays here until its connection is in `open`, or everything that the attempt has opened is
        /// closed.
        var attempts: [Machine.Attempt: ConnectAttempt] = [:]
        /// The promises for which `preconnect` waits. Each promise is completed when its attempt ends.
        var preconnects: [Machine.Attempt: EventLoopPromise<Void>] = [:]
        var lastNumber = 0
        /// The promises that succeed when the pool is shut down and its last connection has closed.
        var closed: [EventLoopPromise<Void>] = []
        /// The times at which queued exchanges fail.
        var waits = DueQueue<NIODeadline, WaitEnd>()
        /// The alarm that rings at the end of the earliest wait.
        var alarm = Alarm()
        /// The observers of closed connections, by name.
        var observers: [String: @Sendable (ClosedConnection) -> Void] = [:]
    }

    let settings: NIOTransport.Configuration
    let proxies = ProxyTable()
    let alternatives = AlternativeServiceTable()
    private let connector: Connector
    private let group: any EventLoopGroup
    /// The event loops of the group.
    private let loops: Set<ObjectIdentifier>
    /// The event loop of the alarm.
    let alarmLoop: any EventLoop
    let state: Mutex<State>

    init(_ settings: NIOTransport.Configuration, _ connector: Connector, on group: any EventLoopGroup) {
        (self.settings, self.connector, self.group) = (settings, connector, group)
        alarmLoop = group.any()
        loops = Set(group.makeIterator().map { ObjectIdentifier($0) })
        state = Mutex(
            State(
                machine: Machine(
                    .init(
                        connectionsPerOrigin: settings.maxConnectionsPerOrigin, connections: settings.maxConnections,
                        idleTime: settings.idleTimeout, age: settings.maxConnectionAge,
                        firstStreams: { settings.firstStreams(of: $0) }))))
    }

    /// The event loop that the caller runs on, if the loop belongs to the group. Other loops may be shut down before the transport.
    private var currentLoop: (any EventLoop)? {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop, loops.contains(ObjectIdentifier(loop)) else { return nil }
        return loop
    }

    private static let base = ContinuousClock.now
    /// The time since the approximate start of the process. The clock continues while the device sleeps.
    static func now() -> Duration { base.duration(to: .now) }

    // MARK: - Exchanges

    /// Sends an exchange over a connection, as soon as a connection is available.
    ///
    /// - Parameter isFresh: whether the exchange must use a new connection, or a connection in use, instead of an idle
    ///   connection. An idle connection may be lost.
    func send(_ exchange: Exchange, isFresh: Bool = false) {
        let loop = currentLoop
        let lane = exchange.request.options.priority.urgency
        let now = Self.now()
        let lease = state.withLock { state in
            let route = state.preferredRoute(of: exchange)
            let lease = state.machine.lease(
                exchange, for: route, lane: lane, on: loop.map { ObjectIdentifier($0) }, isFresh: isFresh, at: now)
            if exchange.isMovedToHTTP1 { state.machine.prefer(route) }
            if case .wait(let ticket, let work) = lease, let end = exchange.waitEnd(ticket, isConnecting: !work.connect.isEmpty) {
                limitWait(end.wait, until: end.due, &state)
            }
            return lease
        }
        switch lease {
        case .use(let connection, let closing):
            for stale in closing { stale.close() }
            connection.dispatch(exchange)
        case .wait(let ticket, let work):
            // No connection is opened for a request that can't be written. On a kept connection, the head is checked when the head is
            // written.
            if !work.connect.isEmpty, let failure = exchange.unwritable {
                withdraw(exchange, ticket, because: failure)
            } else if exchange.enqueued(ticket) {
                withdraw(exchange, ticket, because: CancellationError())
            }
            perform(work, on: loop, isLimited: true)
        case .shutDown:
            exchange.resume(throwing: exchange.failure(.shutDown, phase: .request, delivery: .notSent))
        }
    }

    /// Removes an exchange from the queue, and ends the exchange. If the exchange is no longer queued, does nothing: the connection that
    /// took the exchange ends the exchange.
    func withdraw(_ exchange: Exchange, _ ticket: Ticket, because error: any Error) {
        guard let (waiter, work) = state.withLock({ $0.machine.withdraw(ticket) }) else { return }
        waiter.resume(throwing: error)
        perform(work)
    }

    // MARK: - Connecting

    /// Opens connections before an exchange needs them. Returns when the missing connections are open.
    func preconnect(to route: Route, count: Int) async throws {
        let loop = currentLoop
        let (isShutDown, promises) = state.withLock { state in
            let attempts = state.machine.preconnect(count, for: route, at: Self.now())
            let promises = attempts.map { ($0, group.next().makePromise(of: Void.self)) }
            for (attempt, promise) in promises { state.preconnects[attempt] = promise }
            return (state.machine.isShutDown, promises)
        }
        if isShutDown { throw shutDownFailure(route.origin) }
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
                    let work = state.machine.withdraw(attempt)
                    limitConnecting(attempt, &state)
                    return work
                }
                guard let work else { continue }
                promise.fail(CancellationError())
                perform(work)
            }
        }
    }

    /// Ends the wait of ``preconnect(to:count:)`` for an attempt that is over.
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

    /// Carries out decisions of the state machine.
    ///
    /// - Parameter isLimited: whether the connect limits of the waiting exchanges were already started.
    func perform(_ work: Machine.Work, on loop: (any EventLoop)? = nil, isLimited: Bool = false) {
        if work.isEmpty { return }
        for attempt in work.cancel { state.withLock { $0.attempts[attempt] }?.cancel() }
        for connection in work.close { connection.close() }
        for attempt in work.connect { connect(attempt, on: loop ?? group.next(), isLimited: isLimited) }
        for (exchange, connection) in work.begin { connection.dispatch(exchange) }
    }

    private func connect(_ attempt: Machine.Attempt, on loop: any EventLoop, isLimited: Bool = false) {
        let made = state.withLock { state -> (number: Int, attempt: ConnectAttempt)? in
            // The state machine requested this connection attempt earlier. The attempt may no longer be needed, for example if its exchange
            // was cancelled.
            guard state.machine.isWanted(attempt) else { return nil }
            state.lastNumber += 1
            let made = ConnectAttempt(loop.makePromise(), for: state.machine.waiter(of: attempt))
            state.attempts[attempt] = made
            if !isLimited { limitConnecting(attempt, &state) }
            return (state.lastNumber, made)
        }
        guard let made else { return }
        connector.connect(to: attempt.key, number: made.number, for: self, made.attempt, on: loop) { result in
            switch result {
            case .success(let connection):
                self.arrived(attempt, made.attempt, connection, streams: connection.streams)
                self.finishPreconnect(attempt)
            case .failure(let error):
                self.failed(attempt) { ConnectFailure(error, self.settings).failure(of: $0) }
                self.finishPreconnect(attempt, error)
                self.end(attempt, made.attempt)
            }
        }
    }

    /// Adds a new connection.
    ///
    /// - Parameter streams: the number of exchanges that the connection takes at a time.
    private func arrived(_ attempt: Machine.Attempt, _ made: ConnectAttempt, _ connection: Connection, streams: Int) {
        let now = Self.now()
        let (arrival, more) = state.withLock { state -> (Machine.Arrival, [Machine.Work]) in
            let arrival = state.machine.connected(attempt, connection, on: connection.loopID, streams: streams, at: now)
            if case .refuse = arrival { return (arrival, []) }
            state.open[connection.number] = connection
            state.attempts[attempt] = nil
            var more: [Machine.Work] = []
            if case .begin = arrival { more.append(state.machine.beginMore(on: connection, of: attempt.key, at: now)) }
            if settings.sharesConnectionsAcrossHosts { more += state.share(connection, at: now) }
            return (arrival, more)
        }
        switch arrival {
        case .begin(let exchange): connection.dispatch(exchange)
        case .idle(let time): connection.onLoop { $0.becomeIdle(for: time) }
        case .close(let work):
            connection.close()
            perform(work)
        case .refuse: end(attempt, made)
        }
        for work in more { perform(work) }
    }

    // MARK: - Sharing

    /// Gives the addresses of an origin's host to the attempt, and searches for an open connection that the origin may share. If the found
    /// connection has room, queued exchanges begin on the connection. If no other exchange waits for the attempt, the attempt is cancelled.
    /// If the route may not share connections, does nothing.
    func found(_ addresses: [IPAddress], for made: ConnectAttempt, to route: Route) {
        guard settings.mayShareConnections(of: route) else { return }
        // The attempt gets the addresses first, so that the attempt's connection also has the addresses.
        made.found(addresses)
        let now = Self.now()
        let work = state.withLock { state -> Machine.Work? in
            let valid = state.open.values.filter { $0.isValid(for: route.origin, at: addresses) }.sorted { $0.number < $1.number }
            for connection in valid {
                if let work = state.machine.share(connection, with: route, at: now) { return work }
            }
            return nil
        }
        if let work { perform(work) }
    }

    /// Excludes an origin from sharing, after a server has refused a request as misdirected over a connection of another origin.
    func keepApart(_ route: Route) { state.withLock { $0.machine.keepApart(route) } }

    /// Closes everything that an attempt has opened. A shutdown waits until everything is closed.
    private func end(_ attempt: Machine.Attempt, _ made: ConnectAttempt) {
        made.close().whenComplete { _ in
            // When the attempt is released, objects that the attempt holds may call the pool. Therefore, the attempt is
            // released after the lock is released.
            let (ended, promises) = self.state.withLock { state in (state.attempts.removeValue(forKey: attempt), state.takeClosed()) }
            withExtendedLifetime(ended) { for promise in promises { promise.succeed() } }
        }
    }

    private func failed(_ attempt: Machine.Attempt, _ failure: (Exchange) -> any Error) {
        let (exchange, work) = state.withLock { $0.machine.failed(attempt) }
        if let exchange { exchange.resume(throwing: failure(exchange)) }
        if work.connect.isEmpty { return perform(work) }
        // The work runs in a later turn of the event loop. If the work ran in this turn, and each attempt failed immediately, each failure
        // would start the next attempt recursively.
        group.next().execute { self.perform(work) }
    }

    // MARK: - Connections

    /// Returns a connection to the pool after an exchange. Must be called on the connection's event loop.
    ///
    /// - Returns: the next step of the connection: another exchange, a time for which the connection is kept unused, or the
    ///   close of the connection.
    func release(_ connection: Connection, idleTime: Duration) -> Machine.Release {
        let now = Self.now()
        let (release, more) = state.withLock { state in
            let release = state.machine.release(connection, of: connection.route, idleTime: idleTime, at: now)
            guard case .begin = release, state.machine.hasRoom(connection) else { return (release, Machine.Work()) }
            return (release, state.machine.beginMore(on: connection, of: connection.route, at: now))
        }
        if case .close(let work) = release { perform(work) }
        // The work runs in a later turn, after the handler has started the returned exchange.
        if !more.isEmpty { connection.loop.execute { self.perform(more) } }
        return release
    }

    /// Sets the number of exchanges that a connection takes at a time, after its server has changed the number. Must be called on the
    /// connection's event loop.
    func setStreams(of connection: Connection, to count: Int) {
        let now = Self.now()
        perform(state.withLock { $0.machine.setStreams(connection, of: connection.route, to: count, at: now) })
    }

    /// Starts no further exchange on a connection. A connection without an exchange is closed now. If an exchange uses the connection, the
    /// connection is closed after its last exchange: see ``release(_:idleTime:)``.
    func drain(_ connection: Connection) { perform(state.withLock { $0.machine.drain(connection, of: connection.route) }) }

    /// Removes a connection that was lost during an exchange, or is closed after its exchange.
    func remove(_ connection: Connection) {
        let work = state.withLock { $0.machine.remove(connection, of: connection.route) }
        perform(work)
    }

    /// Removes a connection if it is idle. Returns false if an exchange uses the connection.
    func removeIfIdle(_ connection: Connection) -> Bool {
        let (isRemoved, work) = state.withLock { $0.machine.removeIfIdle(connection, of: connection.route) }
        perform(work)
        return isRemoved
    }

    /// Reports to observers that the channel of a connection is closed.
    func didClose(_ connection: Connection) {
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
        // When the former observer is released, an object that the observer holds may call the pool. Therefore, the observer is
        // released after the lock is released.
        _ = state.withLock { $0.observers.updateValue(observer, forKey: id) }
    }

    var waitingExchanges: [Origin: Int] {
        // An origin may have several routes, because an upgrade may need its own route.
        Dictionary(state.withLock { $0.machine.waiterCounts }.map { ($0.key.origin, $0.value) }, uniquingKeysWith: +)
    }

    var openConnections: [OpenConnection] {
        let open = state.withLock { state in state.open.values.map { ($0, state.machine.guests(of: $0)) } }
        return open.map { $0.shown(sharedWith: $1.map(\.origin)) }.sorted { $0.number < $1.number }
    }

    // MARK: - The end

    /// Whether an exchange is queued or in progress.
    var hasExchanges: Bool { state.withLock { $0.machine.waiterCount > 0 || $0.open.values.contains(where: \.isInUse) } }

    var isShutDown: Bool { state.withLock(\.machine.isShutDown) }

    /// Closes every connection. Exchanges in progress fail. The future succeeds when all connections have closed, including connections
    /// that were being opened.
    func shutDown() -> EventLoopFuture<Void> {
        let promise = group.any().makePromise(of: Void.self)
        let (waiters, work, open, attempts, preconnects, promises) = state.withLock { state in
            let (waiters, work) = state.machine.isShutDown ? ([], Machine.Work()) : state.machine.shutDown()
            state.closed.append(promise)
            state.waits.removeAll()
            state.alarm.cancel()
            defer { state.preconnects = [:] }
            let attempts = Array(state.attempts.values)
            return (waiters, work, Array(state.open.values), attempts, state.preconnects, state.takeClosed())
        }
        for (attempt, promise) in preconnects { promise.fail(shutDownFailure(attempt.key.origin)) }
        for waiter in waiters { waiter.resume(throwing: waiter.failure(.shutDown, phase: .queue, delivery: .notSent)) }
        for attempt in attempts { attempt.cancel() }
        for connection in work.close { connection.close() }
        for connection in open { connection.onLoop { $0.shutDown() } }
        for promise in promises { promise.succeed() }
        return promise.futureResult
    }
}

extension Pool.State {
    /// Returns the route of an exchange. While the pool has connections to an origin whose server requires HTTP/1.1, every exchange with
    /// this origin uses HTTP/1.1.
    fileprivate func preferredRoute(of exchange: Exchange) -> Route {
        let route = exchange.route
        guard machine.hasPreferences, !route.needsHTTP1, machine.isPreferred(route.overHTTP1) else { return route }
        exchange.useHTTP1()
        return exchange.route
    }

    /// Starts queued exchanges with other origins on a new connection, if these exchanges wait for connections to the same
    /// address.
    fileprivate mutating func share(_ connection: Connection, at now: Duration) -> [Pool.Machine.Work] {
        let keys = Set(attempts.filter { connection.isValid(for: $0.key.origin, at: $1.addresses) }.map(\.key.key))
        return keys.compactMap { machine.share(connection, with: $0, at: now) }
    }

    fileprivate mutating func takeClosed() -> [EventLoopPromise<Void>] {
        guard machine.isShutDown, open.isEmpty, attempts.isEmpty else { return [] }
        defer { closed = [] }
        return closed
    }
}
#endif
