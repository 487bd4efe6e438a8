#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

extension Exchange {
    /// Assigns the exchange to a connection.
    ///
    /// - Returns: `nil` if the exchange was cancelled, or if its deadline has passed. If the result is `nil`, the exchange has ended.
    func activate(on connection: Connection) -> TakenExchange? {
        guard assign(to: connection) else {
            resume(throwing: CancellationError())
            return nil
        }
        let deadline = deadline
        if let deadline, deadline <= .now() {
            resume(throwing: deadlinePassed(.queue, delivery: .notSent))
            return nil
        }
        return TakenExchange(exchange: self, deadline: deadline)
    }
}

/// An exchange that a connection has taken, and whose attempt has not begun.
struct TakenExchange {
    let exchange: Exchange
    /// The deadline; `nil` if the request has no deadline.
    let deadline: NIODeadline?
}
#endif
