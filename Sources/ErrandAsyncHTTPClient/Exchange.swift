#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import Synchronization

/// One request and its response: told by the client what happens on the wire, and read from as the source of the body.
///
/// The client calls from an event loop, the reader from its task; the state between them is behind one lock, and whoever waits
/// is woken after it is released.
final class Exchange: HTTPClientResponseDelegate, BodySource {
    /// How much of a body is received before anybody has asked for it.
    static let readAheadBytes = 64 * 1024

    private enum End {
        case complete
        case failed(any Error)
    }

    private struct State {
        var phase = ExchangePhase.connect
        var wasSent = WasSent.no
        var head: HTTPResponse?
        var headWaiter: CheckedContinuation<ErrandCore.Response, any Error>?
        var chunks: [Data] = []
        var firstChunk = 0  // of those not yet read
        var bufferedBytes = 0
        var reader: CheckedContinuation<Data?, any Error>?
        var demand: EventLoopPromise<Void>?  // kept while enough is buffered
        var end: End?
        var task: HTTPClient.Task<Void>?
        var upload: Task<Void, Never>?

        /// What must be done, after the lock is released, when the exchange ends.
        struct Release {
            var headWaiter: CheckedContinuation<ErrandCore.Response, any Error>?
            var reader: CheckedContinuation<Data?, any Error>?
            var demand: EventLoopPromise<Void>?
            var task: HTTPClient.Task<Void>?
            var upload: Task<Void, Never>?
        }

        mutating func finish(_ end: End) -> Release {
            self.end = end
            defer { (headWaiter, reader, demand, task, upload) = (nil, nil, nil, nil, nil) }
            return Release(headWaiter: headWaiter, reader: reader, demand: demand, task: task, upload: upload)
        }

        mutating func popChunk() -> Data? {
            guard firstChunk < chunks.count else { return nil }
            let chunk = chunks[firstChunk]
            chunks[firstChunk] = Data()
            firstChunk += 1
            if firstChunk == chunks.count {
                chunks.removeAll(keepingCapacity: true)
                firstChunk = 0
            }
            bufferedBytes -= chunk.count
            return chunk
        }

        mutating func dropChunks() { (chunks, firstChunk, bufferedBytes) = ([], 0, 0) }
    }

    private let request: Request
    private let isDecompressing: Bool
    private let sink: (any EventSink)?
    private let started = ContinuousClock.now
    private let lifetime = ExchangeLifetime()
    private let state = Mutex(State())

    /// - Parameter isDecompressing: whether the client decodes the body.
    init(_ request: Request, isDecompressing: Bool = false) {
        self.request = request
        self.isDecompressing = isDecompressing
        sink = request.options.eventSink
    }

    // MARK: - Sending

