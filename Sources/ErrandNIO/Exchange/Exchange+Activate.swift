#if NIO
internal import ErrandCore
internal import NIOCore

extension Exchange {
    /// A connection takes the exchange.
    ///
    /// - Returns: `nil` if it was cancelled, or its deadline has passed: then it has ended.
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
    /// `nil` without a deadline.
    let deadline: NIODeadline?
}
#endif
