public import ErrandCore
internal import Synchronization

/// A transport that needs no network, returns the responses of stubs, and records the requests.
///
/// ```swift
/// let stub = StubTransport(Stub(.get, "/users/{id}").responds(.json(User(id: 7))))
/// let client = APIClient(stub.server("https://api.example"))
/// …
/// #expect(stub.requests.map(\.path) == ["/users/7"])
/// ```
///
/// Stubs are tried in order, and the first stub that matches provides the response. A request without a matching stub fails with
/// ``UnmatchedRequestError``, which names the nearest stub and the differences. Tests can run concurrently, because each
/// transport has its own state.
///
/// The transport reads a request's body chunk by chunk, and reports each chunk to the request's event sink, so that tests can check
/// upload progress. Response bodies are streamed. ``openBodyCount`` is the number of response bodies that have not ended.
public final class StubTransport: HTTPTransport, CustomStringConvertible {
    /// The handling of a request without a matching stub.
    public enum Unmatched: Sendable {
        /// The request fails with ``UnmatchedRequestError``.
        case fails
        /// The request is sent to another sender, such as a real transport. The sender must outlive the stub transport.
        case passesThrough(to: any HTTPSender)
    }

    struct State {
        var stubs: [Stub]
        var uses: [Int]
        var requests: [RecordedRequest] = []
        var openBodies = 0
        var isShutDown = false
    }

    private enum Choice {
        case response(StubResponse, RecordedRequest)
        case none
        /// A stub may match the request, but its matcher must first read the request's body.
        case needsBody
    }

    /// The maximum number of bytes of a request's body that are kept.
    static let bodyLimitBytes = 16 * 1024 * 1024

    private let state: Mutex<State>
    private let unmatched: Unmatched
    private let conditions: NetworkConditions?
    private let clock: any Clock<Duration>

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - stubs: the stubs, in order.
    ///   - unmatched: the handling of a request without a matching stub. By default, the request fails.
    ///   - conditions: the simulated network, for responses without their own conditions. Default: `nil`, no simulated network.
    ///   - clock: the clock that measures delays and rates. With a ``ManualClock``, a slow network takes no time.
    public convenience init(
        _ stubs: Stub..., unmatched: Unmatched = .fails, conditions: NetworkConditions? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(stubs, unmatched: unmatched, conditions: conditions, clock: clock)
    }

    /// Creates a transport from an array of stubs. The parameters are the same as in the variadic initializer.
    public init(
        _ stubs: [Stub], unmatched: Unmatched = .fails, conditions: NetworkConditions? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        state = Mutex(State(stubs: stubs, uses: stubs.map { _ in 0 }))
        (self.unmatched, self.conditions, self.clock) = (unmatched, conditions, clock)
    }

    /// Adds stubs after the existing stubs.
    public func add(_ stubs: Stub...) {
        state.withLock { state in
            state.stubs += stubs
            state.uses += stubs.map { _ in 0 }
        }
    }

    public var capabilities: TransportCapabilities {
        [.streamingDownload, .phaseEvents, .informationalResponses, .trailers]
    }
    public var description: String { "StubTransport" }

    /// The requests so far, in order, whether or not a stub matched.
    public var requests: [RecordedRequest] { state.withLock(\.requests) }

    /// The number of streamed bodies that were neither read to their end nor abandoned. At the end of a test, the number should be
    /// zero.
    public var openBodyCount: Int { state.withLock(\.openBodies) }

    /// The stubs with unused responses: stubs that no request has matched, and stubs whose responses are not used up.
    public var unusedStubs: [Stub] {
        state.withLock { state in
            zip(state.stubs, state.uses).filter { stub, uses in uses < (stub.repeatsLast ? 1 : stub.script.count) }.map(\.0)
        }
    }

    // MARK: - Sending

