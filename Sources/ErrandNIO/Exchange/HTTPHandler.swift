#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The handler of one connection's exchanges, for HTTP/1.1 and HTTP/2. Over HTTP/1.1, the exchanges run one after the other. Over HTTP/2,
/// many exchanges run at the same time. The common part of the handlers starts the exchanges that the pool assigns, and sends the bodies of
/// requests.
///
/// A handler owns an ``ActiveExchange`` for each exchange in progress. Its methods must be called on the event loop of its channel. If the
/// exchange has ended, a call does nothing.
///
/// An attempt identifies its exchange: over HTTP/1.1 the exchange in progress, and over HTTP/2 the exchange on the attempt's stream. If the
/// attempt is stale, a method does nothing.
protocol HTTPHandler: AnyObject {
    var pool: Pool { get }
    /// The context of the handler; `nil` while the handler is not in a pipeline.
    var context: ChannelHandlerContext? { get }

    /// Starts the exchange. If the connection can't take the exchange, returns the exchange to the pool. If the exchange can't be sent,
    /// ends the exchange.
    ///
    /// - Returns: false if the connection is free for another exchange.
    func start(_ exchange: Exchange, on connection: Connection) -> Bool

    /// Returns whether the handler acts on a callback of an attempt: see ``AttemptCallback``.
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool

    /// The exchange of an attempt; `nil` if the attempt is over.
    func activeExchange(of attempt: AttemptID) -> ActiveExchange?

    /// Changes the exchange of an attempt in place. Returns the result of `body`; `nil` if the attempt is over.
    @discardableResult
    func change<Result>(_ attempt: AttemptID, _ body: (inout ActiveExchange) -> Result) -> Result?

    /// Sets the alarm again after a due time of an exchange has changed.
    func setAlarm(of attempt: AttemptID)

    /// The progress of the exchange (of its request and its response), for the error that ends the exchange.
    func position(of attempt: AttemptID) -> ExchangePosition?

    /// Ends an attempt whose request body can't be sent.
    func endUpload(of attempt: AttemptID, because error: any Error)

    /// Writes the next part of a body in memory, up to the amount that the connection takes.
    func writeMemory(of attempt: AttemptID)

    /// Ends an exchange that the caller has given up, whichever attempt is in progress.
    func end(_ exchange: Exchange, because error: (any Error)?)

    /// Ends an attempt whose reader has given up the response before the response is complete. Does nothing if `attempt` is
    /// stale.
    ///
    /// - Parameter error: `nil` if the rest of the response is not needed.
    func end(_ attempt: AttemptID, because error: (any Error)?)

    /// Resumes reading a response from the connection when the reader can take more data. Does nothing if `attempt` is stale.
    func readOn(_ attempt: AttemptID)

    /// Writes the queued pieces of a request's body. If the queue has the end of the body, also ends the body. If `attempt` is stale, the
    /// pieces are dropped.
    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID)

    /// Writes the queued bytes of an upgraded stream. If the output has ended, also ends writing.
    func writeUpgraded(_ exchange: Exchange)

    /// Completes an exchange whose upgraded stream was closed by its owner.
    func closeUpgraded(_ exchange: Exchange)

    /// Keeps the unused connection. After `time` without an exchange, the connection closes.
    func becomeIdle(for time: Duration)

    /// Fails exchanges in progress and closes the connection, because the transport is shut down.
    func shutDown()

    /// Closes the connection.
    func close()
}

extension HTTPHandler {
    /// Starts an exchange. If the exchange does not start and the connection is still free, returns the connection to the pool.
    ///
    /// - Parameter connection: the connection of the handler. After the channel has closed, the handler's own property is `nil`.
    func accept(_ exchange: Exchange, on connection: Connection) {
        if !start(exchange, on: connection) { release(connection) }
    }

    /// Returns the connection to the pool after an exchange. If an exchange waits for this connection, that exchange starts.
    func release(_ connection: Connection) {
        perform(pool.release(connection, idleTime: pool.settings.idleTimeout), on: connection)
    }

    func perform(_ first: Pool.Machine.Release, on connection: Connection) {
        var release = first
        // If an exchange ends before it starts, the next queued exchange is taken. Therefore, a loop is needed.
        while true {
            switch release {
            case .begin(let exchange):
                if start(exchange, on: connection) { return }
                release = pool.release(connection, idleTime: pool.settings.idleTimeout)
            case .idle(let time): return becomeIdle(for: time)
            case .inUse: return
            case .close: return close()
            }
        }
    }
}
#endif
