#if NIO
internal import ErrandCore

extension Pool {
    /// What an exchange in the queue waits for, and the attempt to connect if it waits for one.
    typealias WaitReason = (wait: Machine.Wait?, attempt: ConnectAttempt?)

    /// Adds to the failure of an exchange that has waited too long what it waited for: a step of connecting, or a full pool.
    func explained(_ error: TransportError, _ reason: WaitReason) -> TransportError {
        var failure = error
        switch reason.wait {
        case .attempt?: failure.message += reason.attempt?.progress ?? ""
        case .origin?:
            let origin = failure.request?.origin.map { " to \($0)" } ?? ""
            failure.message +=
                ": all connections\(origin) are in use or being opened, and maxConnectionsPerOrigin is \(settings.maxConnectionsPerOrigin)"
        case .all?:
            failure.message +=
                ": all connections of the transport are in use or being opened, and maxConnections is \(settings.maxConnections)"
        case .otherAttempt?, nil: break
        }
        return failure
    }
}
#endif
