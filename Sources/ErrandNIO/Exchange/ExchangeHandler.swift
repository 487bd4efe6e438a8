#if NIO
/// Runs the exchanges of one connection: one after the other, or many at once. What every version of HTTP must do.
///
/// A handler owns an ``ActiveExchange`` for each exchange in progress, and is called on the event loop of its channel. A call for an
/// exchange that has ended does nothing.
protocol ExchangeHandler: AnyObject {
    /// Starts an exchange, or returns it to the pool if the connection was lost meanwhile.
    ///
    /// - Parameter connection: that of the handler. It is known after the channel has closed, too: the pool counts it until then.
    func accept(_ exchange: Exchange, on connection: Connection)

    /// The caller gives an exchange up, in whatever attempt it is.
    func end(_ exchange: Exchange, because error: (any Error)?)

    /// The reader of a response gives the response up before it is complete. Nothing happens if `attempt` is stale.
    ///
    /// - Parameter error: `nil` if the rest of the response is not wanted.
    func end(_ attempt: AttemptID, because error: (any Error)?)

    /// The reader of a response has room for more. Nothing happens if `attempt` is stale.
    func readOn(_ attempt: AttemptID)

    /// The task that reads the body of a request has more of the body, or its end. If `attempt` is stale, the queue is emptied.
    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID)

    /// An upgraded stream has more to write, or ends writing.
    func writeUpgraded(_ exchange: Exchange)

    /// An upgraded stream was closed by its owner: the exchange is complete.
    func closeUpgraded(_ exchange: Exchange)

    /// No exchange uses the connection. It closes if that is so for as long as `time`.
    func becomeIdle(for time: Duration)

    /// The transport is shut down: exchanges in progress fail, and the connection closes.
    func shutDown()

    /// Closes the connection.
    func close()
}
#endif
