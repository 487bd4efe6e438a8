internal import ErrandCore

/// The decisions for one task of `URLSession`. This value has no locks, no tasks and none of Apple's types.
///
/// Each callback of the session and each call of a reader is a method. A method returns the actions that the exchange must carry out after
/// the release of its lock. Every method may be called in every state, and in any order. Callbacks after the end return no action.
///
/// - `HeadWaiter`: the caller that waits for the head of the response.
/// - `ChunkWaiter`: the reader that waits for the next chunk of the body.
/// - `Challenge`: a challenge with a server's certificates, which waits for a reply.
struct URLSessionMachine<HeadWaiter: Sendable, ChunkWaiter: Sendable, Challenge: Sendable>: Sendable {
    /// The properties of the request and of the session on which the decisions depend.
    struct Rules: Sendable {
        /// Whether a suspended task stops receiving. If a suspended task would continue to receive, the task is never suspended.
        var canSuspend = true
        /// The numbers of unread bytes at which the task is suspended and resumed.
        var marks = ReadQueue.Marks()
        /// The length of the request's body in bytes; `nil` if the length is not known.
        var requestLength: Int64? = 0
        /// Whether the request certainly has a body, so that the session reports its sent bytes.
        var reportsSentBytes = true
        /// Whether the request's body can be opened again.
        var canRestartBody = false
        /// Whether the request may be sent again although a part of its body was sent (RFC 9110, 9.2.2).
        var mayRepeatSentBody = false
        /// Whether the transport has settings about the certificates of servers.
        var checksServerTrust = false
        /// Whether the transport does not check the certificates of the server.
        var isUncheckedServer = false
        /// The server about whose certificates the request decides. `nil` if the request does not decide about a server.
        var decidedServer: Origin?
        /// Whether the transport has a client certificate.
        var hasClientCertificate = false
        /// The kinds of the events that are recorded directly after the start.
        var notes: [ExchangeEvent.Kind] = []
    }

    private let rules: Rules
    private let makeError: @Sendable (SessionFault, FailedExchange) -> any Error
    private(set) var state = State.idle
    /// The body ends when the events of the end have been recorded.
    private var body: UnreadBody<ChunkWaiter>
    private var receivedBytes: Int64 = 0
    private var upload = Upload()
    private var head: HTTPResponse?
    /// The head of a redirect that was not followed. Some sessions report no response after a redirect that was not followed.
    private var refusedRedirect: ReceivedHead?
    private var timings: ExchangeEvent.Timings?
    private var trust: RequestTrust<Challenge>
    private var hasAcceptedServer = false

    /// - Parameter makeError: a closure that returns the error for a fault.
    init(_ rules: Rules, makeError: @escaping @Sendable (SessionFault, FailedExchange) -> any Error) {
        (self.rules, self.makeError) = (rules, makeError)
        body = UnreadBody(marks: rules.marks)
        trust = RequestTrust(about: rules.decidedServer)
    }

    // MARK: - The request

    /// Records that a caller waits for the response.
    mutating func begin(_ waiter: HeadWaiter) -> [Action] {
        switch state {
        case .idle:
            state = .waiting(waiter)
            return [.record(.start)] + rules.notes.map { .record($0) } + [.start]
        // The task was never started.
        case .ended(.failed(let error)):
            return [.cancelTask, .failHead(waiter, error)]
        case .waiting, .receiving, .ended:
            return [.failHead(waiter, BodyAlreadyUsedError())]
        }
    }

    /// Records the number of bytes of the request's body that the session has sent so far. After a restart of the body, the session counts
    /// from zero again.
    mutating func recordSentBytes(_ total: Int64) -> [Action] {
        guard isRunning, total > upload.sentBytes else { return [] }
        upload.sentBytes = total
        var actions = recordHeadSent()
        if upload.hasReportedEnd { return actions }
        actions.append(.record(.requestBytesSent, bytes: total))
        return actions + recordUploadEnd()
    }

    /// Records that the session has read the whole body of the request.
    mutating func readWholeBody(of length: Int64) -> [Action] {
        guard isRunning else { return [] }
        upload.wholeLength = length
        return recordUploadEnd()
    }

