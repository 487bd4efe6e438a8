#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat

/// The part of the handler that receives responses.
extension HTTP1Handler {
    func read(context: ChannelHandlerContext) {
        if isHeldBack {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    func readOn(_ attempt: AttemptID) { if machine.takes(.readOn, of: attempt) { readOn() } }

    /// Performs the read that was held back, if any. Without the read that was held back, the next exchange of the connection would receive
    /// no response.
    func readOn() {
        isHeldBack = false
        if isReadWanted { context?.read() }
        isReadWanted = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard buffer.readableBytes > 0 else { return }
        guard machine.receiveBytes() else {
            // These bytes are not the response to a request. The connection closes, so that a later request does not get these
            // bytes as its response.
            return lose(nil)
        }
        if machine.isUpgraded { return receiveUpgraded(buffer) }
        if incoming == nil { incoming = buffer } else { incoming?.writeBuffer(&buffer) }
        parse()
    }

    func parse() {
        guard var buffer = incoming else { return }
        incoming = nil
        do {
            while current != nil {
                let (event, consumed) = try buffer.withUnsafeReadableBytes { bytes in try parser.next(in: bytes) }
                if case .body(let range) = event { take(range, of: buffer) }
                buffer.moveReaderIndex(forwardBy: consumed)
                switch event {
                case .needsMore:
                    if buffer.readableBytes > 0 { incoming = buffer.withoutParsedBytes }
                    return
                case .interim(let head): receive(interim: head)
                case .head(let head) where head.response.status.code == 101: return try upgrade(head, buffer)
                case .head(let head): receiveHead(head)
                case .body: break
                case .end(let trailers): return finish(trailers, hasMore: buffer.readableBytes > 0 || parser.isDoubtful)
                }
            }
        } catch {
            refuse(error)
        }
    }

    func receive(interim head: HTTPResponse) {
        current?.exchange.events?.record(.informationalResponse, response: head)
        if head.status.code == 100 { continueUpload() }
    }

    func continueUpload() {
        current?.continueDue = nil
        guard machine.continueUpload(), let current, let connection else { return }
        sendBody(current.exchange.outgoingBody, of: current.exchange, current.attempt, on: connection)
    }

    func receiveHead(_ head: ResponseHead) {
        guard let exchange = current?.exchange else { return }
        exchange.events?.record(.responseHead, response: head.response)
        if head.response.status.code == 421, moveOnAsMisdirected() { return }
        if head.response.status.code == 417, machine.isAwaitingContinue, moveOnWithoutExpect() { return }
        if head.response.status.code == 407, exchange.route.isForwarded { return receiveChallenge(head) }
        if head.hasAlternatives { pool.alternatives.receive(head.response, from: exchange.origin, at: Pool.now()) }
        current?.head = .init(head, to: exchange.request.method)
        current?.endLimit()
        (endsWithConnection, keepAliveSeconds) = (head.framing == .untilClose, head.keepAliveSeconds)
        if machine.receiveHead(status: head.response.status.code, isPersistent: head.isPersistent) { stopUpload() }
    }

    func take(_ range: Range<Int>, of buffer: ByteBuffer) {
        if challengeBytes != nil { return dropChallenge(range.count) }
        guard let data = buffer.received(at: buffer.readerIndex + range.lowerBound, range.count) else { return }
        current?.receive(data)
        current?.reportReceived()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if current?.head != nil, !machine.isUpgraded { deliver() }
    }

    /// Delivers the received part of the body. If the caller does not have the head yet, the head is delivered first.
    func deliver() {
        guard let connection, let exchange = current?.exchange, let (response, mustWait) = current?.deliver(on: connection) else { return }
        if mustWait { isHeldBack = true }
        setLimitAlarm()
        if let response { exchange.resume(returning: response) }
    }

    /// Completes the response in progress.
    func finish(_ trailers: HTTPFields?, hasMore: Bool) {
        let end = machine.receiveEnd(hasMore: hasMore)
        if end == .uploadContinues {
            // The reader has the whole response, but the upload of the exchange continues.
            deliver()
            current?.stream?.complete(trailers)
            current?.endLimit()
            current?.rest = RestLimit(pool.settings.restTimes, from: .now())
            let taken = takenBytes
            current?.restProgressBytes = taken
            setAlarm()
            // The channel must notice the end of the connection even before the reader has read the body.
            readOn()
        } else {
            finish(end, trailers)
        }
    }

    /// Completes the exchange in progress, and starts the next exchange.
    func finish(_ end: HTTP1Machine.End, _ trailers: HTTPFields? = nil) {
        if challengeBytes != nil { return sendAgain(end) }
        guard let connection, let done = takeCurrent() else { return }
        readOn()
        let release = end == .reuse ? pool.release(connection, idleTime: idleTimeAfterResponse) : nil
        if end != .reuse { pool.remove(connection) }
        done.complete(trailers)
        if let release { perform(release, on: connection) } else { close() }
    }

    /// The time for which the unused connection is kept, at most the `idleTimeout` of the settings. If the server states a time, the
    /// connection is not used in the last two seconds of that time. If the server states less than four seconds, the connection is not used
    /// in the second half of the stated time.
    private var idleTimeAfterResponse: Duration {
        guard let hint = keepAliveSeconds else { return pool.settings.idleTimeout }
        return min(pool.settings.idleTimeout, max(.seconds(hint) - .seconds(2), .milliseconds(500) * hint))
    }
}

extension ByteBuffer {
    /// The unread bytes. If this buffer has more read bytes than unread bytes, the result is a copy, so that the read bytes can be freed.
    var withoutParsedBytes: ByteBuffer { readerIndex > readableBytes ? ByteBuffer(buffer: self) : self }

    /// Returns received bytes. A slice of less than 16 KiB is copied, because a small slice must not keep a large buffer in
    /// memory.
    func received(at index: Int, _ count: Int) -> Data? {
        getData(at: index, length: count, byteTransferStrategy: count < 16 * 1024 ? .copy : .noCopy)
    }
}

extension ActiveExchange.Head {
    init(_ head: ResponseHead, to method: HTTPRequest.Method) {
        let version = HTTPVersion(major: 1, minor: head.minorVersion)
        self.init(response: head.response, version: version, expectedLength: head.expectedLength(for: method))
    }
}

extension ResponseHead {
    fileprivate func expectedLength(for method: HTTPRequest.Method) -> Int64? {
        switch framing {
        case .length(let length): length
        case .none: method.expectedResponseLength(status: response.status.code, declared: 0)
        case .chunked, .untilClose: nil
        }
    }
}
#endif
