#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import Synchronization

extension Exchange {
    func clientBody(on group: any EventLoopGroup) -> HTTPClient.Body? {
        guard !request.body.isEmpty else { return nil }
        if let bytes = request.body.bufferedData, bytes.count <= Machine.readAheadBytes { return .byteBuffer(ByteBuffer(data: bytes)) }
        return .stream(contentLength: request.body.length) { writer in self.startUpload(to: writer, on: group.any()) }
    }

    /// Sends the body in a task that the exchange owns and ends.
    ///
    /// The future completes when the whole body was written, or when the exchange ends. A failed write alone must not complete
    /// it: then the client would discard the response of a server that does not want the whole request.
    private func startUpload(to writer: HTTPClient.Body.StreamWriter, on anyEventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let (sent, isOpen) = machine.withLock { machine in
            let sent = (machine.held?.eventLoop ?? anyEventLoop).makePromise(of: Void.self)
            return (sent, machine.hold { $0.sent = sent })
        }
        guard isOpen else {
            sent.fail(CancellationError())
            return sent.futureResult
        }
        let upload = Task { await self.upload(to: writer) }
        if !machine.withLock({ machine in machine.hold { $0.upload = upload } }) { upload.cancel() }
        return sent.futureResult
    }

    private func upload(to writer: HTTPClient.Body.StreamWriter) async {
        do {
            try await Upload(body: request.body, writer: writer).run()
            let sent = machine.withLock { machine in
                let sent = machine.held?.sent
                _ = machine.hold { $0.sent = nil }
                return sent
            }
            sent?.succeed()
        } catch is WriteFailed {
            // The client reports the reason.
        } catch {
            // This task is cancelled if the exchange has ended, or if the response needs no more of the request.
            guard !Task.isCancelled else { return }
            end(by: error is CancellationError ? error : RequestBodyFailed(underlying: error))
        }
    }
}

/// The failure of the request's own body.
struct RequestBodyFailed: Error {
    let underlying: any Error
}

/// Writes a request's body at the speed of the connection.
struct Upload: Sendable {
    let body: RequestBody
    let writer: HTTPClient.Body.StreamWriter

    /// Writes the whole body. Returns when the last byte was written.
    ///
    /// - Throws: the error of the source; ``/ErrandCore/RequestBodyLengthError``; ``WriteFailed``; `CancellationError` if the
    ///   task is cancelled.
    func run() async throws {
        let source = try await body.openChecked()
        defer { source.abandon() }
        while let chunk = try await source.next() { try await write(chunk) }
        // A sequence such as `AsyncStream` also ends when its reader is cancelled. Then the body is incomplete.
        try Task.checkCancellation()
    }

    private func write(_ chunk: Data) async throws {
        var rest = chunk
        while !rest.isEmpty {
            let piece = rest.prefix(256 * 1024)
            rest = rest.dropFirst(piece.count)
            try await Self.wait(for: writer.write(.byteBuffer(ByteBuffer(data: piece))))
            try Task.checkCancellation()
        }
    }

    /// Waits for a write. The client never completes a write that it gave up. Then cancellation ends the wait.
    private static func wait(for write: EventLoopFuture<Void>) async throws {
        let end = FirstResult<Void>()
        try await end.wait {
            write.whenComplete { end.decide($0.mapError { WriteFailed(underlying: $0) as any Error }) }
        }
    }
}

/// The failure of a write, because the connection accepts no more of the body. The client reports the reason separately.
struct WriteFailed: Error {
    let underlying: any Error
}
#endif