    /// Whether the session may read the request's body once more, to send the request again.
    var mayReopenBody: Bool {
        guard case .waiting = state else { return false }
        return rules.canRestartBody && (rules.mayRepeatSentBody || upload.sentBytes == 0)
    }

    /// Records that the body of the request could not be read.
    mutating func failBody(_ error: any Error) -> [Action] { fail(.requestBody(error)) }

    // MARK: - The response

    /// Records a redirect. The session must not follow the redirect. Instead, the session reports the redirect as the response.
    mutating func redirect(_ head: ReceivedHead?) {
        if case .waiting = state { refusedRedirect = head }
    }

    /// Records a challenge of the server or of a proxy. The session has no credentials of the app for HTTP challenges. Therefore, the
    /// default handling of an HTTP challenge returns the response with the challenge. For a server's certificate, the default handling is
    /// the session's validation.
    ///
    /// After the head of the response has been received, a challenge means that the session would send the request again. In this case, the
    /// task is cancelled, and the exchange is complete unless bytes of the body are missing.
    mutating func challenge(_ kind: ChallengeKind) -> (ChallengeReply, [Action]) {
        switch (state, kind) {
        case (.receiving, _): (.cancel, [.cancelTask] + finishReceiving())
        case (.ended, _): (.cancel, [])
        case (_, .serverTrust) where rules.checksServerTrust || trust.server != nil: (.checkServerTrust, [])
        case (_, .clientCertificate) where rules.hasClientCertificate: (.presentClientCertificate, [])
        case (.idle, _), (.waiting, _): (.performDefaultHandling, [])
        }
    }

    /// Records the judgment of the transport about the server of a challenge. The request was not sent on this connection yet.
    mutating func assess(_ assessment: ServerAssessment, for challenge: Challenge) -> [Action] {
        switch state {
        case .receiving, .ended: return [.reply(challenge, .cancel)]
        case .idle, .waiting:
            switch trust.assess(assessment, for: challenge) {
            case .ask(let trust): return [.ask(trust)]
            case .decided(let decision): return reply(to: challenge, decision)
            }
        }
    }

    /// Whether the response can come from a server whose certificates are not trusted: ``ResponseMetadata/serverIsUnverified``.
    var serverIsUnverified: Bool { rules.isUncheckedServer || trust.hasPassedUnverified }

    /// Records the decision of the request's closure about the first waiting challenge, or the error of the closure.
    mutating func decide(_ result: Result<ServerTrust.Choice, any Error>) -> [Action] {
        guard let (challenge, decision) = trust.decide(result) else { return [] }
        return reply(to: challenge, decision)
    }

    private mutating func reply(to challenge: Challenge, _ decision: ServerTrustPolicy.Decision) -> [Action] {
        let reply = Action.reply(challenge, TrustReply(decision))
        guard case .refuse(let error) = decision else {
            hasAcceptedServer = true
            return [reply]
        }
        // The session reports the cancelled challenge as a cancelled task. Therefore the exchange ends before this report, with the reason
        // of the refusal.
        return fail(.untrustedServer(error)) + [reply]
    }

    /// Records that the session waits for a network.
    func waitsForConnectivity() -> [Action] {
        if case .waiting = state { [.record(.waitingForConnectivity)] } else { [] }
    }

    enum ResponseReply: Sendable, Equatable {
        case allow
        case cancel
    }

    /// Records the head of the response.
    ///
    /// - Parameter head: `nil` if the head is not a head of HTTP.
    mutating func receive(_ head: ReceivedHead?) -> (ResponseReply, [Action]) {
        switch state {
        case .waiting(let waiter):
            guard let head else { return (.cancel, fail(.invalidHead)) }
            if trust.isMissing { return (.cancel, fail(.undecidedServer)) }
            // On Linux, the session reports each informational response as if it were the response. A 101 is a final response.
            if head.head.status.kind == .informational, head.head.status.code != 101 {
                return (.allow, recordHeadSent() + [.recordInformational(head.head)])
            }
            return (.allow, deliver(head, to: waiter))
        case .receiving:
            // The session splits a body of the type `multipart/x-mixed-replace` into several responses, and drops the boundaries.
            return (.cancel, fail(.secondHead))
        case .idle, .ended:
            return (.cancel, [])
        }
    }

