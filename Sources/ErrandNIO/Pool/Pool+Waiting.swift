#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

extension Pool {
    /// The reason why an exchange is queued, and an attempt to connect. The exchange waits for this attempt, or the attempt counts toward
    /// the limit that the exchange waits for.
    typealias WaitReason = (wait: Machine.Wait?, attempt: ConnectAttempt?)

    /// Adds the reason for the wait to the failure of an exchange that was queued too long. The reason is a step of connecting, or a full
    /// pool.
    func explained(_ error: TransportError, _ reason: WaitReason) -> TransportError {
        var failure = error
        switch reason.wait {
        case .attempt?, .otherAttempt?:
            failure.message += reason.attempt?.progress ?? ""
            failure.proxy = reason.attempt?.slowProxy
        case .origin(let places)?:
            let origin = failure.request?.origin.map { " to \($0)" } ?? ""
            failure.message += ": \(places)\(origin) (maxConnectionsPerOrigin is \(settings.maxConnectionsPerOrigin))"
            failure.message += reason.attempt?.progress ?? ""
        case .all(let places)?:
            failure.message += ": \(places) to all origins (maxConnections is \(settings.maxConnections))"
            failure.message += reason.attempt?.progress ?? ""
        case nil: break
        }
        return failure
    }

    func limitWait(_ wait: WaitEnd, until due: NIODeadline, _ state: inout State) {
        let machine = state.machine
        state.waits.insert(wait, due: due) { machine.isWaiting($0.ticket) }
        setAlarm(&state)
    }

    /// Starts the connect limit of an exchange that has waited for a connection in use. A connection is now being opened for the exchange.
    func limitConnecting(_ attempt: Machine.Attempt, _ state: inout State) {
        guard let exchange = state.machine.waiter(of: attempt), let ticket = state.machine.ticket(of: attempt) else { return }
        guard let end = exchange.waitEnd(ticket, isConnecting: true) else { return }
        limitWait(end.wait, until: end.due, &state)
    }

    private func setAlarm(_ state: inout State) {
        guard let first = state.waits.first else { return }
        state.alarm.set(first.due, on: alarmLoop) { [weak self] in self?.alarmRang() }
    }

    /// Fails the exchanges that have waited too long. The alarm may also have been set for an exchange that no longer waits.
    private func alarmRang() {
        let now = NIODeadline.now()
        let expired = state.withLock { state in
            state.alarm.rang()
            var expired: [(exchange: Exchange, wait: WaitEnd, reason: WaitReason, work: Machine.Work)] = []
            while let first = state.waits.first, first.due <= now || !state.machine.isWaiting(first.element.ticket) {
                state.waits.removeFirst()
                let ticket = first.element.ticket
                let reason = state.reason(of: ticket)
                // A connection is now being opened for the exchange. Therefore, the wait in the queue is over, and the wait for connecting
                // has begun.
                if !first.element.isConnecting, case .attempt? = reason.wait, reason.attempt != nil { continue }
                guard let (exchange, work) = state.machine.withdraw(ticket) else { continue }
                expired.append((exchange, first.element, reason, work))
            }
            setAlarm(&state)
            return expired
        }
        for (exchange, wait, reason, work) in expired {
            exchange.resume(throwing: explained(wait.failure(of: exchange), reason))
            perform(work)
        }
    }
}

extension Pool.State {
    fileprivate func reason(of ticket: Pool.Ticket) -> Pool.WaitReason {
        let wait = machine.wait(of: ticket)
        return (wait, wait?.knownAttempt.flatMap { attempts[$0] })
    }
}

extension PoolMachine.Occupancy: CustomStringConvertible {
    /// The numbers of connections in words: `0 connections in use and 2 being opened`.
    var description: String { "\(open.counted("connection")) in use and \(connecting) being opened" }
}
#endif
