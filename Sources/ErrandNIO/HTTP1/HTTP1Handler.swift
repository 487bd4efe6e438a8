#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat

/// The last handler of an HTTP/1.1 channel, which runs the exchanges of the connection one after the other.
///
/// ``HTTP1Machine`` makes the decisions, and ``ResponseParser`` parses the responses. All methods run on the channel's event
/// loop.
final class HTTP1Handler: ChannelDuplexHandler, HTTPHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    let pool: Pool
    let isSecure: Bool

    var machine = HTTP1Machine()
    var parser: ResponseParser
    /// The exchange in progress.
    var current: ActiveExchange?
    var context: ChannelHandlerContext?
    var connection: Connection?
    /// The received bytes that are not yet parsed.
    var incoming: ByteBuffer?
    var outgoing = ByteBuffer()
    var writeBuffers = WriteBuffers()
    /// Whether the write in progress is small, so that the kernel takes the whole write or nothing. If this value is false and a write
    /// fails, a part of the bytes may have been sent.
    var isWritingSmallHead = false
    /// The maximum size of a write that the kernel takes completely or not at all: 4 KiB. The size of 4 KiB is valid only if the connection
    /// has no other bytes to send.
    static let smallWriteBytes = 4096
    var alarm = Alarm()
    /// The action of the alarm. The handler keeps the closure, so that an exchange does not allocate a new closure.
    private(set) var ringAlarm: (@Sendable () -> Void)?
    var idleDue: NIODeadline?
    /// Whether the channel reads nothing until the reader of the response has taken more data.
    var isHeldBack = false
    var isReadWanted = false
    /// Whether the end of the connection is also the end of the response in progress.
    var endsWithConnection = false
    /// ``ResponseHead/keepAliveSeconds`` of the response in progress.
    var keepAliveSeconds: Int?
    /// The number of received bytes of the body of a proxy's challenge; `nil` unless the handler responds to a challenge.
    var challengeBytes: Int?
    /// The reason why the channel closes.
    var failure: (any Error)?

    init(of pool: Pool, isSecure: Bool) {
        (self.pool, self.isSecure) = (pool, isSecure)
        parser = ResponseParser(limits: pool.settings.responseLimits)
    }

    // MARK: - The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ringAlarm = { bound.value.alarmRang() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        (self.context, ringAlarm) = (nil, nil)
        lose(failure)
        if let connection { pool.didClose(connection) }
        connection = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inputClosed() }
    }

    // MARK: - An exchange starts

    func start(_ exchange: Exchange, on connection: Connection) -> Bool {
        guard let context, context.channel.isActive, machine.canStartAttempt else {
            // The connection was lost before the exchange reached this handler.
            pool.remove(connection)
            pool.send(exchange)
            return true
        }
        // The head is made before the connection takes the exchange, because an authenticator may cancel the exchange.
        let head: HTTPRequest?
        do throws(ProxyAuthorizationError) {
            head = try exchange.changedHead()
        } catch {
            exchange.resume(throwing: exchange.proxyFailure(error, to: nil))
            return false
        }
        guard let taken = exchange.activate(on: connection) else { return false }
        let request = exchange.request
        let body = exchange.outgoingBody
        outgoing.clear()
        do {
            try RequestEncoder.write(head ?? request.head, framing: body.framing, form: exchange.route.form, into: &outgoing)
        } catch {
            exchange.resume(throwing: exchange.unwritable(error))
            return false
        }
        _ = machine.startAttempt()
        let isReused = connection.countBegin()
        idleDue = nil
        parser.expectResponse(to: request.method)
        current = ActiveExchange(taken, AttemptID(machine.exchangesStarted))
        (endsWithConnection, keepAliveSeconds) = (false, nil)
        exchange.events?.record(.connectionAcquired, connection: connection.info(for: exchange.origin, isReused: isReused))
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
            // Head and body share one buffer, and are sent by one system call.
            outgoing.writeBytes(data)
            current?.countSent(data.count)
            kind = .none
        }
        machine.writeHead(kind, closes: closes)
        var left: EventLoopPromise<Void>?
        // If the method is not idempotent, a failure must report whether the request was sent.
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
        guard let attempt = current?.attempt, current?.exchange === exchange else { return }  // a sink has ended it
        switch kind {
        case .none:
            if let current, current.sentBytes > 0 { current.reportSent() }
            reportRequestSent(after: left, of: exchange, attempt)
        case .present: sendBody(body, of: exchange, attempt, on: connection)
        case .afterContinue:
            current?.continueDue = .now() + .seconds(1)
        }
    }
}
#endif