    private mutating func deliver(_ received: ReceivedHead, to waiter: HeadWaiter) -> [Action] {
        head = received.head
        state = .receiving(Receiving(missingBytes: received.wireLength, isDecoded: received.isDecoded))
        var actions = recordHeadSent()
        if rules.requestLength == 0 { actions += recordUploadEnd() }
        // The request already has a response, and needs no other connection. Only the rules of the transport decide about the waiting
        // challenges of other connections.
        actions += trust.takeQuestions().map { .reply($0.challenge, TrustReply($0.assessment.decision)) }
        return actions + [.recordHead(received.head), .deliverHead(received, to: waiter)]
    }

    /// Records a chunk of the response's body.
    mutating func receive(_ chunk: Data) -> [Action] {
        guard !chunk.isEmpty else { return [] }
        switch state {
        case .idle, .ended: return []
        // If this chunk were dropped, an incomplete body would be reported as complete.
        case .waiting: return fail(.chunkBeforeHead)
        case .receiving(var receiving):
            receivedBytes += Int64(chunk.count)
            receiving.missingBytes = receiving.missingBytes.map { $0 - Int64(chunk.count) }
            state = .receiving(receiving)
            let report = Action.record(.responseBytesReceived, bytes: receivedBytes)
            let wasHeldBack = isHeldBack
            if let (waiter, chunk) = body.append(CollectionOfOne(chunk)).delivery {
                return [report, .deliver(.success(chunk), to: waiter)]
            }
            return isHeldBack == wasHeldBack ? [report] : [report, .adjustFlow]
        }
    }

    /// Records the instants that the session has measured. The instants are reported at the end of the exchange.
    mutating func collect(_ timings: ExchangeEvent.Timings) {
        if isRunning { self.timings = timings }
    }

    /// Records the end of the task. After this callback, the session calls nothing for the task.
    ///
    /// - Parameter unreported: the head that the task has, although the session has reported no head. On Linux, the session does not report
    ///   a redirect without a usable target, and drops the body of the redirect. The head of any other response is ignored.
    mutating func complete(_ error: SessionError?, unreported: ReceivedHead? = nil) -> [Action] {
        switch state {
        case .ended:
            return []
        case .idle:
            return end(by: .session(error ?? .unknown))
        case .waiting(let waiter):
            if let error { return end(by: .session(error)) }
            let unreported = unreported.flatMap { $0.head.status.kind == .redirection ? $0 : nil }
            guard let redirect = refusedRedirect ?? unreported else { return end(by: .noResponse) }
            if trust.isMissing { return end(by: .undecidedServer) }
            let actions = deliver(redirect, to: waiter)
            return actions + (refusedRedirect == nil && redirect.wireLength != 0 ? end(by: .droppedBody) : end(.complete))
        case .receiving(let receiving):
            // If a server does not want the rest of the request, the server may close the connection after its response (RFC 9113, 8.1).
            guard let error, receiving.missingBytes != 0 || upload.hasReportedEnd else { return finishReceiving() }
            return end(by: .session(error))
        }
    }

    /// Ends an exchange whose session expects no further bytes.
    private mutating func finishReceiving() -> [Action] {
        guard case .receiving(let receiving) = state, let missing = receiving.missingBytes, missing > 0 else { return end(.complete) }
        return end(by: .bodyTooShort(missingBytes: missing))
    }

    // MARK: - Reading

    /// Whether the task must be suspended, because the reader is slow.
    var isHeldBack: Bool { rules.canSuspend && isRunning && body.isHeldBack }

    /// Returns the next chunk, the end or the failure. `nil` if the reader must wait. Queued chunks come before the end.
    ///
    /// The end is returned only after its events were recorded. After an app has read the whole body, the metadata of the exchange is
    /// complete.
    ///
    /// - Parameter waiter: the reader. If the reader must wait, `waiter` is kept until the next event.
    mutating func read(orWait waiter: ChunkWaiter? = nil) -> (UnreadBody<ChunkWaiter>.Read?, [Action]) {
        let wasHeldBack = isHeldBack
        let result = body.read(orWait: waiter).result
        return (result, isHeldBack == wasHeldBack ? [] : [.adjustFlow])
    }

    // MARK: - Giving up

