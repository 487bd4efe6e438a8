#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The part of the handler that sends the bodies of requests. Pieces are written while the channel is writable.
extension HTTP1Handler {
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool { machine.takes(callback, of: attempt) }

    func activeExchange(of attempt: AttemptID) -> ActiveExchange? { current?.attempt == attempt ? current : nil }

    @discardableResult
    func change<Result>(_ attempt: AttemptID, _ body: (inout ActiveExchange) -> Result) -> Result? {
        guard current?.attempt == attempt else { return nil }
        return body(&current!)
    }

    func setAlarm(of attempt: AttemptID) { setAlarm() }

    func position(of attempt: AttemptID) -> ExchangePosition? { machine.position }

    func endUpload(of attempt: AttemptID, because error: any Error) {
        if let exchange = activeExchange(of: attempt)?.exchange { end(exchange, because: error) }
    }

    /// Writes pieces while the channel is writable. If a flush makes the channel writable again, this method is called recursively.
    func writeMemory(of attempt: AttemptID) {
        while let context, context.channel.isWritable, machine.takes(.piece, of: attempt), let exchange = current?.exchange,
            case .memory? = current?.upload
        {
            // Many pieces share one flush: the kernel gets all pieces in one system call.
            while context.channel.isWritable, let piece = current?.takePiece() {
                let count = piece.bytes.count
                let buffer = writeBuffers.filled(with: CollectionOfOne(piece.bytes), count, isChunked: false)
                var promise = progress(of: exchange, attempt, context)
                if piece.isLast, promise == nil, exchange.isFollowed { promise = context.eventLoop.makePromise() }
                context.write(wrapOutboundOut(buffer), promise: promise)
                countSent(count, of: exchange, attempt)
                guard piece.isLast else { continue }
                context.flush()
                // The next exchange may begin inside this call, and write its own body.
                return finishUpload(of: exchange, attempt, promise)
            }
            context.flush()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let attempt = machine.attempt { writeMemory(of: attempt) }
    }

    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID) {
        guard let batch = takeBatch(from: queue, of: attempt), let exchange = current?.exchange, let context else { return }
        let isChunked = exchange.request.body.length == nil
        _ = write(batch, from: queue, of: exchange, attempt, context) { pieces, count, _, promise in
            context.write(wrapOutboundOut(writeBuffers.filled(with: pieces, count, isChunked: isChunked)), promise: promise)
        }
        switch batch.end {
        case .failed(let error)?:
            context.flush()
            uploadFailed(error, of: attempt)
        case .complete(let trailers)?:
            var last = ByteBuffer()
            if isChunked {
                do {
                    try RequestEncoder.lastChunk(trailers: trailers, into: &last)
                } catch {
                    return uploadFailed(error, of: attempt)
                }
            }
            let left = exchange.isFollowed ? context.eventLoop.makePromise(of: Void.self) : nil
            // The writes complete in order, so an empty write completes when the last bytes have been sent.
            if isChunked || left != nil { context.write(wrapOutboundOut(last), promise: left) }
            context.flush()
            finishUpload(of: exchange, attempt, left)
        case nil: context.flush()
        }
    }

    /// Ends the upload after the channel has taken the last byte.
    ///
    /// - Parameter left: the promise of the last write; see ``HTTPHandler/reportRequestSent(after:of:_:)``.
    private func finishUpload(of exchange: Exchange, _ attempt: AttemptID, _ left: EventLoopPromise<Void>?) {
        // Flushing may have ended the attempt.
        guard machine.takes(.uploadEnd, of: attempt) else { return }
        let end = machine.finishUpload()
        current?.upload = .none
        writeBuffers.release()
        reportRequestSent(after: left, of: exchange, attempt)
        if let end { finish(end) }
    }

    /// Stops sending the body of the exchange in progress.
    func stopUpload() {
        if let attempt = current?.attempt { stopUpload(of: attempt) }
        writeBuffers.release()
    }
}

/// A few write buffers. A buffer is reused after its bytes have been sent.
struct WriteBuffers {
    static let count = 4
    private var buffers: [ByteBuffer] = []
    private var next = 0

    /// Returns a buffer with `pieces`, as one chunk if the body is sent in chunks
    /// ([RFC 9112, section 7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
    ///
    /// - Parameter count: the number of bytes of all pieces together.
    mutating func filled(with pieces: some Collection<Data>, _ count: Int, isChunked: Bool) -> ByteBuffer {
        let capacity = isChunked ? count + 20 : count
        if buffers.count < Self.count {
            next = buffers.count
            buffers.append(ByteBuffer())
        } else {
            next = (next + 1) % Self.count
        }
        // If the channel still writes a buffer, the channel shares the storage of the buffer, and clearing the buffer allocates new
        // storage.
        buffers[next].clear(minimumCapacity: capacity)
        if isChunked { RequestEncoder.chunkHead(count, into: &buffers[next]) }
        for piece in pieces { buffers[next].writeBytes(piece) }
        if isChunked { RequestEncoder.chunkEnd(into: &buffers[next]) }
        return buffers[next]
    }

    mutating func release() { if !buffers.isEmpty { self = WriteBuffers() } }
}
#endif
