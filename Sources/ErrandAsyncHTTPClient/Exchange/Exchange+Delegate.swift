#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import Synchronization

/// The events that the client reports, in order, on the task's event loop.
extension Exchange: HTTPClientResponseDelegate {
    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        machine.withLock { machine in
            machine.sendHead()
            _ = machine.hold { $0.eventLoop = task.eventLoop }
        }
        events?.record(.requestHeadSent)
    }

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
        guard let sent = machine.withLock({ $0.send(part.readableBytes) }) else { return }
        events?.record(.requestBytesSent, bytes: sent)
    }

    func didSendRequest(task: HTTPClient.Task<Void>) {
        machine.withLock { $0.endSending() }
        events?.record(.requestSent)
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard let received = HTTPResponse(head) else {
            let error = TransportError(
                .invalidResponse, phase: .response, message: "status \(head.status.code)", request: request, delivery: .sent)
            end(by: error)
            return task.eventLoop.makeFailedFuture(error)
        }
        let lengths = received.bodyLengths(to: request.method)
        let (delivery, upload) = machine.withLock { machine in
            (machine.receive(received, bodyLength: lengths.onTheWire), machine.held?.upload)
        }
        guard let delivery else { return task.eventLoop.makeSucceededVoidFuture() }
        // The client also stops sending, and closes the connection after the response.
        if delivery.stopsUpload { upload?.cancel() }
        events?.record(.responseHead, response: received)
        let body = ResponseBody(self, expectedLength: lengths.expected, request: request)
        var response = ErrandCore.Response(head: received, body: body, request: request, exchange: lifetime)
        response.metadata.httpVersion =
            head.version == .http1_1 ? .http1_1 : ErrandCore.HTTPVersion(rawValue: "\(head.version)")
        delivery.waiter.continuation.resume(returning: response)
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        // A small slice must not keep a large buffer in memory. Therefore small slices are copied.
        guard
            let chunk = buffer.getData(
                at: buffer.readerIndex, length: buffer.readableBytes,
                byteTransferStrategy: buffer.readableBytes < 16 * 1024 ? .copy : .noCopy),
            !chunk.isEmpty
        else { return task.eventLoop.makeSucceededVoidFuture() }
        // Recorded before a reader can get the chunk, because the reader may end the exchange.
        events?.record(.responseBytesReceived, bytes: reportedBytes.wrappingAdd(Int64(chunk.count), ordering: .relaxed).newValue)
        switch machine.withLock({ $0.receive(chunk) { task.eventLoop.makePromise(of: Void.self) } }) {
        case .ignored, .queued: break
        case .holdBack(let demand): return demand.futureResult
        case .deliver(let reader): reader.continuation.resume(returning: chunk)
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        if let ending = machine.withLock({ $0.receiveEnd() }) { conclude(ending) }
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { end(by: error) { $0.connectionFailed($1) } }
}
#endif
