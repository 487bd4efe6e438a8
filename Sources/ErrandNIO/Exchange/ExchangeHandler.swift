#if NIO
/// The handler of one connection's exchanges, for all versions of HTTP. The exchanges run one after the other, or many at the same time.
///
/// A handler owns an ``ActiveExchange`` for each exchange in progress. Its methods must be called on the event loop of its channel. A call
/// for an exchange that has ended does nothing.
protocol ExchangeHandler: AnyObject {
    /// Starts an exchange, or returns it to the pool if the connection has been lost.
    ///
    /// - Parameter connection: the connection of the handler. The handler still needs the connection after the channel has closed.
    func accept(_ exchange: Exchange, on connection: Connection)

    /// Ends an exchange that the caller has given up, whichever attempt is in progress.
    func end(_ exchange: Exchange, because error: (any Error)?)

    /// Ends an attempt whose reader has given up the response before it is complete. Does nothing if `attempt` is stale.
    ///
    /// - Parameter error: the reason; `nil` if the rest of the response is not needed.
    func end(_ attempt: AttemptID, because error: (any Error)?)

    /// Receives more of a response, because its reader can take more data. Does nothing if `attempt` is stale.
    func readOn(_ attempt: AttemptID)

    /// Writes the queued pieces of a request's body, or ends the body. If `attempt` is stale, the pieces are dropped.
    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID)

    /// Writes the queued bytes of an upgraded stream, or ends writing.
    func writeUpgraded(_ exchange: Exchange)

    /// Completes an exchange whose upgraded stream was closed by its owner.
    func closeUpgraded(_ exchange: Exchange)

    /// Keeps the connection while no exchange uses it. After `time` without an exchange, the connection closes.
    func becomeIdle(for time: Duration)

    /// Fails exchanges in progress and closes the connection, because the transport is shut down.
    func shutDown()

    /// Closes the connection.
    func close()
}
#endif
