#if NIO
internal import ErrandCore

extension Pool {
    /// Adds to the failure of an exchange that has waited too long what it waited for: a step of connecting, or a full pool.
    func explained(_ error: any Error, of ticket: Ticket) -> any Error {
        guard var failure = error as? TransportError else { return error }
        let (wait, attempt) = wait(of: ticket)
        switch wait {
        case .attempt?: failure.message += attempt?.progress ?? ""
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
