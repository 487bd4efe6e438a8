#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHPACK
internal import NIOHTTP2

/// The part of the handler that sends the bodies of requests. `NIOHTTP2Handler` holds DATA back until the flow-control windows of the
/// server allow the bytes. A write is complete when its bytes were sent.
extension HTTP2Handler {
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool { machine.takes(callback, of: attempt) }

    func activeExchange(of attempt: AttemptID) -> ActiveExchange? { active[attempt.stream] }

    @discardableResult
    func change<Result>(_ attempt: AttemptID, _ body: (inout ActiveExchange) -> Result) -> Result? { active.change(attempt.stream, body) }

    func setAlarm(of attempt: AttemptID) { setAlarm(of: attempt.stream) }

    func position(of attempt: AttemptID) -> ExchangePosition? { machine.position(of: attempt.stream) }

    func endUpload(of attempt: AttemptID, because error: any Error) { settle(attempt.stream, error, code: .cancel) }

    func startUpload(_ body: OutgoingBody, of exchange: Exchange, _ number: Int32, on connection: Connection) {
        guard machine.startUpload(number) else { return }  // see HTTP2Machine.open(_:)
        sendBody(body, of: exchange, AttemptID(number), on: connection)
    }

    /// Starts the upload of a stream whose head has been sent.
    func startUpload(_ number: Int32) {
        guard let exchange = active[number]?.exchange, let connection, machine.isUploading(number) else { return }
        startUpload(exchange.outgoingBody, of: exchange, number, on: connection)
    }

    func continueUpload(_ number: Int32) {
        active.change(number) { $0.continueDue = nil }
        if machine.continueUpload(number) { startUpload(number) }
    }

    /// Writes piece by piece. At most ``HTTP2Limits/unsentBytes`` plus one piece are written before the network has taken these
    /// bytes.
    func writeMemory(of attempt: AttemptID) {
        let number = attempt.stream
        guard let context, let exchange = active[number]?.exchange else { return }
        while machine.takes(.piece, of: attempt),
            machine.streams[number].map({ $0.unsentBytes < HTTP2Limits.unsentBytes }) ?? false,
            let piece = active.change(number, { $0.takePiece() }) ?? nil
        {
            let count = piece.bytes.count
            var promise = progress(of: exchange, attempt, context)
            if piece.isLast {
                if promise == nil, exchange.isFollowed { promise = context.eventLoop.makePromise() }
            } else {
                let written = promise ?? context.eventLoop.makePromise()
                machine.countUnsent(number, count)
                written.futureResult.assumeIsolated().whenSuccess {
                    self.machine.countUnsent(number, -count)
                    self.writeMemory(of: attempt)
                }
                promise = written
            }
            write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: piece.bytes)), endStream: piece.isLast)), on: number, promise)
            countSent(count, of: exchange, attempt)
            if piece.isLast { return finishUpload(of: exchange, attempt, promise) }
        }
    }

    func writeQueued(_ queue: UploadQueue, of attempt: AttemptID) {
        let number = attempt.stream
        guard let batch = takeBatch(from: queue, of: attempt), let exchange = active[number]?.exchange, let context else { return }
        var (trailers, ends) = (HPACKHeaders?.none, false)
        if case .complete(let fields)? = batch.end {
            do {
                trailers = try requestFields.trailers(fields, of: exchange.request)
                ends = true
            } catch {
                queue.window.remove(batch.bytes)
                return uploadFailed(error, of: attempt)
            }
        }
        let endsWithData = ends && trailers == nil
        var left = write(batch, from: queue, of: exchange, attempt, context) { pieces, count, isLast, promise in
            var buffer = ByteBuffer()
            buffer.reserveCapacity(count)
            for piece in pieces { buffer.writeBytes(piece) }
            write(.data(.init(data: .byteBuffer(buffer), endStream: endsWithData && isLast)), on: number, promise)
        }
        switch batch.end {
        case .failed(let error)?: uploadFailed(error, of: attempt)
        case .complete?:
            if trailers != nil || batch.pieces.isEmpty { left = exchange.isFollowed ? context.eventLoop.makePromise() : nil }
            if let trailers {
                write(.headers(.init(headers: trailers, endStream: true)), on: number, left)
            } else if batch.pieces.isEmpty {
                write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), on: number, left)
            }
            finishUpload(of: exchange, attempt, left)
        case nil: break
        }
    }

    /// Ends the upload after the channel has taken the last byte of the body.
    ///
    /// - Parameter left: the promise of the last write; see ``HTTPHandler/reportRequestSent(after:of:_:)``.
    private func finishUpload(of exchange: Exchange, _ attempt: AttemptID, _ left: EventLoopPromise<Void>?) {
        machine.finishUpload(attempt.stream)
        active.change(attempt.stream) { $0.upload = .none }
        reportRequestSent(after: left, of: exchange, attempt)
    }
}

extension AttemptID {
    /// The identifier of the attempt's stream.
    var stream: Int32 { Int32(number) }
}
#endif
