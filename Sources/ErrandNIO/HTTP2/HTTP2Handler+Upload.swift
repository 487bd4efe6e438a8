#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHPACK
internal import NIOHTTP2

/// The body of a request. `NIOHTTP2Handler` holds DATA back until the server's windows have room: a write ends when its bytes have left.
extension HTTP2Handler {
    func startUpload(_ body: OutgoingBody, of exchange: Exchange, _ number: Int32, on connection: Connection) {
        guard machine.startUpload(number) else { return }  // see startWaitingUploads()
        switch body.content {
        case .none: break
        case .memory(let data):
            active.change(number) { $0.upload = .memory(data, offset: 0) }
            writeMemory(number, of: exchange)
        case .stream:
            // First, because the task may begin at once.
            let pump = UploadSource.pump(exchange, AttemptID(number), on: connection)
            active.change(number) { $0.upload = pump }
        }
    }

    /// Starts the uploads whose heads have left in this turn.
    func startWaitingUploads() {
        while let number = opened.popLast() {
            guard let exchange = active[number]?.exchange, let connection, machine.isUploading(number) else { continue }
            startUpload(exchange.outgoingBody, of: exchange, number, on: connection)
        }
    }

    /// Writes a body in memory, piece by piece: no more than may be ahead of the network.
    private func writeMemory(_ number: Int32, of exchange: Exchange) {
        guard let context else { return }
        while machine.takes(.piece, of: AttemptID(number)),
            case .memory(let data, let offset)? = active[number]?.upload,
            machine.streams[number].map({ $0.unsentBytes < HTTP2Limits.unsentBytes }) ?? false
        {
            let count = min(data.count - offset, UploadPump.pieceBytes(of: exchange))
            let start = data.startIndex + offset
            let isLast = offset + count == data.count
            active.change(number) { $0.upload = isLast ? .none : .memory(data, offset: offset + count) }
            var promise = progress(of: exchange, number, context)
            if isLast {
                if promise == nil, exchange.isFollowed { promise = context.eventLoop.makePromise() }
            } else {
                let written = promise ?? context.eventLoop.makePromise()
                machine.countUnsent(number, count)
                written.futureResult.assumeIsolated().whenSuccess {
                    self.machine.countUnsent(number, -count)
                    self.writeMemory(number, of: exchange)
                }
                promise = written
            }
            let buffer = ByteBuffer(bytes: data[start..<(start + count)])
            write(.data(.init(data: .byteBuffer(buffer), endStream: isLast)), on: number, promise)
            sent(count, of: exchange, number)
            if isLast { return finishUpload(number, promise) }
        }
    }

    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID) {
        let batch = queue.takeBatch()
        let number = Int32(attempt.number)
        guard let context, machine.takes(.piece, of: attempt), let current = active[number], current.upload.reads(queue) else {
            return queue.window.remove(batch.bytes)
        }
        let exchange = current.exchange
        var (trailers, ends) = (HPACKHeaders?.none, false)
        if case .complete(let fields)? = batch.end {
            do {
                trailers = try requestFields.trailers(fields, of: exchange.request)
                ends = true
            } catch {
                queue.window.remove(batch.bytes)
                return uploadFailed(error, number)
            }
        }
        var left: EventLoopPromise<Void>?
        if !batch.pieces.isEmpty { left = write(batch, of: exchange, number, ends: ends && trailers == nil, queue, context) }
        switch batch.end {
        case .failed(let error)?: uploadFailed(error, number)
        case .complete?:
            if trailers != nil || batch.pieces.isEmpty { left = exchange.isFollowed ? context.eventLoop.makePromise() : nil }
            if let trailers {
                write(.headers(.init(headers: trailers, endStream: true)), on: number, left)
            } else if batch.pieces.isEmpty {
                write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), on: number, left)
            }
            finishUpload(number, left)
        case nil: break
        }
    }

    /// Writes pieces, many of which may go into one frame. Returns the promise of the last write.
    private func write(
        _ batch: UploadQueue.Batch, of exchange: Exchange, _ number: Int32, ends: Bool, _ queue: UploadQueue,
        _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        let limit = UploadPump.pieceBytes(of: exchange)
        var rest = batch.pieces[...]
        var last: EventLoopPromise<Void>?
        while !rest.isEmpty {
            var (end, count) = (rest.startIndex, 0)
            while end < rest.endIndex, count == 0 || count + rest[end].count <= limit {
                count += rest[end].count
                end += 1
            }
            var buffer = ByteBuffer()
            buffer.reserveCapacity(count)
            let pieces = rest[..<end]
            for piece in pieces { buffer.writeBytes(piece) }
            rest = rest[end...]
            var promise = progress(of: exchange, number, context)
            if rest.isEmpty {
                // Writes of a stream end in their order: with the last one, all of the batch has left.
                let written = promise ?? context.eventLoop.makePromise(of: Void.self)
                let bytes = batch.bytes
                written.futureResult.whenComplete { _ in queue.window.remove(bytes) }
                (promise, last) = (written, written)
            }
            write(.data(.init(data: .byteBuffer(buffer), endStream: ends && rest.isEmpty)), on: number, promise)
            for piece in pieces { sent(piece.count, of: exchange, number) }
        }
        return last
    }

    /// The last byte of the body was handed to the channel.
    ///
    /// - Parameter left: see ``requestLeaves(_:_:)``.
    private func finishUpload(_ number: Int32, _ left: EventLoopPromise<Void>?) {
        machine.finishUpload(number)
        active.change(number) { $0.upload = .none }
        requestLeaves(number, left)
    }

    /// The last byte of the request was handed to the channel. When it has left, the wait for the response begins.
    ///
    /// - Parameter left: of the last write. It is needed only if the exchange is followed.
    func requestLeaves(_ number: Int32, _ left: EventLoopPromise<Void>?) {
        guard let left, let exchange = active[number]?.exchange, exchange.isFollowed else { return }
        let attempt = AttemptID(number)
        left.futureResult.assumeIsolated().whenSuccess {
            guard self.machine.takes(.requestSent, of: attempt) else { return }
            exchange.events?.record(.requestSent)
            // A sink may have ended the attempt.
            guard self.machine.takes(.requestSent, of: attempt), self.active[number]?.head == nil else { return }
            self.active.change(number) { $0.enter("firstByte", exchange.limits?.firstByte) }
            self.setLimitAlarm(of: number)
        }
    }

    /// A promise for a write whose time is limited; `nil` if none is.
    private func progress(of exchange: Exchange, _ number: Int32, _ context: ChannelHandlerContext) -> EventLoopPromise<Void>? {
        guard let limit = exchange.limits?.idleWrite else { return nil }
        let promise = context.eventLoop.makePromise(of: Void.self)
        active.change(number) { $0.writeBegins(limit: limit) }
        setAlarm(of: number)
        promise.futureResult.assumeIsolated().whenComplete { _ in
            guard self.machine.takes(.progress, of: AttemptID(number)) else { return }
            self.active.change(number) { $0.writeEnds(limit: limit) }
            self.setAlarm(of: number)
        }
        return promise
    }

    func continueUpload(_ number: Int32) {
        active.change(number) { $0.continueDue = nil }
        guard machine.continueUpload(number), let exchange = active[number]?.exchange, let connection else { return }
        startUpload(exchange.outgoingBody, of: exchange, number, on: connection)
    }

    /// The body could not be read.
    private func uploadFailed(_ error: any Error, _ number: Int32) {
        guard machine.takes(.uploadFailure, of: AttemptID(number)), let current = active[number] else { return }
        settle(number, current.bodyFailure(error, at: machine.position(of: number)), code: .cancel)
    }

    private func sent(_ count: Int, of exchange: Exchange, _ number: Int32) {
        active.change(number) { $0.countSent(count) }
        if exchange.events != nil { active[number]?.reportSent() }
    }

    func stopUpload(_ number: Int32) {
        let rest = active.change(number) { $0.takeUpload() }
        rest?.stop()
    }
}
#endif
