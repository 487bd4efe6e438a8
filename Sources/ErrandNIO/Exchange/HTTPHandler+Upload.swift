#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The upload half of an exchange. The versions of HTTP differ only in the framing of the pieces, and in the reasons to delay a piece.
extension HTTPHandler {
    /// Starts to send the body. Must be called only when the body may follow the head.
    func sendBody(_ body: OutgoingBody, of exchange: Exchange, _ attempt: AttemptID, on connection: Connection) {
        switch body.content {
        case .none: break
        case .memory(let data):
            change(attempt) { $0.upload = .memory(data, offset: 0) }
            writeMemory(of: attempt)
        case .stream:
            // The pump is created before `change`, because the pump's task may begin immediately and call the handler.
            let pump = UploadSource.pump(exchange, attempt, on: connection)
            change(attempt) { $0.upload = pump }
        }
    }

    /// Removes the pieces from a queue, and returns the pieces. If the attempt is stale, or its upload has stopped, the pieces are dropped.
    ///
    /// - Returns: `nil` if the pieces were dropped.
    func takeBatch(from queue: UploadQueue, of attempt: AttemptID) -> UploadQueue.Batch? {
        let batch = queue.takeBatch()
        guard context != nil, takes(.piece, of: attempt), change(attempt, { $0.upload.reads(queue) }) == true else {
            queue.window.remove(batch.bytes)
            return nil
        }
        return batch
    }

    /// Writes the pieces of a batch, and joins small pieces into larger writes. When the last write is complete, the bytes of the
    /// batch are removed from the window of the queue.
    ///
    /// - Parameter write: the closure that performs one write; `count` is the total number of bytes in `pieces`.
    /// - Returns: the promise of the last write; `nil` if the batch has no pieces.
    func write(
        _ batch: UploadQueue.Batch, from queue: UploadQueue, of exchange: Exchange, _ attempt: AttemptID, _ context: ChannelHandlerContext,
        _ write: (_ pieces: ArraySlice<Data>, _ count: Int, _ isLast: Bool, _ promise: EventLoopPromise<Void>?) -> Void
    ) -> EventLoopPromise<Void>? {
        let limit = UploadPump.pieceBytes(of: exchange)
        var rest = batch.pieces[...]
        var last: EventLoopPromise<Void>?
        while !rest.isEmpty {
            let (pieces, count) = rest.takeFirst(upTo: limit)
            var promise = progress(of: exchange, attempt, context)
            if rest.isEmpty {
                // The writes complete in order: when the last write is complete, the whole batch has been sent.
                let written = promise ?? context.eventLoop.makePromise(of: Void.self)
                let bytes = batch.bytes
                written.futureResult.whenComplete { _ in queue.window.remove(bytes) }
                (promise, last) = (written, written)
            }
            write(pieces, count, rest.isEmpty, promise)
            for piece in pieces { countSent(piece.count, of: exchange, attempt) }
        }
        return last
    }

    /// Counts and reports bytes that the channel has taken.
    func countSent(_ count: Int, of exchange: Exchange, _ attempt: AttemptID) {
        change(attempt) { $0.countSent(count) }
        if exchange.events != nil { activeExchange(of: attempt)?.reportSent() }
    }

    /// Reports the event `requestSent` as soon as the channel has sent the last byte of the request. The wait for the response begins at
    /// this moment.
    ///
    /// If the response is complete before the last byte is sent, the exchange ends without this event.
    ///
    /// - Parameter left: the promise of the last write; may be `nil` if ``Exchange/isFollowed`` is false.
    func reportRequestSent(after left: EventLoopPromise<Void>?, of exchange: Exchange, _ attempt: AttemptID) {
        guard let left, exchange.isFollowed else { return }
        left.futureResult.assumeIsolated().whenSuccess {
            guard self.takes(.requestSent, of: attempt) else { return }
            exchange.events?.record(.requestSent)
            // A sink may have ended the attempt.
            guard self.takes(.requestSent, of: attempt), self.activeExchange(of: attempt)?.head == nil else { return }
            self.change(attempt) { $0.enter(.firstByte) }
            if exchange.limits != nil { self.setAlarm(of: attempt) }
        }
    }

    /// Creates the promise of a write, and starts the limit `idleWrite`.
    ///
    /// - Returns: the promise of the write; `nil` if the exchange has no limit `idleWrite`.
    func progress(of exchange: Exchange, _ attempt: AttemptID, _ context: ChannelHandlerContext) -> EventLoopPromise<Void>? {
        guard exchange.limits?.idleWrite != nil else { return nil }
        let promise = context.eventLoop.makePromise(of: Void.self)
        change(attempt) { $0.beginWrite() }
        setAlarm(of: attempt)
        promise.futureResult.assumeIsolated().whenComplete { _ in
            guard self.takes(.progress, of: attempt) else { return }
            self.change(attempt) { $0.endWrite() }
            self.setAlarm(of: attempt)
        }
        return promise
    }

    /// Ends an attempt whose request body can't be read.
    func uploadFailed(_ error: any Error, of attempt: AttemptID) {
        guard takes(.uploadFailure, of: attempt), let current = activeExchange(of: attempt) else { return }
        endUpload(of: attempt, because: current.bodyFailure(error, at: position(of: attempt)))
    }

    /// Stops sending the body of an attempt.
    func stopUpload(of attempt: AttemptID) {
        let rest = change(attempt) { $0.takeUpload() }
        rest?.stop()
    }
}

extension ActiveExchange {
    /// Removes the next piece of an in-memory body from the upload, and returns the piece.
    ///
    /// - Returns: `nil` if the whole body in memory was taken.
    mutating func takePiece() -> (bytes: Data, isLast: Bool)? {
        guard case .memory(let data, let offset) = upload else { return nil }
        let count = min(data.count - offset, UploadPump.pieceBytes(of: exchange))
        let start = data.startIndex + offset
        let isLast = offset + count == data.count
        upload = isLast ? .none : .memory(data, offset: offset + count)
        return (data[start..<(start + count)], isLast)
    }
}

extension ArraySlice<Data> {
    /// Removes and returns as many of the first pieces as fit into `limit` bytes, but at least one piece.
    fileprivate mutating func takeFirst(upTo limit: Int) -> (pieces: Self, count: Int) {
        var (end, count) = (startIndex, 0)
        while end < endIndex, count == 0 || count + self[end].count <= limit {
            count += self[end].count
            end += 1
        }
        defer { self = self[end...] }
        return (self[..<end], count)
    }
}
#endif
