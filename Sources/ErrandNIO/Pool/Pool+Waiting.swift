#if NIO
internal import ErrandCore

extension Pool {
    /// What an exchange in the queue waits for, and an attempt to connect if it waits for one, or only such have the places.
    typealias WaitReason = (wait: Machine.Wait?, attempt: ConnectAttempt?)

    /// Adds to the failure of an exchange that has waited too long what it waited for: a step of connecting, or a full pool.
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
}

extension PoolMachine.Occupancy: CustomStringConvertible {
    /// `0 connections in use and 2 being opened`.
    var description: String { "\(open) connection\(open == 1 ? "" : "s") in use and \(connecting) being opened" }
}
#endif
