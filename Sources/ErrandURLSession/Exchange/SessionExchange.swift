internal import ErrandCore
internal import Foundation
internal import Synchronization

/// One request and its response. The session's delegate reports callbacks to the exchange. A reader uses the exchange as the source of the
/// body.
///
/// The delegate calls the exchange on the session's queue. The reader calls the exchange on the reader's task. ``URLSessionMachine``
/// decides under a lock, and the exchange performs the actions after the lock is released. Only ``adjustFlow()`` calls the session's task
/// under a lock. This second lock keeps the calls of `suspend` and `resume` in order.
final class SessionExchange: ReadyBodySource {
    /// This type is a class, because the layout of a continuation is known only at run time.
    final class HeadWaiter: Sendable {
        let continuation: CheckedContinuation<Response, any Error>
        init(_ continuation: CheckedContinuation<Response, any Error>) { self.continuation = continuation }
    }

    final class ChunkWaiter: Sendable {
        let continuation: CheckedContinuation<Data?, any Error>
        init(_ continuation: CheckedContinuation<Data?, any Error>) { self.continuation = continuation }
    }

    typealias Machine = URLSessionMachine<HeadWaiter, ChunkWaiter, TrustChallenge>

    let request: Request
    private let events: ExchangeEventLog?
    private let lifetime = ExchangeLifetime()
    private let machine: Mutex<Machine>
    private let driver: Mutex<(any SessionDriving)?> = Mutex(nil)
    /// Whether the task is suspended because the reader is slow.
    private let isSuspended = Mutex(false)
    private let upload: SessionUpload?
    /// The servers about which the closure of the request decides. A session asks about servers only during its handshakes. Therefore, only
    /// a few servers wait for a decision.
    private let servers: (stream: AsyncStream<ServerTrust>, continuation: AsyncStream<ServerTrust>.Continuation)?
    private let onForget: @Sendable () -> Void

    /// - Parameters:
    ///   - upload: the upload of a file or a stream; `nil` if the body is in memory or empty.
    ///   - traffic: the tasks of the session, to which the task of this exchange was added.
    ///   - onForget: a closure that is called once, when the exchange has ended.
    init(
        _ request: Request, rules: Machine.Rules, upload: SessionUpload? = nil, traffic: SessionTraffic = SessionTraffic(),
        onForget: @escaping @Sendable () -> Void = {}
    ) {
        self.request = request
        events = request.options.eventSink.map { ExchangeEventLog($0, request: request.id) }
        (self.upload, self.onForget) = (upload, onForget)
        servers = request.options.onServerTrust == nil ? nil : AsyncStream.makeStream()
        let started = ContinuousClock.now
        machine = Mutex(
            Machine(rules) { fault, exchange in
                let failure = SessionFailure(
                    request: request, exchange: exchange, mayShareConnections: traffic.mayShareConnections,
                    elapsed: started.duration(to: .now))
                let error = failure.error(for: fault)
                if (error as? TransportError)?.delivery == .notSent { traffic.endUnsent() }
                return error
            })
    }

    // MARK: - Sending