    /// Records that the caller was cancelled while the caller waited for the response or read the response. Queued chunks are dropped.
    mutating func cancel() -> [Action] {
        body.drop(because: CancellationError())
        return fail(.cancelled)
    }

    /// Ends the exchange because no reader wants the rest of the response. Queued chunks are dropped.
    mutating func abandon() -> [Action] {
        body.drop(because: CancellationError())
        return isOver ? [] : [.cancelTask] + end(.abandoned)
    }

    /// Ends the exchange by the error of a later stage of the body. Queued chunks are dropped.
    mutating func abandon(because error: any Error) -> [Action] {
        body.drop(because: error)
        return fail(.later(error))
    }

    /// Ends the exchange because the transport was shut down. Queued chunks can still be read.
    mutating func shutDown() -> [Action] { fail(.shutDown) }

    // MARK: - The end

    private var isOver: Bool { if case .ended = state { true } else { false } }

    /// Whether the request may be on the wire.
    private var isRunning: Bool {
        switch state {
        case .waiting, .receiving: true
        case .idle, .ended: false
        }
    }

    /// Ends the exchange and its task.
    private mutating func fail(_ fault: SessionFault) -> [Action] { isOver ? [] : [.cancelTask] + end(by: fault) }

    private mutating func end(by fault: SessionFault) -> [Action] { end(.failed(makeError(fault, current))) }

    /// Ends the exchange. This function must not be called after the exchange has ended.
    private mutating func end(_ outcome: ExchangeLifetime.Outcome) -> [Action] {
        let (old, timings) = (state, timings)
        state = .ended(outcome)
        let error = Self.error(of: outcome)
        var isDecoded = false
        if case .receiving(let receiving) = old { isDecoded = receiving.isDecoded }
        let sizes = ExchangeLifetime.BodySizes(requestBytes: upload.sentBytes, responseBytes: isDecoded ? nil : receivedBytes)
        var actions = [Action.stopUpload]
        if case .idle = old {} else { actions += [timings.map { .recordTimings($0) }, .recordEnd(error)].compactMap { $0 } }
        actions += trust.takeQuestions().map { .reply($0.challenge, .cancel) }
        actions += [.endLifetime(outcome, sizes), .forget]
        if case .waiting(let waiter) = old, let error { actions.append(.failHead(waiter, error)) }
        return actions + [.publishEnd]
    }

    private static func error(of outcome: ExchangeLifetime.Outcome) -> (any Error)? {
        switch outcome {
        case .complete: nil
        case .failed(let error): error
        case .abandoned: CancellationError()
        }
    }

    /// Shows the end to readers. This function is called once, after the other actions of the end were carried out.
    mutating func publishEnd() -> [Action] {
        guard case .ended(let outcome) = state, let (waiter, result) = body.end(because: Self.error(of: outcome)) else { return [] }
        return [.deliver(result, to: waiter)]
    }

    /// The state of the exchange, for the error that ends the exchange.
    private var current: FailedExchange {
        let hasSentBytes = upload.sentBytes > 0
        switch state {
        case .idle, .ended: return FailedExchange(position: ExchangePosition(phase: .queue, delivery: .notSent))
        case .waiting:
            // The session reports no bytes for a request without a body.
            let isSending = hasSentBytes && !upload.hasReportedEnd
            return FailedExchange(
                position: ExchangePosition(isSending ? .inProgress : .over, .nothing), hasSentBytes: hasSentBytes,
                reportsSentBytes: rules.reportsSentBytes, hasAcceptedServer: hasAcceptedServer)
        case .receiving: return FailedExchange(position: ExchangePosition(.over, .body), head: head, hasSentBytes: true)
        }
    }

    // MARK: - Events of the upload

    private mutating func recordHeadSent() -> [Action] {
        if upload.hasReportedHead { return [] }
        upload.hasReportedHead = true
        return [.record(.requestHeadSent)]
    }

    /// Reports the end of the request, once, if the whole body was sent.
    private mutating func recordUploadEnd() -> [Action] {
        guard !upload.hasReportedEnd, let length = upload.wholeLength ?? rules.requestLength, upload.sentBytes >= length else { return [] }
        upload.hasReportedEnd = true
        return recordHeadSent() + [.record(.requestSent)]
    }
}
