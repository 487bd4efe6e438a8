#if NIO
internal import ErrandCore
internal import NIOCore

/// The body of a request.
extension HTTP1Handler {
    func startUpload(_ body: OutgoingBody, of exchange: Exchange, on connection: Connection) {
        switch body.content {
        case .none: break
        case .memory(let data):
            current?.upload = .memory(data, offset: 0)
            writeMemory()
        case .stream:
            guard let attempt = current?.attempt else { return }
            current?.upload = .pump(exchange, attempt, on: connection)
        }
    }

    /// Writes as much of a body in memory as the channel takes. Flushing calls it again from within, when the channel takes more.
    func writeMemory() {
        while let context, context.channel.isWritable, machine.isUploading, let exchange = current?.exchange, let attempt = machine.attempt,
            case .memory? = current?.upload
        {
            // One flush for many pieces: the kernel gets them by one system call.
            while context.channel.isWritable, case .memory(let data, let offset)? = current?.upload {
                let count = min(data.count - offset, UploadPump.pieceBytes(of: exchange))
                let start = data.startIndex + offset
                let isLast = offset + count == data.count
                current?.upload = isLast ? .none : .memory(data, offset: offset + count)
                let buffer = writeBuffers.filled(with: CollectionOfOne(data[start..<(start + count)]), count, isChunked: false)
                var promise = progress(of: exchange, context)
                if isLast, promise == nil, exchange.isFollowed { promise = context.eventLoop.makePromise() }
                context.write(wrapOutboundOut(buffer), promise: promise)
                sent(count)
                guard isLast else { continue }
                context.flush()
                // The next exchange may begin in here, which writes its own body.
                return finishUpload(of: attempt, promise)
            }
            context.flush()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { if context.channel.isWritable { writeMemory() } }

    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID) {
        let batch = queue.takeBatch()
        guard machine.takes(.piece, of: attempt), let current, current.upload.reads(queue), let context else {
            return queue.window.remove(batch.bytes)
        }
        let exchange = current.exchange
        let isChunked = exchange.request.body.length == nil
        write(batch, of: exchange, isChunked: isChunked, queue, context)
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
            // Writes end in their order: an empty one ends with the last bytes.
            if isChunked || left != nil { context.write(wrapOutboundOut(last), promise: left) }
            context.flush()
            finishUpload(of: attempt, left)
        case nil: context.flush()
        }
    }

    /// Writes pieces, many of which may go into one buffer, and flushes nothing.
    private func write(
        _ batch: UploadQueue.Batch, of exchange: Exchange, isChunked: Bool, _ queue: UploadQueue, _ context: ChannelHandlerContext
    ) {
        let limit = UploadPump.pieceBytes(of: exchange)
        var rest = batch.pieces[...]
        while !rest.isEmpty {
            var (end, count) = (rest.startIndex, 0)
            while end < rest.endIndex, count == 0 || count + rest[end].count <= limit {
                count += rest[end].count
                end += 1
            }
            let pieces = rest[..<end]
            rest = rest[end...]
            let buffer = writeBuffers.filled(with: pieces, count, isChunked: isChunked)
            var promise = progress(of: exchange, context)
            if rest.isEmpty {
                // Writes end in their order: with the last one, all of the batch has left.
                let last = promise ?? context.eventLoop.makePromise(of: Void.self)
                let bytes = batch.bytes
                last.futureResult.whenComplete { _ in queue.window.remove(bytes) }
                promise = last
            }
            context.write(wrapOutboundOut(buffer), promise: promise)
            for piece in pieces { sent(piece.count) }
        }
    }

    /// The last byte of the body was handed to the channel.
    ///
    /// - Parameter left: see ``requestLeaves(_:)``.
    private func finishUpload(of attempt: AttemptID, _ left: EventLoopPromise<Void>?) {
        // Flushing may have ended the attempt.
        guard machine.takes(.uploadEnd, of: attempt) else { return }
        let end = machine.finishUpload()
        current?.upload = .none
        writeBuffers.release()
        requestLeaves(left)
        if let end { finish(end) }
    }

    /// The last byte of the request was handed to the channel. When it has left, the wait for the response begins.
    ///
    /// A response may be complete before that. Then the exchange ends without the event that the request was sent.
    ///
    /// - Parameter left: of the last write. It is needed only if the exchange is followed.
    func requestLeaves(_ left: EventLoopPromise<Void>?) {
        guard let left, let current, current.exchange.isFollowed else { return }
        let (exchange, attempt) = (current.exchange, current.attempt)
        left.futureResult.assumeIsolated().whenSuccess {
            guard self.machine.takes(.requestSent, of: attempt) else { return }
            exchange.events?.record(.requestSent)
            // A sink may have ended the attempt.
            guard self.machine.takes(.requestSent, of: attempt), self.current?.head == nil else { return }
            self.current?.enter("firstByte", exchange.limits?.firstByte)
            self.setLimitAlarm()
        }
    }

    /// A promise for a write whose time is limited; `nil` if none is.
    func progress(of exchange: Exchange, _ context: ChannelHandlerContext) -> EventLoopPromise<Void>? {
        guard let limit = exchange.limits?.idleWrite, let attempt = current?.attempt else { return nil }
        let promise = context.eventLoop.makePromise(of: Void.self)
        current?.writeBegins(limit: limit)
        setAlarm()
        promise.futureResult.assumeIsolated().whenComplete { _ in
            guard self.machine.takes(.progress, of: attempt) else { return }
            self.current?.writeEnds(limit: limit)
            self.setAlarm()
        }
        return promise
    }

    /// The body could not be read.
    private func uploadFailed(_ error: any Error, of attempt: AttemptID) {
        guard let current, machine.takes(.uploadFailure, of: attempt) else { return }
        end(current.exchange, because: current.bodyFailure(error, at: machine.position))
    }

    func sent(_ count: Int) {
        current?.countSent(count)
        current?.reportSent()
    }

    func stopUpload() {
        let rest = current?.takeUpload()
        rest?.stop()
        writeBuffers.release()
    }
}

/// The memory of a few writes, used again when they have left.
struct WriteBuffers {
    static let count = 4
    private var buffers: [ByteBuffer] = []
    private var next = 0

    /// Returns a buffer with `pieces`, as one chunk if the body is sent in chunks
    /// ([RFC 9112, section 7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
    ///
    /// - Parameter count: how many bytes the pieces have together.
    mutating func filled(with pieces: some Collection<Data>, _ count: Int, isChunked: Bool) -> ByteBuffer {
        let capacity = isChunked ? count + 20 : count
        if buffers.count < Self.count {
            next = buffers.count
            buffers.append(ByteBuffer())
        } else {
            next = (next + 1) % Self.count
        }
        // A buffer that is still being written is not unique: clearing it allocates.
        buffers[next].clear(minimumCapacity: capacity)
        if isChunked { RequestEncoder.chunkHead(count, into: &buffers[next]) }
        for piece in pieces { buffers[next].writeBytes(piece) }
        if isChunked { RequestEncoder.chunkEnd(into: &buffers[next]) }
        return buffers[next]
    }

    mutating func release() { if !buffers.isEmpty { self = WriteBuffers() } }
}
#endif
