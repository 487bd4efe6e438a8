#if NIO
internal import ErrandCore
internal import NIOCore

/// The common part of the handlers of HTTP/1.1 and HTTP/2: it starts the exchanges that the pool assigns, and sends the bodies of requests.
///
/// An attempt names its exchange: over HTTP/1.1, the exchange in progress; over HTTP/2, the exchange on the attempt's stream. A method that
/// gets a stale attempt does nothing.
protocol HTTPHandler: ExchangeHandler {
    var pool: Pool { get }
    /// The context of the handler; `nil` while the handler is in no pipeline.
    var context: ChannelHandlerContext? { get }

    /// Starts the exchange, ends the exchange, or returns the exchange to the pool.
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

    /// Sets the alarm for the times of an exchange, at least one of which has changed.
    func setAlarm(of attempt: AttemptID)

    /// The position of the exchange, for the error that ends it.
    func position(of attempt: AttemptID) -> ExchangePosition?

    /// Ends an attempt whose request body can't be sent.
    func endUpload(of attempt: AttemptID, because error: any Error)

    /// Writes as much of a body in memory as the connection takes.
    func writeMemory(of attempt: AttemptID)
}

extension HTTPHandler {
    func accept(_ exchange: Exchange, on connection: Connection) {
        if !start(exchange, on: connection) { release(connection) }
    }

    /// Returns the connection to the pool after an exchange. If an exchange waits for this connection, that exchange starts.
    func release(_ connection: Connection) {
        perform(pool.release(connection, idleTime: pool.settings.idleTimeout), on: connection)
    }

    func perform(_ first: Pool.Machine.Release, on connection: Connection) {
        var release = first
        // A loop, because each of many exchanges may end before it starts.
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
