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
            let window = UploadWindow()
            let pump = UploadPump(exchange: exchange, connection: connection, window: window)
            current?.upload = .pump(Task { await pump.run() }, window)
        }
    }

    /// Writes as much of a body in memory as the channel takes. Flushing calls it again from within, when the channel takes more.
    func writeMemory() {
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

    func finishUpload() {
        let end = machine.finishUpload()
        current?.upload = .none
        current?.exchange.events?.record(.requestSent)
        if let end { return finish(end) }
        if current?.head == nil { enter("firstByte", current?.exchange.limits?.firstByte) }
    }

    /// A promise for a write whose time is limited; `nil` if none is.
    func progress(of exchange: Exchange, _ context: ChannelHandlerContext) -> EventLoopPromise<Void>? {
        guard let limit = exchange.limits?.idleWrite else { return nil }
        let promise = context.eventLoop.makePromise(of: Void.self)
        current?.pendingWrites += 1
        if current?.pendingWrites == 1 { restartWriteLimit(limit) }
        promise.futureResult.assumeIsolated().whenComplete { _ in
            // There is no limit when the rest of the request is not wanted.
            guard self.current?.exchange === exchange, self.current?.writeLimit != nil else { return }
            self.current?.pendingWrites -= 1
            self.restartWriteLimit(self.current?.pendingWrites == 0 ? nil : limit)
        }
        return promise
    }

    /// - Parameter limit: `nil`: no write is in progress.
    private func restartWriteLimit(_ limit: Duration?) {
        current?.writeLimit = PhaseLimit("idleWrite", limit)
        if limit != nil { setAlarm() }
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

    func sent(_ count: Int) {
        current?.sentBytes += Int64(count)
        if let current, let events = current.exchange.events { events.record(.requestBytesSent, bytes: current.sentBytes) }
    }

    func stopUpload() {
        switch current?.upload {
        case .pump(let task, let window)?:
            task.cancel()
            window.close()
        case .memory?, UploadSource.none?, nil: break
        case .upgraded?: break
        }
        current?.upload = .none
        current?.writeLimit = nil
        current?.continueDue = nil
    }
}
#endif