    /// Sends the request. Returns when the head of the response has been received.
    ///
    /// - Parameter driver: the task, which was not started yet.
    func run(on driver: any SessionDriving) async throws -> Response {
        self.driver.withLock { $0 = driver }
        guard let decide = request.options.onServerTrust, let servers else { return try await head() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.decide(about: servers.stream, by: decide) }
            defer { group.cancelAll() }
            return try await head()
        }
    }

    /// Starts the task, and returns when the head of the response has been received.
    private func head() async throws -> Response {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                perform(machine.withLock { $0.begin(HeadWaiter(continuation)) })
            }
        } onCancel: {
            perform(machine.withLock { $0.cancel() })
        }
    }

    /// Calls the closure for each server about which the request decides, until the task of this function is cancelled.
    private func decide(about servers: AsyncStream<ServerTrust>, by decide: ServerTrustHandler) async {
        for await server in servers {
            let result = await Result { try await decide(server) }
            perform(machine.withLock { $0.decide(result) })
        }
    }

    // MARK: - Callbacks of the session

    func receive(_ head: ReceivedHead?) -> Machine.ResponseReply {
        let (reply, actions) = machine.withLock { $0.receive(head) }
        perform(actions)
        return reply
    }

    func receive(_ chunk: Data) { perform(machine.withLock { $0.receive(chunk) }) }
    func redirect(_ head: ReceivedHead?) { machine.withLock { $0.redirect(head) } }
    func collect(_ timings: ExchangeEvent.Timings) { machine.withLock { $0.collect(timings) } }

    func complete(_ error: SessionError?, unreported: ReceivedHead? = nil) {
        perform(machine.withLock { $0.complete(error, unreported: unreported) })
    }

    func recordSentBytes(_ total: Int64) { perform(machine.withLock { $0.recordSentBytes(total) }) }

    func challenge(_ kind: Machine.ChallengeKind) -> Machine.ChallengeReply {
        let (reply, actions) = machine.withLock { $0.challenge(kind) }
        perform(actions)
        return reply
    }

    func assess(_ assessment: ServerAssessment, for challenge: TrustChallenge) {
        perform(machine.withLock { $0.assess(assessment, for: challenge) })
    }

    func waitForConnectivity() { perform(machine.withLock { $0.waitsForConnectivity() }) }

    /// Returns the request's body from its beginning. `nil` if the session must not send the body again.
    func newBody() -> InputStream? { machine.withLock(\.mayReopenBody) ? upload?.open() : nil }

    func shutDown() { perform(machine.withLock { $0.shutDown() }) }

    // MARK: - Events of the upload

    func readWholeBody(of length: Int64) { perform(machine.withLock { $0.readWholeBody(of: length) }) }
    func failBody(_ error: any Error) { perform(machine.withLock { $0.failBody(error) }) }

    // MARK: - Reading

    func next() async throws -> Data? {
        // If a chunk is queued, the reader does not wait, and needs no cancellation handler.
        if !Task.isCancelled, let read = read() { return try read.get() }
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            return try await withCheckedThrowingContinuation { continuation in
                if let read = read(orWait: ChunkWaiter(continuation)) { continuation.resume(with: read) }
            }
        } onCancel: {
            perform(machine.withLock { $0.cancel() })
        }
    }

    func takeReadyChunk() -> Data? {
        guard !Task.isCancelled, case .success(let chunk)? = read() else { return nil }
        return chunk
    }

    /// Returns the next chunk, the end or the failure. `nil` if nothing is queued. If nothing is queued, `waiter` waits for the next event.
    private func read(orWait waiter: ChunkWaiter? = nil) -> UnreadBody<ChunkWaiter>.Read? {
        let (result, actions) = machine.withLock { $0.read(orWait: waiter) }
        perform(actions)
        return result
    }

    func abandon() { perform(machine.withLock { $0.abandon() }) }
    func fail(with error: any Error) { perform(machine.withLock { $0.abandon(because: error) }) }

    // MARK: - Actions

    private func perform(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .start: driver.withLock(\.self)?.resume()
            case .adjustFlow: adjustFlow()
            case .cancelTask: driver.withLock(\.self)?.cancel()
            case .stopUpload: upload?.stop()
            case .ask(let trust): servers?.continuation.yield(trust)
            case .reply(let challenge, let reply): challenge.reply(reply)
            case .record(let kind, let bytes): events?.record(kind, bytes: bytes)
            case .recordInformational(let head): events?.record(.informationalResponse, response: head)
            case .recordHead(let head): events?.record(.responseHead, response: head)
            case .recordTimings(let timings): events?.record(.timings, timings: timings)
            case .recordEnd(let error): events?.record(.end, failure: error)
            case .endLifetime(let outcome, let sizes): lifetime.end(outcome, sizes: sizes)
            case .forget:
                driver.withLock { $0 = nil }
                onForget()
            case .deliverHead(let head, let waiter): waiter.continuation.resume(returning: response(head))
            case .failHead(let waiter, let error): waiter.continuation.resume(throwing: error)
            case .deliver(let result, let waiter): waiter.continuation.resume(with: result)
            case .publishEnd: perform(machine.withLock { $0.publishEnd() })
            }
        }
    }

    /// Suspends or resumes the task. Two threads may decide at the same time. Therefore, the last decision is read under a lock. The same
    /// lock keeps the calls to the task in order.
    private func adjustFlow() {
        isSuspended.withLock { isSuspended in
            let mustWait = machine.withLock(\.isHeldBack)
            guard mustWait != isSuspended, let driver = driver.withLock(\.self) else { return }
            isSuspended = mustWait
            if mustWait { driver.suspend() } else { driver.resume() }
        }
    }

    private func response(_ received: ReceivedHead) -> Response {
        let body = ResponseBody(self, expectedLength: received.expectedLength, request: request)
        var response = Response(head: received.head, body: body, request: request, exchange: lifetime)
        response.metadata.contentCoding = received.contentCoding
        response.metadata.encodedFields = received.encodedFields
        if machine.withLock(\.serverIsUnverified) { response.metadata.serverIsUnverified = true }
        return response
    }
}