    /// Returns when the head of the response is there.
    func run(on client: HTTPClient) async throws -> ErrandCore.Response {
        let message = try HTTPClient.Request(request, body: clientBody(on: client.eventLoopGroup))
        record(.start)
        let deadline = request.deadline?.continuousInstant.map { instant in
            NIODeadline.now() + .nanoseconds(ContinuousClock.now.duration(to: instant).wholeNanoseconds)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.end == nil { state.headWaiter = continuation }
                    return state.end != nil
                }
                // Cancelled before it began.
                guard !isOver else { return continuation.resume(throwing: CancellationError()) }
                attach(client.execute(request: message, delegate: self, deadline: deadline))
            }
        } onCancel: {
            cancel()
        }
    }

    private func attach(_ task: HTTPClient.Task<Void>) {
        let isOver = state.withLock { state in
            if state.end == nil { state.task = task }
            return state.end != nil
        }
        if isOver { task.fail(reason: CancellationError()) }
        // A client that is shut down fails the task without a word to its delegate.
        task.futureResult.whenFailure { self.fail($0) }
    }

    private func clientBody(on group: any EventLoopGroup) -> HTTPClient.Body? {
        guard !request.body.isEmpty else { return nil }
        if let bytes = request.body.bytes, bytes.count <= Self.readAheadBytes { return .byteBuffer(ByteBuffer(data: bytes)) }
        return .stream(contentLength: request.body.length) { writer in
            let sent = group.any().makePromise(of: Void.self)
            self.startUpload(to: writer, sent: sent)
            return sent.futureResult
        }
    }

    /// Reads the request's body as fast as the connection takes it, in a task that the exchange owns and ends.
    private func startUpload(to writer: HTTPClient.Body.StreamWriter, sent: EventLoopPromise<Void>) {
        let upload = Task {
            do {
                try await self.upload(to: writer)
                sent.succeed()
            } catch {
                sent.fail(error)
            }
        }
        let isOver = state.withLock { state in
            if state.end == nil { state.upload = upload }
            return state.end != nil
        }
        if isOver { upload.cancel() }
    }

    private func upload(to writer: HTTPClient.Body.StreamWriter) async throws {
        do {
            let source = try await request.body.open()
            defer { source.abandon() }
            var sent: Int64 = 0
            while let chunk = try await source.next() {
                sent += Int64(chunk.count)
                if let length = request.body.length, sent > length { throw RequestBodyLengthError(declared: length, atLeast: sent) }
                var rest = chunk
                while !rest.isEmpty {
                    let piece = rest.prefix(256 * 1024)
                    rest = rest.dropFirst(piece.count)
                    do {
                        try await writer.write(.byteBuffer(ByteBuffer(data: piece))).get()
                    } catch {
                        throw WriteFailed(underlying: error)
                    }
                    try Task.checkCancellation()
                }
            }
            if let length = request.body.length, sent != length { throw RequestBodyLengthError(declared: length, atLeast: sent) }
        } catch let failure as WriteFailed {
            throw failure.underlying  // the connection's failure, which the client tells by itself
        } catch {
            fail(error is CancellationError ? error : RequestBodyFailed(underlying: error))
            throw error
        }
    }

    // MARK: - What the client tells

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { state in
            state.phase = .send
            state.wasSent = .maybe
        }
        record(.requestHeadSent)
    }

    func didSendRequest(task: HTTPClient.Task<Void>) {
        state.withLock { state in
            if state.phase == .send { state.phase = .response }
        }
        record(.requestSent)
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard var converted = HTTPResponse(head) else {
            let error = TransportError(
                .invalidResponse, phase: .response, message: "status \(head.status.code)", request: request, wasSent: .yes)
            fail(error)
            return task.eventLoop.makeFailedFuture(error)
        }
        let coding = isDecompressing ? converted.removeDecodedCoding(of: request.method) : nil
        let received = converted
        let waiter = state.withLock { state in
            state.head = received
            state.phase = .body
            state.wasSent = .yes
            defer { state.headWaiter = nil }
            return state.headWaiter
        }
        record(.responseHead)
        let length = converted.headerFields[.contentLength].flatMap { Int64($0) }
        let body = ResponseBody(self, expectedLength: request.method == .head ? nil : length, request: request)
        var response = ErrandCore.Response(head: converted, body: body, request: request, exchange: lifetime)
        response.metadata.httpVersion = head.version.major == 2 ? "2" : "\(head.version.major).\(head.version.minor)"
        response.metadata.contentCoding = coding
        waiter?.resume(returning: response)
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        // A slice must not pin a large buffer, so small ones are copied.
        guard
            let chunk = buffer.getData(
                at: buffer.readerIndex, length: buffer.readableBytes,
                byteTransferStrategy: buffer.readableBytes < 16 * 1024 ? .copy : .noCopy),
            !chunk.isEmpty
        else { return task.eventLoop.makeSucceededVoidFuture() }
        let (reader, future) = state.withLock { state -> (CheckedContinuation<Data?, any Error>?, EventLoopFuture<Void>?) in
            guard state.end == nil else { return (nil, nil) }
            if let reader = state.reader {
                state.reader = nil
                return (reader, nil)
            }
            state.chunks.append(chunk)
            state.bufferedBytes += chunk.count
            guard state.bufferedBytes >= Self.readAheadBytes else { return (nil, nil) }
            let demand = task.eventLoop.makePromise(of: Void.self)
            state.demand = demand
            return (nil, demand.futureResult)
        }
        reader?.resume(returning: chunk)
        return future ?? task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        guard let release = state.withLock({ $0.end == nil ? $0.finish(.complete) : nil }) else { return }
        release.upload?.cancel()
        record(.end)
        lifetime.end(.complete)
        release.reader?.resume(returning: nil)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { fail(error) }

    // MARK: - Reading

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try Task.checkCancellation()
            if let read = try readBuffered() { return read.chunk }
            return try await withCheckedThrowingContinuation { continuation in
                do {
                    if let read = try readBuffered(orWait: continuation) { continuation.resume(returning: read.chunk) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            cancel()
        }
    }

    /// What is there: a chunk, or nil at the end. Nil if neither is, and then `waiter` waits.
    private func readBuffered(orWait waiter: CheckedContinuation<Data?, any Error>? = nil) throws -> (chunk: Data?, Void)? {
        let (result, demand) = state.withLock { state -> (Result<Data?, any Error>?, EventLoopPromise<Void>?) in
            if let chunk = state.popChunk() {
                guard state.bufferedBytes < Self.readAheadBytes else { return (.success(chunk), nil) }
                defer { state.demand = nil }
                return (.success(chunk), state.demand)
            }
            switch state.end {
            case .complete: return (.success(nil), nil)
            case .failed(let error): return (.failure(error), nil)
            case nil:
                state.reader = waiter
                return (nil, nil)
            }
        }
        demand?.succeed()
        guard let result else { return nil }
        return (try result.get(), ())
    }

    func abandon() { stop(CancellationError(), end: .abandoned) }

    private func cancel() { stop(CancellationError(), end: .failed(CancellationError())) }

    /// Nobody wants the rest: what is buffered goes too.
    private func stop(_ error: any Error, end: ExchangeLifetime.End) {
        let release = state.withLock { state in
            state.dropChunks()
            return state.end == nil ? state.finish(.failed(error)) : nil
        }
        guard let release else { return }
        conclude(release, error: error, end: end)
    }

    // MARK: - Failing

    private func fail(_ error: any Error) {
        let ended = state.withLock { state -> (State.Release, any Error)? in
            guard state.end == nil else { return nil }
            let mapped = FailureMapping(
                request: request, phase: state.phase, wasSent: state.wasSent, head: state.head, elapsed: started.duration(to: .now)
            ).failure(for: error)
            return (state.finish(.failed(mapped)), mapped)  // what is buffered can still be read
        }
        guard let (release, mapped) = ended else { return }
        conclude(release, error: mapped, end: .failed(mapped))
    }

    private func conclude(_ release: State.Release, error: any Error, end: ExchangeLifetime.End) {
        release.upload?.cancel()
        release.task?.fail(reason: error)
        release.demand?.fail(error)
        record(.end, failure: error)
        lifetime.end(end)
        release.headWaiter?.resume(throwing: error)
        release.reader?.resume(throwing: error)
    }

    private func record(_ kind: ExchangeEvent.Kind, failure: (any Error)? = nil) {
        sink?.record(ExchangeEvent(kind, request: request.id, failure: failure))
    }
}

/// The request's own body broke.
struct RequestBodyFailed: Error {
    let underlying: any Error
}

private struct WriteFailed: Error {
    let underlying: any Error
}

/// A stream was not as long as its body declared.
struct RequestBodyLengthError: Error, CustomStringConvertible {
    let declared: Int64
    let atLeast: Int64
    var description: String { "\(declared) bytes were declared, and \(atLeast) came" }
}
#endif
