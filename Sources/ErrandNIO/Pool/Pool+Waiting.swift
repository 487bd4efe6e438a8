#if SWIFT_NIO
internal import ErrandCore

extension Pool {
    /// The reason why an exchange is queued, and an attempt to connect. The exchange waits for this attempt, or for the place that the
    /// attempt occupies.
    typealias WaitReason = (wait: Machine.Wait?, attempt: ConnectAttempt?)

    /// Adds the reason of the wait to the failure of an exchange that was queued too long. The reason is a step of connecting,
    /// or a full pool.
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
    /// The use of the places, in words: `0 connections in use and 2 being opened`.
    var description: String { "\(open) connection\(open == 1 ? "" : "s") in use and \(connecting) being opened" }
}
#endif
