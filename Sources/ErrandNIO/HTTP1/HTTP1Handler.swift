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
        let deadline: NIODeadline?
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
        /// Writes of the body that the network has not taken.
        var pendingWrites = 0

        init(_ exchange: Exchange) { (self.exchange, deadline) = (exchange, exchange.deadline) }

        var sizes: ExchangeLifetime.BodySizes { .init(requestBytes: sentBytes, responseBytes: receivedBytes) }
    }

    /// The rest of the request's body.
    enum UploadSource {
        case none
        case memory(Data, offset: Int)
        case pump(Task<Void, Never>, UploadWindow)
    }

    private let number: Int
    private let origin: Origin
    private let pool: Pool
    private let isSecure: Bool

    private var machine = HTTP1Machine()
    private var parser: ResponseParser
    private var current: Current?
    private(set) var context: ChannelHandlerContext?
    private var connection: Connection?
    /// What was received, and not parsed.
    private var incoming: ByteBuffer?
    private var outgoing = ByteBuffer()
    private var alarm = Alarm()
    private var idleDue: NIODeadline?
    /// Whether nothing is read until the reader of a response has room.
    private var isHeldBack = false
    private var isReadWanted = false
    /// Why the channel closes.
    private var failure: (any Error)?
    private var isReady = false
    private var ready: EventLoopPromise<Connection>?

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

    private func becomeReady() {
        isReady = true
        succeedReady()
    }

    /// Keeps `promise` when the connection can take an exchange: when it is active, and after the TLS handshake, if there is one.
    func whenReady(_ promise: EventLoopPromise<Connection>) {
        ready = promise
        if let failure {
            failReady(failure)
        } else if isReady {
            succeedReady()
        }
    }

    private func succeedReady() {
        guard let promise = ready, let context else { return }
        ready = nil
        let connection = Connection(number, to: origin, context.channel, self)
        self.connection = connection
        promise.succeed(connection)
    }

    private func failReady(_ error: any Error) {
        ready?.fail(error)
        ready = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { becomeReady() }
    }

    // MARK: - An exchange begins

    func begin(_ exchange: Exchange) {
        guard let context, let connection, context.channel.isActive, machine.canBegin else {
            // It was lost on the way here.
            if let connection { pool.spent(connection) }
            return pool.send(exchange)
        }
        guard exchange.assign(to: connection) else {
            exchange.resume(throwing: CancellationError())
            return release(connection)
        }
        let request = exchange.request
        let body = OutgoingBody(request)
        outgoing.clear()
        do {
            try RequestEncoder.write(request.head, framing: body.framing, form: .origin, into: &outgoing)
        } catch {
            exchange.resume(
                throwing: exchange.failure(.invalidRequest, phase: .request, message: "\(error)", underlying: error, delivery: .notSent))
            return release(connection)
        }
        guard machine.begin() else { return }
        let isReused = connection.countBegin()
        exchange.events?.record(.connectionAcquired, connection: connection.info(isReused: isReused))
        idleDue = nil
        parser.begin(request.method)
        current = Current(exchange)
        send(body, of: exchange, closes: RequestEncoder.asksToClose(request.headers), on: connection, context)
        setAlarm()
    }

    private func send(
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
        // Whoever may not send the request twice wants to know whether it has left.
        if events == nil, exchange.request.method.isIdempotent {
            context.writeAndFlush(wrapOutboundOut(outgoing), promise: nil)
        } else {
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenFailure { _ in self.machine.headHasNotLeft() }
            context.writeAndFlush(wrapOutboundOut(outgoing), promise: promise)
        }
        guard current?.exchange === exchange else { return }  // the write has failed
        events?.record(.requestHeadSent)
        switch kind {
        case .none:
            if let sent = current?.sentBytes, sent > 0 { events?.record(.requestBytesSent, bytes: sent) }
            events?.record(.requestSent)
            enter("firstByte", exchange.limits?.firstByte)
        case .present: startUpload(body, of: exchange, on: connection)
        case .afterContinue:
            current?.continueDue = .now() + .seconds(1)
        }
    }

    // MARK: - Uploads

    private func startUpload(_ body: OutgoingBody, of exchange: Exchange, on connection: Connection) {
        switch body.content {
        case .none: break
        case .memory(let data):
            current?.upload = .memory(data, offset: 0)
            writeMemory()
        case .stream:
            let window = UploadWindow()
            let pump = UploadPump(exchange: exchange, connection: connection, window: window)
            current?.upload = .pump(Task { await pump.run() }, window)
        }
    }

    /// Writes as much of a body in memory as the channel takes. Flushing calls it again from within, when the channel takes more.
    private func writeMemory() {
        while let context, context.channel.isWritable, machine.isUploading, case .memory(let data, let offset)? = current?.upload,
            let exchange = current?.exchange
        {
            let count = min(data.count - offset, UploadPump.pieceBytes(of: exchange))
            let start = data.startIndex + offset
            current?.upload = .memory(data, offset: offset + count)
            context.write(wrapOutboundOut(ByteBuffer(bytes: data[start..<(start + count)])), promise: progress(of: exchange, context))
            sent(count)
            if offset + count == data.count { finishUpload() }
            context.flush()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { if context.channel.isWritable { writeMemory() } }

    /// The pump has read a piece of the body.
    func upload(_ piece: Data, of exchange: Exchange, _ window: UploadWindow) {
        guard current?.exchange === exchange, machine.isUploading, let context else { return window.remove(piece.count) }
        let promise = context.eventLoop.makePromise(of: Void.self)
        let count = piece.count
        promise.futureResult.whenComplete { _ in window.remove(count) }
        if let progress = progress(of: exchange, context) { promise.futureResult.cascade(to: progress) }
        var buffer = context.channel.allocator.buffer(capacity: count + 16)
        let isChunk = exchange.request.body.length == nil
        if isChunk { RequestEncoder.chunkHead(count, into: &buffer) }
        buffer.writeBytes(piece)
        if isChunk { RequestEncoder.chunkEnd(into: &buffer) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: promise)
        sent(count)
    }

    /// The pump has read the end of the body.
    func finishUpload(of exchange: Exchange, trailers: HTTPFields?) {
        guard current?.exchange === exchange, machine.isUploading, let context else { return }
        if exchange.request.body.length == nil {
            var last = context.channel.allocator.buffer(capacity: 64)
            do {
                try RequestEncoder.lastChunk(trailers: trailers, into: &last)
            } catch {
                return uploadFailed(error, of: exchange)
            }
            context.writeAndFlush(wrapOutboundOut(last), promise: nil)
        }
        if current?.exchange === exchange { finishUpload() }
    }

    private func finishUpload() {
        let end = machine.finishUpload()
        current?.upload = .none
        current?.exchange.events?.record(.requestSent)
        if let end { return finish(end) }
        if current?.head == nil { enter("firstByte", current?.exchange.limits?.firstByte) }
    }

    /// A promise for a write whose time is limited; `nil` if none is.
    private func progress(of exchange: Exchange, _ context: ChannelHandlerContext) -> EventLoopPromise<Void>? {
        guard let limit = exchange.limits?.idleWrite else { return nil }
        let promise = context.eventLoop.makePromise(of: Void.self)
        current?.pendingWrites += 1
        if current?.pendingWrites == 1 { enter("idleWrite", limit) }
        promise.futureResult.assumeIsolated().whenComplete { _ in
            guard self.current?.exchange === exchange else { return }
            self.current?.pendingWrites -= 1
            guard self.machine.isUploading else { return }
            self.enter("idleWrite", self.current?.pendingWrites == 0 ? nil : limit)
        }
        return promise
    }

    /// The body could not be read.
    func uploadFailed(_ error: any Error, of exchange: Exchange) {
        guard current?.exchange === exchange, machine.isUploading else { return }
        let failure =
            error is CancellationError
            ? error
            : exchange.failure(
                .requestBody, phase: .send, message: FailureText.of(error), underlying: error, response: current?.head?.response,
                delivery: machine.position?.delivery ?? .unknown)
        end(exchange, because: failure)
    }

    private func sent(_ count: Int) {
        current?.sentBytes += Int64(count)
        if let current, let events = current.exchange.events { events.record(.requestBytesSent, bytes: current.sentBytes) }
    }

    private func stopUpload() {
        switch current?.upload {
        case .pump(let task, let window)?:
            task.cancel()
            window.close()
        case .memory?, UploadSource.none?, nil: break
        }
        current?.upload = .none
        current?.continueDue = nil
    }

    // MARK: - Receiving

    func read(context: ChannelHandlerContext) {
        if isHeldBack {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    /// The reader has room for more.
    func readOn(_ exchange: Exchange) {
        guard current?.exchange === exchange, isHeldBack else { return }
        isHeldBack = false
        if isReadWanted { context?.read() }
        isReadWanted = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard buffer.readableBytes > 0 else { return }
        guard machine.receiveBytes() else {
            // Nobody asked for these bytes, so nobody may ever take them for a response.
            return lose(nil)
        }
        if incoming == nil { incoming = buffer } else { incoming?.writeBuffer(&buffer) }
        parse()
    }

    private func parse() {
        guard var buffer = incoming else { return }
        incoming = nil
        do {
            while current != nil {
                let (event, consumed) = try buffer.withUnsafeReadableBytes { bytes in try parser.next(in: bytes) }
                if case .body(let range) = event { take(range, of: buffer) }
                buffer.moveReaderIndex(forwardBy: consumed)
                switch event {
                case .needsMore:
                    if buffer.readableBytes > 0 { incoming = buffer }
                    return
                case .interim(let head): received(interim: head)
                case .head(let head): try received(head)
                case .body: break
                case .end(let trailers): return finish(trailers, hasMore: buffer.readableBytes > 0)
                }
            }
        } catch {
            refuse(error)
        }
    }

    private func received(interim head: HTTPResponse) {
        current?.exchange.events?.record(.informationalResponse, response: head)
        if head.status.code == 100 { continueUpload() }
    }

    private func continueUpload() {
        current?.continueDue = nil
        guard machine.continueUpload(), let exchange = current?.exchange, let connection else { return }
        startUpload(OutgoingBody(exchange.request), of: exchange, on: connection)
    }

    private func received(_ head: ResponseHead) throws {
        guard head.response.status.code != 101 else { throw UnexpectedUpgrade() }
        current?.exchange.events?.record(.responseHead, response: head.response)
        current?.head = head
        current?.limit = nil
        if machine.receiveHead(status: head.response.status.code, isPersistent: head.isPersistent) { stopUpload() }
    }

    private func take(_ range: Range<Int>, of buffer: ByteBuffer) {
        let (index, count) = (buffer.readerIndex + range.lowerBound, range.count)
        // A slice must not pin a large buffer, so small ones are copied.
        let strategy: ByteBuffer.ByteTransferStrategy = count < 16 * 1024 ? .copy : .noCopy
        guard let data = buffer.getData(at: index, length: count, byteTransferStrategy: strategy), current != nil else { return }
        current?.receivedBytes += Int64(count)
        if let last = current?.chunks.indices.last, let before = current?.chunks[last].count, before + count <= 16 * 1024 {
            current?.chunks[last].append(data)
        } else {
            current?.chunks.append(data)
        }
        if let current, let events = current.exchange.events { events.record(.responseBytesReceived, bytes: current.receivedBytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if current?.head != nil { deliver() }
    }

    /// Delivers the head, if it was not, and what was received of the body.
    private func deliver() {
        guard let current, let head = current.head, let connection else { return }
        enter("idleRead", current.exchange.limits?.idleRead)
        if let stream = current.stream {
            if stream.append(&self.current!.chunks) { isHeldBack = true }
            return
        }
        let stream = ResponseStream(current.exchange, on: connection)
        self.current?.stream = stream
        if stream.append(&self.current!.chunks) { isHeldBack = true }
        let request = current.exchange.request
        let body = ResponseBody(stream, expectedLength: head.expectedLength(for: request.method), request: request)
        var response = Response(head: head.response, body: body, request: request, exchange: stream.lifetime)
        response.metadata.httpVersion = head.versionText
        current.exchange.resume(returning: response)
    }

    /// The response is complete.
    private func finish(_ trailers: HTTPFields?, hasMore: Bool) {
        isHeldBack = false
        let end = machine.receiveEnd(hasMore: hasMore)
        if end == .uploadGoesOn {
            // The reader has everything; the exchange goes on.
            deliver()
            current?.stream?.complete(trailers)
            current?.limit = nil
        } else {
            finish(end, trailers)
        }
    }

    /// The exchange is over.
    private func finish(_ end: HTTP1Machine.End, _ trailers: HTTPFields? = nil) {
        stopUpload()
        guard let connection, let done = current, let head = done.head else { return }
        current = nil
        connection.countEnd()
        let release = end == .reuse ? pool.release(connection, idleTime: idleTime(after: head)) : nil
        if end != .reuse { pool.spent(connection) }
        complete(done, head, trailers)
        switch release {
        case .begin(let exchange)?: begin(exchange)
        case .idle?:
            idleDue = .now() + idleTime(after: head).timeAmount
            setAlarm()
            if isReadWanted { context?.read() }
            isReadWanted = false
        case .close?, nil: context?.close(promise: nil)
        }
    }

    private func complete(_ finished: Current, _ head: ResponseHead, _ trailers: HTTPFields?) {
        var done = finished
        let exchange = done.exchange
        if let stream = done.stream {
            _ = stream.append(&done.chunks)
            exchange.events?.record(.end)
            stream.lifetime.end(.complete, sizes: done.sizes)
            return stream.complete(trailers)
        }
        exchange.events?.record(.end)
        let data = done.chunks.count == 1 ? done.chunks[0] : Data(done.chunks.joined())
        var response = Response(
            head: head.response, body: ResponseBody(data, trailers: trailers), request: exchange.request,
            exchange: ExchangeLifetime(outcome: .complete, sizes: done.sizes))
        response.metadata.httpVersion = head.versionText
        exchange.resume(returning: response)
    }

    /// A server says for how long it keeps an idle connection. It is used no more for the last two seconds of that, or the last half.
    private func idleTime(after head: ResponseHead) -> Duration {
        guard let hint = head.keepAliveSeconds else { return pool.settings.idleTimeout }
        return min(pool.settings.idleTimeout, max(.seconds(hint) - .seconds(2), .milliseconds(500) * hint))
    }

    private func release(_ connection: Connection) {
        switch pool.release(connection, idleTime: pool.settings.idleTimeout) {
        case .begin(let exchange): begin(exchange)
        case .idle: becomeIdle(for: pool.settings.idleTimeout)
        case .close: context?.close(promise: nil)
        }
    }

    // MARK: - Times

    func becomeIdle(for time: Duration) {
        guard current == nil else { return }
        idleDue = .now() + time.timeAmount
        setAlarm()
    }

    /// The exchange enters a phase.
    ///
    /// - Parameter limit: `nil`: its time is not limited.
    private func enter(_ name: String, _ limit: Duration?) {
        guard current?.exchange.limits != nil else { return }
        current?.limit = PhaseLimit(name, limit)
        if limit != nil { setAlarm() }
    }

    private func setAlarm() {
        guard let context else { return }
        var due = idleDue ?? .distantFuture
        if let current {
            due = min(due, current.deadline ?? .distantFuture, current.continueDue ?? .distantFuture, current.limit?.due ?? .distantFuture)
        }
        guard due < .distantFuture else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        alarm.set(due, on: context.eventLoop) { bound.value.alarmRang() }
    }

    private func alarmRang() {
        alarm.rang()
        let now = NIODeadline.now()
        if let current, let due = current.deadline, due <= now {
            let position = machine.position
            let failure = current.exchange.deadlinePassed(
                position?.phase ?? .response, response: current.head?.response, delivery: position?.delivery ?? .unknown)
            return end(current.exchange, because: failure)
        }
        if let current, let limit = current.limit, limit.due <= now {
            // A reader that does not wait has all the time it wants.
            let since = current.head == nil ? nil : current.stream?.waitingSince ?? now
            if since.map({ $0 + limit.duration.timeAmount <= now }) ?? true {
                let position = machine.position
                let failure = current.exchange.limitPassed(
                    limit, position?.phase ?? .response, response: current.head?.response, delivery: position?.delivery ?? .unknown)
                return end(current.exchange, because: failure)
            }
            self.current?.limit?.due = (since ?? now) + limit.duration.timeAmount
        }
        if let due = current?.continueDue, due <= now { continueUpload() }
        if let due = idleDue, due <= now, let connection, pool.retire(connection) { return close() }
        setAlarm()
    }

    // MARK: - The end

    /// An exchange ends before its response is complete, and its connection with it.
    ///
    /// - Parameter error: `nil` if the rest of the response is not wanted.
    func end(_ exchange: Exchange, because error: (any Error)?) {
        guard let done = current, done.exchange === exchange, let connection else { return }
        stopUpload()
        current = nil
        connection.countEnd()
        _ = machine.close()
        pool.spent(connection)
        settle(done, error)
        close()
    }

    /// Gives the exchange its end, and what was received before it.
    private func settle(_ ended: Current, _ error: (any Error)?) {
        var done = ended
        let exchange = done.exchange
        guard done.head != nil else { return exchange.resume(throwing: error ?? CancellationError()) }
        if done.stream == nil, error != nil {
            // The head was received in the same turn, and not delivered yet.
            current = done
            deliver()
            done = current ?? done
            current = nil
        }
        guard let stream = done.stream else { return exchange.resume(throwing: error ?? CancellationError()) }
        if stream.isComplete {
            // Only the rest of the request was not sent, which the server did not want to wait for.
            exchange.events?.record(.end)
            return stream.lifetime.end(.complete, sizes: done.sizes)
        }
        _ = stream.append(&done.chunks)
        exchange.events?.record(.end, failure: error ?? CancellationError())
        stream.lifetime.end(error.map { .failed($0) } ?? .abandoned, sizes: done.sizes)
        stream.fail(error ?? CancellationError())
    }

    /// The other side breaks the rules of HTTP.
    private func refuse(_ error: any Error) {
        guard let exchange = current?.exchange, let position = machine.position else { return lose(error) }
        let failure = exchange.failure(
            .invalidResponse, phase: position.phase, message: FailureText.of(error), underlying: error,
            response: current?.head?.response, delivery: .sent)
        end(exchange, because: failure)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        failReady(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        failReady(failure ?? ChannelError.eof)
        lose(failure)
    }

    /// The connection is lost.
    private func lose(_ error: (any Error)?) {
        if error == nil, let head = current?.head, head.framing == .untilClose {
            machine.connectionEnds()
            if case .end(let trailers)? = try? parser.endOfInput(pending: incoming?.readableBytes ?? 0) {
                return finish(trailers, hasMore: false)
            }
        }
        let position = machine.close()
        guard let connection else { return close() }
        guard let done = current, let position else {
            _ = pool.retire(connection)
            return close()
        }
        stopUpload()
        current = nil
        connection.countEnd()
        pool.spent(connection)
        close()
        if position.mayBeStale, done.exchange.moveOn(after: position.delivery) { return pool.send(done.exchange, isFresh: true) }
        settle(done, failure(of: done, at: position, because: error))
    }

    private func failure(of done: Current, at position: HTTP1Machine.Position, because error: (any Error)?) -> TransportError {
        var message = error.map { FailureText.of($0) } ?? "connection closed by the server"
        if error == nil, position.delivery == .sent {
            do { _ = try parser.endOfInput(pending: incoming?.readableBytes ?? 0) } catch { message = FailureText.of(error) }
        }
        return done.exchange.failure(
            FailureText.isOfTLS(error) ? .tls : .connectionLost, phase: position.phase, message: message, underlying: error,
            response: done.head?.response, delivery: position.delivery)
    }

    func shutDown() {
        if let current {
            let failure = current.exchange.failure(
                .shutDown, phase: machine.position?.phase ?? .response, response: current.head?.response,
                delivery: machine.position?.delivery ?? .unknown)
            end(current.exchange, because: failure)
        } else {
            close()
        }
    }

    func close() {
        alarm.cancel()
        context?.close(promise: nil)
    }
}

/// A server changed the protocol, though nobody asked it to.
struct UnexpectedUpgrade: SafelyDescribedError {
    let description = "the server changed the protocol (101), which was not asked for"
}

extension ResponseHead {
    var versionText: String { minorVersion == 1 ? "1.1" : "1.\(minorVersion)" }

    func expectedLength(for method: HTTPRequest.Method) -> Int64? {
        switch framing {
        case .length(let length): length
        case .none: method == .head ? nil : 0
        case .chunked, .untilClose: nil
        }
    }
}
#endif
