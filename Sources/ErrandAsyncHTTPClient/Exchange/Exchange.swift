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

    private let request: Request
    private let isDecompressing: Bool
    private let events: ExchangeEventLog?
    private let started = ContinuousClock.now
    private let lifetime = ExchangeLifetime()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - isDecompressing: whether the client decodes the body.
    ///   - owner: of the client, which is not shut down for want of use before the exchange ends.
    init(_ request: Request, isDecompressing: Bool = false, owner: ClientOwner) {
        self.request = request
        self.isDecompressing = isDecompressing
        events = request.options.eventSink.map { ExchangeEventLog($0, request: request.id) }
        var state = State()
        state.held.owner = owner
        self.state = Mutex(state)
    }

    // MARK: - Sending

    /// Returns when the head of the response is there.
    func run(on client: HTTPClient) async throws -> ErrandCore.Response {
        var message = try HTTPClient.Request(request, body: clientBody(on: client.eventLoopGroup))
        if request.deadline?.hasPassed == true {
            throw TransportError(.timedOut, phase: .queue, elapsed: .zero, request: request, wasSent: .no)
        }
        events?.record(.start)
        if events != nil, let watch = state.withLock(\.held.owner?.watch), let number = watch.expect(self) {
            message.headers.replaceOrAdd(name: watch.fieldName, value: "\(number)")
            lifetime.onEnd { _ in watch.forget(number) }
        }
        let complete = message
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.end == nil { state.headWaiter = continuation }
                    return state.end != nil
                }
                // Cancelled before it began.
                guard !isOver else { return continuation.resume(throwing: CancellationError()) }
                attach(client.execute(request: complete, delegate: self), of: client.eventLoopGroup)
            }
        } onCancel: {
            cancel()
        }
    }

    private func attach(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        // The client has deadlines, too, but says nothing of one that passes while it holds the rest of the response.
        let deadline = request.deadline?.continuousInstant.map { instant in
            task.eventLoop.scheduleTask(in: .nanoseconds(ContinuousClock.now.duration(to: instant).wholeNanoseconds)) {
                // Behind what the loop has been given: the client can't withdraw a request before it knows that it has queued it.
                task.eventLoop.execute { self.expire(task, of: group) }
            }
        }
        let (isOver, isCancelled) = state.withLock { state in
            if state.end == nil { (state.held.task, state.held.deadline) = ((task, group), deadline) }
            return (state.end != nil, state.isCancelled)
        }
        if isOver {
            deadline?.cancel()
            task.fail(reason: CancellationError())
        } else if isCancelled {
            cancel()
        }
        // A client that is shut down fails the task without a word to its delegate.
        task.futureResult.whenFailure { self.failUnlessWithdrawing($0) }
    }

    /// The time is up. On the task's event loop.
    private func expire(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        let mayLeave = state.withLock { state in
            guard state.end == nil, state.wasSent == .no, !state.isWithdrawing else { return false }
            state.isWithdrawing = true
            return true
        }
        mayLeave ? withdraw(task, of: group) : failUnlessWithdrawing(HTTPClientError.deadlineExceeded)
    }

    /// Ends an exchange of which nothing was sent, as far as is known, when it is certain whether anything was. On the task's event loop.
    ///
    /// A connection may have the request already, and send it, before the client's word of that has come here: "not sent" would be wrong
    /// then, and the request done twice. So it is withdrawn first, and then each event loop is passed, twice, as the one that hands it on
    /// may be another than the one that sends it: what they were about to do, and to tell, is done and told by then.
    private func withdraw(_ task: HTTPClient.Task<Void>, of group: any EventLoopGroup) {
        task.fail(reason: HTTPClientError.deadlineExceeded)
        let loops = Array(group.makeIterator())
        (loops + loops).reduce(task.eventLoop.makeSucceededVoidFuture()) { passed, loop in passed.flatMap { loop.submit {} } }
            .hop(to: task.eventLoop)
            .whenComplete { _ in
                let isCancelled = self.state.withLock(\.isCancelled)
                isCancelled ? self.stopCancelled() : self.fail(HTTPClientError.deadlineExceeded)
            }
    }

    private func failUnlessWithdrawing(_ error: any Error) {
        if !state.withLock(\.isWithdrawing) { fail(error) }
    }

    private func clientBody(on group: any EventLoopGroup) -> HTTPClient.Body? {
        guard !request.body.isEmpty else { return nil }
        if let bytes = request.body.bytes, bytes.count <= Self.readAheadBytes { return .byteBuffer(ByteBuffer(data: bytes)) }
        return .stream(contentLength: request.body.length) { writer in self.startUpload(to: writer, on: group.any()) }
    }

    /// Sends the body in a task that the exchange owns and ends.
    ///
    /// The future completes when all of it was written, or when the exchange ends and not before: the client would throw away the
    /// response of a server that does not want the whole request.
    private func startUpload(to writer: HTTPClient.Body.StreamWriter, on anyEventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let (sent, isOver) = state.withLock { state in
            let sent = (state.eventLoop ?? anyEventLoop).makePromise(of: Void.self)
            if state.end == nil { state.held.sent = sent }
            return (sent, state.end != nil)
        }
        guard !isOver else {
            sent.fail(CancellationError())
            return sent.futureResult
        }
        let upload = Task { await self.upload(to: writer) }
        let isOverNow = state.withLock { state in
            if state.end == nil { state.held.upload = upload }
            return state.end != nil
        }
        if isOverNow { upload.cancel() }
        return sent.futureResult
    }

    private func upload(to writer: HTTPClient.Body.StreamWriter) async {
        do {
            try await Upload(body: request.body, writer: writer).run()
            let sent = state.withLock { state in
                defer { state.held.sent = nil }
                return state.held.sent
            }
            sent?.succeed()
        } catch is WriteFailed {
            // The client tells why by itself.
        } catch {
            // Who cancels this task ends the exchange, or has a response that needs no more of the request.
            guard !Task.isCancelled else { return }
            fail(error is CancellationError ? error : RequestBodyFailed(underlying: error))
        }
    }

    // MARK: - What the client tells

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { state in
            state.phase = .send
            state.wasSent = .maybe
            state.eventLoop = task.eventLoop
        }
        events?.record(.requestHeadSent)
    }

    /// The connection is about to write the head. On its event loop.
    func acquired(_ connection: ConnectionInfo) { events?.record(.connectionAcquired, connection: connection) }

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
        let sent = state.withLock { state in
            state.sentBytes += Int64(part.readableBytes)
            return state.sentBytes
        }
        events?.record(.requestBytesSent, bytes: sent)
    }

    func didSendRequest(task: HTTPClient.Task<Void>) {
        state.withLock { state in
            if state.phase == .send { state.phase = .response }
        }
        events?.record(.requestSent)
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
        let (waiter, upload) = state.withLock { state in
            state.head = received
            state.phase = .body
            state.wasSent = .yes
            state.isDecoded = coding != nil
            state.bytesToCome = received.bodyLength(answering: request.method)
            defer { state.headWaiter = nil }
            return (state.headWaiter, state.held.upload)
        }
        // A server that refuses gets nothing more: the client sends it nothing either, and closes the connection behind the response.
        if head.status.code >= 300 { upload?.cancel() }
        events?.record(.responseHead, response: received)
        let body = ResponseBody(self, expectedLength: received.expectedLength(answering: request.method), request: request)
        var response = ErrandCore.Response(head: received, body: body, request: request, exchange: lifetime)
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
        // Told before the reader is woken, who may end the exchange.
        if let received = state.withLock({ $0.receive(chunk.count) }) { events?.record(.responseBytesReceived, bytes: received) }
        let (reader, future) = state.withLock { state -> (CheckedContinuation<Data?, any Error>?, EventLoopFuture<Void>?) in
            guard state.end == nil else { return (nil, nil) }
            state.bytesToCome = state.bytesToCome.map { $0 - Int64(chunk.count) }
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

    func didFinishRequest(task: HTTPClient.Task<Void>) throws { complete(unless: { _ in false }) }

    /// A response that is whole stays so when the server then closes on a request that it does not want whole (RFC 9113, 8.1).
    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        complete(unless: { $0.bytesToCome != 0 })
        failUnlessWithdrawing(error)
    }

    private func complete(unless isOpen: (State) -> Bool) {
        guard let release = state.withLock({ $0.end == nil && !isOpen($0) ? $0.finish(.complete) : nil }) else { return }
        release.held.deadline?.cancel()
        release.held.upload?.cancel()
        release.held.sent?.fail(CancellationError())
        events?.record(.end)
        lifetime.end(.complete, sizes: release.sizes)
        release.reader?.resume(returning: nil)
    }

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

    private func cancel() {
        enum Way {
            case atOnce, whenAttached
            case withdrawing(HTTPClient.Task<Void>, of: any EventLoopGroup)
        }
        let way = state.withLock { state -> Way in
            // Who is told of the events goes by whether the request has left; nobody else asks.
            guard events != nil, state.end == nil, state.wasSent == .no, state.headWaiter != nil else { return .atOnce }
            state.isCancelled = true
            guard !state.isWithdrawing, let (task, group) = state.held.task else { return .whenAttached }
            state.isWithdrawing = true
            return .withdrawing(task, of: group)
        }
        switch way {
        case .atOnce: stopCancelled()
        case .whenAttached: break
        case .withdrawing(let task, let group): task.eventLoop.execute { self.withdraw(task, of: group) }
        }
    }

    private func stopCancelled() { stop(CancellationError(), end: .failed(CancellationError())) }

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
                request: request, phase: state.phase, wasSent: state.wasSent, head: state.head, elapsed: started.duration(to: .now),
                isShutDown: state.held.owner?.clients == nil
            ).failure(for: error)
            return (state.finish(.failed(mapped)), mapped)  // what is buffered can still be read
        }
        guard let (release, mapped) = ended else { return }
        conclude(release, error: mapped, end: .failed(mapped))
    }

    private func conclude(_ release: State.Release, error: any Error, end: ExchangeLifetime.End) {
        release.held.deadline?.cancel()
        release.held.upload?.cancel()
        // Before the task: the client forgets a write that waits, unless it is told in this way that no more will come.
        release.held.sent?.fail(error)
        release.held.task?.0.fail(reason: error)
        release.demand?.fail(error)
        events?.record(.end, failure: error)
        lifetime.end(end, sizes: release.sizes)
        release.headWaiter?.resume(throwing: error)
        release.reader?.resume(throwing: error)
    }
}

/// The request's own body broke.
struct RequestBodyFailed: Error {
    let underlying: any Error
}
#endif
