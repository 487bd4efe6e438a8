#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOTLS

/// Runs the exchanges of one HTTP/1.1 connection, one after the other: the last handler of its channel.
///
/// ``HTTP1Machine`` decides, and ``ResponseParser`` reads. Everything here runs on the channel's event loop.
final class HTTP1Handler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// The exchange in progress.
    struct Current {
        let exchange: Exchange
        /// `nil` without a deadline, and after the protocol was changed.
        var deadline: NIODeadline?
        var upload = UploadSource.none
        /// When the body is sent although the server has not asked for it.
        var continueDue: NIODeadline?
        var head: ResponseHead?
        /// What was received, and not given to the stream.
        var chunks: [Data] = []
        /// The body, once the head was delivered.
        var stream: ResponseStream?
        var sentBytes: Int64 = 0
        var receivedBytes: Int64 = 0
        /// The limit of the phase that the exchange is in; `nil` if there is none.
        var limit: PhaseLimit?
        /// The limit of the writes in progress, which holds beside that of the phase: a response may begin during the upload. `nil` if
        /// there is none.
        var writeLimit: PhaseLimit?
        /// Writes of the body that the network has not taken.
        var pendingWrites = 0

        init(_ exchange: Exchange, deadline: NIODeadline?) { (self.exchange, self.deadline) = (exchange, deadline) }

        /// Gives the stream what was received. Returns whether the connection must wait before it reads on.
        mutating func fill(_ stream: ResponseStream) -> Bool { stream.append(&chunks) }

        var sizes: ExchangeLifetime.BodySizes { .init(requestBytes: sentBytes, responseBytes: receivedBytes) }
    }

    /// The rest of the request's body; after a change of the protocol, what is written then.
    enum UploadSource {
        case none
        case upgraded(UpgradedOutput)
        case memory(Data, offset: Int)
        case pump(Task<Void, Never>, UploadQueue)
    }

    let number: Int
    let origin: Origin
    let pool: Pool
    let isSecure: Bool

    var machine = HTTP1Machine()
    var parser: ResponseParser
    var current: Current?
    var context: ChannelHandlerContext?
    var connection: Connection?
    /// What was received, and not parsed.
    var incoming: ByteBuffer?
    var outgoing = ByteBuffer()
    var writeBuffers = WriteBuffers()
    /// Whether a write is in progress that leaves as a whole or not at all. Of one that is larger, or fails later, a part may have left.
    var isWritingSmallHead = false
    /// How much the kernel takes in one piece from a connection that has nothing else to send: 4 KiB.
    static let smallWriteBytes = 4096
    var alarm = Alarm()
    var idleDue: NIODeadline?
    /// Whether nothing is read until the reader of a response has room.
    var isHeldBack = false
    var isReadWanted = false
    /// Why the channel closes.
    var failure: (any Error)?
    var isReady = false
    var ready: EventLoopPromise<Connection>?

    init(_ number: Int, to origin: Origin, of pool: Pool, isSecure: Bool) {
        (self.number, self.origin, self.pool, self.isSecure) = (number, origin, pool, isSecure)
        parser = ResponseParser(limits: pool.settings.responseLimits)
    }

    // MARK: - Connecting

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        failReady(failure ?? ChannelError.eof)
        lose(failure)
        if let connection { pool.forget(connection) }
        connection = nil
    }

    func channelActive(context: ChannelHandlerContext) { if !isSecure { becomeReady() } }

    func becomeReady() {
        isReady = true
        succeedReady()
    }

    /// Completes `promise` when the connection can take an exchange: when it is active, and after the TLS handshake, if there is one.
    func whenReady(_ promise: EventLoopPromise<Connection>) {
        ready = promise
        if let failure {
            failReady(failure)
        } else if isReady {
            succeedReady()
        }
    }

    func succeedReady() {
        guard let promise = ready, let context else { return }
        ready = nil
        let connection = Connection(number, to: origin, context.channel, self)
        self.connection = connection
        promise.succeed(connection)
        if isReadWanted, !isHeldBack { readOn() }
    }

    func failReady(_ error: any Error) {
        ready?.fail(error)
        ready = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { becomeReady() }
        if event as? ChannelEvent == .inputClosed { inputClosed() }
    }

    // MARK: - An exchange begins

    /// - Parameter connection: this one. It is known after the channel has closed, too: the pool counts it until then.
    func begin(_ exchange: Exchange, on connection: Connection) {
        if !starts(exchange, on: connection) { release(connection) }
    }

    /// Starts an exchange, or ends it.
    ///
    /// - Returns: false if the exchange has ended, and the connection is free for another one.
    func starts(_ exchange: Exchange, on connection: Connection) -> Bool {
        guard let context, context.channel.isActive, machine.canBegin else {
            // It was lost on the way here.
            pool.spent(connection)
            pool.send(exchange)
            return true
        }
        guard exchange.assign(to: connection) else {
            exchange.resume(throwing: CancellationError())
            return false
        }
        let deadline = exchange.deadline
        if let deadline, deadline <= .now() {
            exchange.resume(throwing: exchange.deadlinePassed(.queue, delivery: .notSent))
            return false
        }
        let request = exchange.request
        let body = OutgoingBody(request)
        outgoing.clear()
        do {
            if let upgrade = exchange.upgrade {
                try RequestEncoder.write(upgrade.added(to: request.head), framing: body.framing, form: .origin, into: &outgoing)
            } else {
                try RequestEncoder.write(request.head, framing: body.framing, form: .origin, into: &outgoing)
            }
        } catch {
            exchange.resume(throwing: exchange.unwritable(error))
            return false
        }
        _ = machine.begin()
        let isReused = connection.countBegin()
        idleDue = nil
        parser.begin(request.method)
        current = Current(exchange, deadline: deadline)
        exchange.events?.record(.connectionAcquired, connection: connection.info(isReused: isReused))
        guard current?.exchange === exchange else { return true }  // a sink has ended it
        send(body, of: exchange, closes: RequestEncoder.asksToClose(request.headers), on: connection, context)
        setAlarm()
        return true
    }

    func send(
        _ body: OutgoingBody, of exchange: Exchange, closes: Bool, on connection: Connection, _ context: ChannelHandlerContext
    ) {
        let events = exchange.events
        var kind = body.kind
        if kind == .present, case .memory(let data) = body.content, data.count <= OutgoingBody.joinedBytes {
            // One buffer, one system call.
            outgoing.writeBytes(data)
            current?.sentBytes = Int64(data.count)
            kind = .none
        }
        machine.writeHead(kind, closes: closes)
        var left: EventLoopPromise<Void>?
        // The failure of a request that must not be sent twice says whether it has left.
        if exchange.isFollowed || !exchange.request.method.isIdempotent {
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenFailure { _ in if self.isWritingSmallHead { self.machine.headHasNotLeft() } }
            left = promise
            isWritingSmallHead = outgoing.readableBytes <= Self.smallWriteBytes
        }
        context.writeAndFlush(wrapOutboundOut(outgoing), promise: left)
        isWritingSmallHead = false
        guard current?.exchange === exchange else { return }  // the write has failed
        events?.record(.requestHeadSent)
        guard current?.exchange === exchange else { return }  // a sink has ended it
        switch kind {
        case .none:
            if let sent = current?.sentBytes, sent > 0 { events?.record(.requestBytesSent, bytes: sent) }
            requestLeaves(exchange, left)
        case .present: startUpload(body, of: exchange, on: connection)
        case .afterContinue:
            current?.continueDue = .now() + .seconds(1)
        }
    }
}
#endif
