#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// The last handler of an HTTP/2 channel, after `NIOHTTP2Handler`. The handler runs each exchange of the connection on its own
/// stream.
///
/// ``HTTP2Machine`` makes the decisions. `NIOHTTP2Handler` reads and writes frames, and holds DATA back until the flow-control windows of
/// the server allow the bytes. Streams have no channels. All methods run on the channel's event loop.
///
/// The handler flushes several written frames together. While frames are received, written frames wait, and are flushed after the last
/// received frame. All other frames, such as the heads of the exchanges that a turn of the loop starts, are flushed at the end of the turn.
final class HTTP2Handler: ChannelInboundHandler, HTTPHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = Never
    typealias OutboundOut = HTTP2Frame

    let pool: Pool
    var machine: HTTP2Machine
    var requestFields = HTTP2RequestFields()
    /// The exchanges in progress, by the identifiers of their streams.
    var active = StreamTable<ActiveExchange>()
    /// The identifiers of the streams, by the identities of their exchanges.
    var numbers: [ObjectIdentifier: Int32] = [:]
    var context: ChannelHandlerContext?
    var connection: Connection?
    /// Counts the frames that this side sends, and the received frames of unread streams. `nil` in tests.
    let frameGuard: FrameGuard?
    var alarm = Alarm()
    var idleDue: NIODeadline?
    /// Checks with pings whether the connection still works. `nil` if no pings are sent.
    var pings: PingWatch?
    /// Whether frames are being received. While frames are received, written frames wait, and are flushed after the last received frame.
    var isReading = false
    /// The time at which the wait for the response to a ping ends. The ping was sent together with RST_STREAM. `nil` if no response is
    /// awaited.
    var probeDue: NIODeadline?
    /// Whether the head of a request is being written.
    private var isWritingHead = false
    /// The error of `NIOHTTP2Handler` about the head that is being written.
    private var headError: (any Error)?
    var needsFlush = false
    var isFlushScheduled = false
    private var flushTurn: (@Sendable () -> Void)?
    private var ringAlarm: (@Sendable () -> Void)?
    var isClosing = false
    /// The reason why the channel closes.
    var failure: (any Error)?
    /// The code of the GOAWAY that was sent. If the server breaks the rules for frames, `NIOHTTP2Handler` chooses the code.
    var sentGoAway: HTTP2Code?

    init(of pool: Pool, machine: HTTP2Machine = HTTP2Machine(), after frameGuard: FrameGuard? = nil) {
        (self.pool, self.machine, self.frameGuard) = (pool, machine, frameGuard)
    }

    // MARK: - The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        flushTurn = { bound.value.endTurn() }
        ringAlarm = { bound.value.alarmRang() }
        frameGuard?.isRead = { [self] in machine.isActive($0) }
        if let interval = pool.settings.pingInterval {
            pings = PingWatch(every: interval, from: .now())
            setAlarm(at: pings?.due)
        }
        growConnectionWindow()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        alarm.cancel()
        (flushTurn, ringAlarm) = (nil, nil)
        frameGuard?.isRead = { _ in true }
        lose(failure)
        if let connection { pool.didClose(connection) }
        connection = nil
    }

    // MARK: - Writing

    func write(_ payload: HTTP2Frame.FramePayload, on number: Int32, _ promise: EventLoopPromise<Void>? = nil) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(number), payload: payload)), promise: promise)
        flushLater()
    }

    /// Flushes at the end of the turn.
    func flushLater() {
        needsFlush = true
        guard !isReading, !isFlushScheduled, let flushTurn, let context else { return }
        isFlushScheduled = true
        context.eventLoop.execute(flushTurn)
    }

    func endTurn() {
        isFlushScheduled = false
        performEffects(hasRead: false)
        flushNow()
    }

    func flushNow() {
        guard needsFlush else { return }
        needsFlush = false
        context?.flush()
    }

    func reset(_ number: Int32, _ code: HTTP2Code) { write(.rstStream(code.frameCode), on: number) }

    // MARK: - The alarm

    /// Makes sure that the alarm rings at `due` or earlier. All exchanges of the connection share one timer.
    func setAlarm(at due: NIODeadline?) {
        guard let context, let ringAlarm, let due, due < .distantFuture else { return }
        alarm.set(due, on: context.eventLoop, ringAlarm)
    }

    // MARK: - An exchange starts

    func start(_ exchange: Exchange, on connection: Connection) -> Bool {
        guard let context, context.channel.isActive, !machine.isClosed else {
            // The connection was lost before the exchange reached this handler.
            pool.remove(connection)
            pool.send(exchange)
            return true
        }
        guard machine.canStartStream else {
            // Before the exchange reached this handler, the server sent GOAWAY, or reduced the number of streams.
            pool.send(exchange)
            return false
        }
        guard let taken = exchange.activate(on: connection) else { return false }
        let body = exchange.outgoingBody
        let fields: HPACKHeaders
        do {
            fields = try requestFields.head(of: exchange.sentRequest, framing: body.framing)
        } catch {
            exchange.resume(throwing: exchange.unwritable(error))
            return false
        }
        guard let number = machine.startStream() else {
            pool.send(exchange)
            return false
        }
        let isReused = connection.countBegin()
        idleDue = nil
        active[number] = ActiveExchange(taken, AttemptID(number))
        numbers[ObjectIdentifier(exchange)] = number
        if machine.isDraining { pool.drain(connection) }
        exchange.events?.record(.connectionAcquired, connection: connection.info(for: exchange.origin, isReused: isReused))
        guard isActive(exchange, number) else { return true }  // a sink has ended it
        send(fields, body, of: exchange, number, on: connection, context)
        setAlarm(of: number)
        return true
    }

    private func send(
        _ fields: HPACKHeaders, _ body: OutgoingBody, of exchange: Exchange, _ number: Int32, on connection: Connection,
        _ context: ChannelHandlerContext
    ) {
        machine.writeHead(number, body.kind)
        var left: EventLoopPromise<Void>?
        if body.kind == .none, exchange.isFollowed { left = context.eventLoop.makePromise() }
        isWritingHead = true
        write(.headers(.init(headers: fields, endStream: body.kind == .none)), on: number, left)
        isWritingHead = false
        if let error = headError {
            headError = nil
            return headHasNotLeft(number, error)
        }
        exchange.events?.record(.requestHeadSent)
        guard isActive(exchange, number) else { return }  // a sink has ended it
        switch body.kind {
        case .none: reportRequestSent(after: left, of: exchange, AttemptID(number))
        case .present: startUpload(body, of: exchange, number, on: connection)
        case .afterContinue: active.change(number) { $0.continueDue = .now() + .seconds(1) }
        }
    }

    /// Keeps an error if a head is being written. Returns false if no head is being written.
    func keepHeadError(_ error: any Error) -> Bool {
        if isWritingHead { headError = error }
        return isWritingHead
    }

    func isActive(_ exchange: Exchange, _ number: Int32) -> Bool { numbers[ObjectIdentifier(exchange)] == number }

    /// Removes and returns an exchange that is over.
    func remove(_ number: Int32) -> ActiveExchange? {
        guard let done = active.removeValue(forKey: number) else { return nil }
        numbers[ObjectIdentifier(done.exchange)] = nil
        connection?.countEnd()
        return done
    }

    // MARK: - Other protocols

    // An upgrade always uses a connection of HTTP/1.1: see `Route.needsHTTP1`.
    func writeUpgraded(_ exchange: Exchange) {}
    func closeUpgraded(_ exchange: Exchange) {}
}

extension HTTP2Handler: NIOHTTP2FrameDelegate {
    /// Counts a frame that `NIOHTTP2Handler` has sent. The frame may be sent long after the write, because `NIOHTTP2Handler`
    /// may hold DATA back.
    func wroteFrame(_ frame: HTTP2Frame) {
        switch frame.payload {
        case .data(let data):
            frameGuard?.countSent(data.data.readableBytes)
            machine.leave(Int32(frame.streamID), ends: data.endStream)
        case .headers(let headers):
            frameGuard?.countSent(nil)
            if headers.endStream { machine.leave(Int32(frame.streamID), ends: true) }
        case .goAway(_, let code, _) where sentGoAway == nil: sentGoAway = HTTP2Code(code)
        default: break
        }
    }
}

extension HTTP2Code {
    init(_ code: NIOHTTP2.HTTP2ErrorCode) { self.init(number: UInt32(code.networkCode)) }
    var frameCode: NIOHTTP2.HTTP2ErrorCode { .init(networkCode: Int(number)) }
}
#endif