    public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        let exchange = StubExchange(request)
        do {
            return try await respond(to: exchange)
        } catch {
            exchange.end(.failed(error))
            throw error
        }
    }

    private func respond(to exchange: StubExchange) async throws -> Response {
        let index = try arrive(exchange)
        var hasBody = false
        var choice = choose(index)
        if case .needsBody = choice {
            try await read(exchange, of: index, at: conditions?.uploadBytesPerSecond)
            hasBody = true
            choice = choose(index, hasBody: true)
        }
        guard case .response(let stubbed, let recorded) = choice else {
            guard case .passesThrough(let sender) = unmatched else { throw state.withLock { UnmatchedRequestError(index, in: $0) } }
            return try await pass(exchange, of: index, to: sender)
        }
        let conditions = stubbed.conditions ?? conditions
        let made: StubResponse.Made
        switch stubbed.kind {
        case .passThrough(let sender):
            return try await pass(exchange, of: index, to: sender)
        case .afterBody(let make):
            if !hasBody { try await read(exchange, of: index, at: conditions?.uploadBytesPerSecond) }
            var whole = state.withLock { $0.requests[index] }
            whole.pathValues = recorded.pathValues
            try await wait(stubbed.delay, conditions)
            made = try await make(whole)
            do {
                try Task.checkCancellation()
            } catch {
                made.content.abandon()
                throw error
            }
        case .atOnce(let make):
            let body = try await open(exchange, of: index, at: conditions?.uploadBytesPerSecond)
            var begun: StubResponse.Made?
            do {
                try await wait(stubbed.delay, conditions)
                let made = try await make(recorded, body)
                begun = made
                try Task.checkCancellation()
                var response = try respond(made, by: stubbed, over: conditions, to: exchange, reading: body)
                response.metadata.isStreamedResponse = true
                return response
            } catch {
                begun?.content.abandon()
                body.abandon()
                throw error
            }
        }
        return try respond(made, by: stubbed, over: conditions, to: exchange)
    }

    private func wait(_ delay: Duration, _ conditions: NetworkConditions?) async throws {
        let delay = delay.cappedSum(conditions?.latency ?? .zero)
        if delay > .zero { try await clock.sleep(for: delay.bounded) }
    }

    private func arrive(_ exchange: StubExchange) throws -> Int {
        let index = state.withLock { state -> Int? in
            guard !state.isShutDown else { return nil }
            state.requests.append(RecordedRequest(request: exchange.request))
            return state.requests.count - 1
        }
        guard let index else { throw TransportError(.shutDown, phase: .request, request: exchange.request, delivery: .notSent) }
        exchange.report(.start)
        exchange.report(.requestHeadSent)
        return index
    }

    private func choose(_ request: Int, hasBody: Bool = false) -> Choice {
        state.withLock { state in
            var recorded = state.requests[request]
            for (index, stub) in state.stubs.enumerated() {
                guard let response = stub.response(forUse: state.uses[index]) else { continue }
                if stub.matcher.needsBody, !hasBody, !recorded.request.body.isEmpty { return .needsBody }
                guard stub.matcher.matches(recorded) else { continue }
                state.uses[index] += 1
                recorded.pathValues = (stub.path?.values(in: recorded.path) ?? [:]).mapValues { PercentEncoding.decode($0) ?? $0 }
                state.requests[request] = recorded
                return .response(response, recorded)
            }
            return .none
        }
    }

    // MARK: The request's body

    /// Opens the body. Each chunk is kept and reported when the chunk is read.
    private func open(_ exchange: StubExchange, of index: Int, at bytesPerSecond: Int?) async throws -> any BodySource {
        let body = exchange.request.body
        let clock = clock
        let paced: RequestBody = .stream(length: body.length, replay: body.replay) { offset in
            let source = CancellableBodySource(try await body.open(from: offset))
            return bytesPerSecond.map { PacedBodySource(source, bytesPerSecond: $0, clock: clock) } ?? source
        }
        let observed = paced.observed { [self] event in
            switch event {
            // A matcher may have read the body before. The bytes of this reading replace the earlier bytes.
            case .opened: state.withLock { $0.requests[index].body = Data() }
            case .end(.failed, _), .end(.abandoned, _): break
            case .chunk(let chunk):
                state.withLock { state in
                    let room = Self.bodyLimitBytes - state.requests[index].body.count
                    state.requests[index].body.append(chunk.prefix(room))
                }
                exchange.send(chunk.count)
            case .end(.complete, let trailers):
                state.withLock { $0.requests[index].trailers = trailers }
                exchange.requestIsSent(declared: body.length)
            }
        }
        do {
            return try await observed.open()
        } catch {
            throw Self.failure(of: exchange.request, error)
        }
    }

    private func read(_ exchange: StubExchange, of index: Int, at bytesPerSecond: Int?) async throws {
        // A body in memory is read in one piece, unless a rate is simulated.
        if let bytes = exchange.request.body.bufferedData, bytesPerSecond == nil {
            state.withLock { $0.requests[index].body = Data(bytes.prefix(Self.bodyLimitBytes)) }
            if !bytes.isEmpty { exchange.send(bytes.count) }
            return exchange.requestIsSent(declared: nil)
        }
        let source = try await open(exchange, of: index, at: bytesPerSecond)
        defer { source.abandon() }
        do {
            while try await source.next() != nil {}
        } catch {
            throw Self.failure(of: exchange.request, error)
        }
        if let declared = exchange.request.body.length, declared != exchange.sentBytes {
            throw Self.failure(
                of: exchange.request, message: "the body has \(exchange.sentBytes.counted("byte")), but \(declared) were declared")
        }
    }

    private static func failure(of request: Request, _ error: (any Error)? = nil, message: String? = nil) -> any Error {
        if let error, error is CancellationError || error is any RequestFailure { return error }
        return TransportError(
            .requestBody, phase: .send, message: message ?? error.map { "\(type(of: $0))" } ?? "", underlying: error, request: request,
            delivery: .unknown)
    }

    // MARK: The response

    /// - Parameter body: the request's body, if the response reads the body. The body is released when the response ends.
    private func respond(
        _ made: StubResponse.Made, by stubbed: StubResponse, over conditions: NetworkConditions?, to exchange: StubExchange,
        reading body: (any BodySource)? = nil
    ) throws -> Response {
        let request = exchange.request
        for head in stubbed.informational { exchange.report(.informationalResponse, head: head) }
        var source: any BodySource
        switch made.content {
        case .raw(let bytes):
            guard request.options.acceptsRawResponses else {
                throw TransportError(
                    .unsupported, phase: .response,
                    message: "a raw response (\(bytes.count.counted("byte"))) needs a socket: serve the stub with MockServer",
                    request: request, delivery: .sent)
            }
            var response = Response(head: made.head, data: bytes, request: request)
            response.metadata.isRawResponse = true
            return response
        case .data(let data):
            exchange.report(.responseHead, head: made.head)
            if stubbed.breaking == nil, conditions?.downloadBytesPerSecond == nil {
                exchange.receive(data.count)
                exchange.end(.complete)
                let body = ResponseBody(data, trailers: stubbed.trailers)
                return Response(head: made.head, body: body, request: request, exchange: exchange.lifetime)
            }
            source = ChunksBodySource([data])
        case .source(let body):
            exchange.report(.responseHead, head: made.head)
            source = body
        }
        source = CancellableBodySource(source, trailers: stubbed.trailers)
        if let rate = conditions?.downloadBytesPerSecond { source = PacedBodySource(source, bytesPerSecond: rate, clock: clock) }
        let length = made.head.headerFields[.contentLength].flatMap { Int64($0) }
        var streamed = ResponseBody(source, expectedLength: length, request: request)
        if let breaking = stubbed.breaking {
            let failure = Self.completed(breaking.failure, request, made.head)
            streamed = streamed.transformed(by: BreakingOff(afterBytes: breaking.afterBytes, failure: failure), length: length)
        }
        state.withLock { $0.openBodies += 1 }
        let observed = streamed.observed { [self] event in
            switch event {
            case .opened: break
            case .chunk(let chunk): exchange.receive(chunk.count)
            case .end(let end, _):
                state.withLock { $0.openBodies -= 1 }
                body?.abandon()
                exchange.end(end)
            }
        }
        return Response(head: made.head, body: observed, request: request, exchange: exchange.lifetime)
    }

    /// Returns the failure of a body, with its request and the head of its response, as other transports report the failure.
    private static func completed(_ error: any Error, _ request: Request, _ head: HTTPResponse) -> any Error {
        guard var failure = error as? any RequestFailure, failure.request == nil else { return error }
        failure.request = request
        guard var lost = failure as? TransportError else { return failure }
        lost.response = lost.response ?? head
        return lost
    }

    /// Sends the request to another sender. If the body was not read yet, the other sender reads the body.
    private func pass(_ exchange: StubExchange, of index: Int, to sender: any HTTPSender) async throws -> Response {
        var request = exchange.request
        let recorded = state.withLock { $0.requests[index] }
        if !request.body.replay.canRestart, !request.body.canBeSent {
            guard exchange.sentBytes <= Int64(recorded.body.count) else {
                throw TransportError(
                    .bodyTooLarge, phase: .request,
                    message:
                        "the stub read a one-shot body, kept only its first \(Self.bodyLimitBytes) bytes, and can't pass the body on",
                    request: request, delivery: .notSent)
            }
            let trailers = recorded.trailers
            request.body =
                trailers == nil
                ? .data(recorded.body)
                : .stream(length: request.body.length) { _ in CancellableBodySource(ChunksBodySource([recorded.body]), trailers: trailers) }
        }
        exchange.isPassedOn()
        return try await sender.send(request)
    }

    /// Refuses later requests.
    public func shutdown() async throws { state.withLock { $0.isShutDown = true } }
}
