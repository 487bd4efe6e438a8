internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing
internal import Synchronization

/// One call of ``Upload/response()``: sends requests until the server has all bytes. An ``UploadRule`` decides about each response.
final class UploadRun: Sendable {
    /// The result of one request.
    private enum Step: Sendable {
        case complete(Response)
        /// Another request is needed.
        case incomplete
    }

    /// A failure for which the rules, and not the policy, decide whether the upload continues.
    private struct Setback: Error {
        let error: any Error
        var retryAfter: Duration?
        var mayContinue = true
    }

    private struct State {
        var record: UploadResumption
        var budget: TransferBudget
        var limits = UploadLimits()
        /// Whether ``record`` has the present number of bytes at the server. False after each failure.
        var knowsOffset = false
        /// The largest number of bytes that the server has confirmed.
        var confirmed: Int64 = 0
        /// The app's request for the next step, if the request is already made.
        var request: Request?
        /// Whether the body of the last request was read to its end.
        var wasSent = false
    }

    private let upload: Upload
    private let rule: any UploadRule
    private let content: UploadContent
    private let journal: UploadJournal
    private let state: Mutex<State>

    private var settings: Upload.Settings { upload.settings }
    private var options: UploadOptions { settings.options }
    private var meter: TransferMeter { upload.meter }
    private var record: UploadResumption { state.withLock { $0.record } }

    private init(_ upload: Upload, _ content: UploadContent, _ journal: UploadJournal, _ record: UploadResumption, _ request: Request) {
        (self.upload, self.content, self.journal) = (upload, content, journal)
        rule = upload.settings.uploadProtocol.rule
        var state = State(record: record, budget: TransferBudget(maxFailures: upload.settings.policy.maxFailures))
        (state.request, state.confirmed) = (request, record.bytes)
        self.state = Mutex(state)
    }

    /// Examines the content, takes the lock of the journal, and reads the record of an earlier run.
    ///
    /// - Parameter isDiscarding: whether the upload will be cancelled. In this case, the file may be missing or changed.
    /// - Throws: ``TransferError``; `FileReadError`; `FileWriteError`; the errors of making the request.
    static func open(_ upload: Upload, isDiscarding: Bool = false) async throws -> UploadRun {
        let settings = upload.settings
        let request = try await request(settings, upload.resumption)
        let content = try await content(settings, request, mayBeMissing: isDiscarding)
        let target = UploadJournal.target(of: request, contentID: content.contentID)
        let path = try UploadJournal.path(of: content, target: target, options: settings.options)
        let journal = try await UploadJournal.open(path, clock: settings.clock)
        do {
            let new = content.record(settings.uploadProtocol, target: target)
            var found = try await journal.read(replaces: settings.options.unreadableJournal == .startAgain)
            // A call of the same object may have failed before. The object's record is newer than the journal, or the only record.
            if let own = upload.resumption { found = own }
            guard let found, found.canContinue, found.target.isExactly(target), found.uploadProtocol == settings.uploadProtocol else {
                return UploadRun(upload, content, journal, new, request)
            }
            // Within one object, a stream without an identity is the same content.
            let isSame =
                isDiscarding || content.isContent(of: found)
                || (!content.isRecognizable && found.contentID == nil && found.total == content.length)
            if isSame { return UploadRun(upload, content, journal, found, request) }
            guard settings.options.changedContent == .startAgain else {
                throw TransferError(
                    .fileChanged, "the content has changed since the upload began", resumption: .upload(found), request: request)
            }
            let earlier = UploadRun(upload, content, journal, found, request)
            try? await earlier.cancelAtServer()
            try await journal.remove()
            upload.keep(nil)
            return UploadRun(upload, content, journal, new, request)
        } catch {
            await journal.close()
            throw error
        }
    }

    private static func content(_ settings: Upload.Settings, _ request: Request, mayBeMissing: Bool) async throws -> UploadContent {
        guard let file = settings.file else { return try await UploadContent(request.body, options: settings.options) }
        do {
            return try await UploadContent(try .file(file), options: settings.options)
        } catch let error as FileReadError where mayBeMissing && error.isMissingFile {
            return UploadContent(missing: error.path, options: settings.options)
        }
    }

    /// Makes the app's request, and checks it.
    private static func request(_ settings: Upload.Settings, _ record: UploadResumption?) async throws -> Request {
        let request = try await settings.makeRequest(record)
        if let problem = settings.uploadProtocol.rule.problem(of: request.method, options: settings.options) {
            throw TransferError(.invalidRequest, problem, request: request)
        }
        if settings.file != nil, !request.body.isEmpty {
            throw TransferError(.invalidRequest, "the request has a body, and the upload has a file", request: request)
        }
        return request
    }

    /// Sends requests until the server has all bytes, and returns the last response.
    func perform() async throws -> Response {
        do {
            let response = try await run()
            try await content.checkUnchanged()
            try await journal.remove()
            await journal.close()
            upload.keep(record)
            upload.keep(nil)
            meter.set(content.length, total: content.length)
            return response
        } catch {
            await journal.close()
            throw error
        }
    }

    private func run() async throws -> Response {
        meter.set(record.bytes, total: content.length)
        while true {
            try await upload.control.waitWhilePaused { meter.enter(.paused) }
            do {
                if case .complete(let response)? = try await upload.control.untilPaused({ try await self.step() }) { return response }
                try await keepRecord()
            } catch {
                try? await keepRecord()
                try Task.checkCancellation()
                try await waitAfter(error)
            }
        }
    }

    /// Writes the journal, even if the task is cancelled.
    private func keepRecord() async throws {
        let record = record
        upload.keep(record)
        if record.canContinue { try await journal.write(record) }
    }

    /// Forgets the upload at the server.
    private func forget() async throws {
        state.withLock { state in
            state.record = state.record.startingAgain
            (state.knowsOffset, state.confirmed) = (false, 0)
        }
        upload.keep(nil)
        try await journal.remove()
    }

    /// Waits before the next request, or throws the error if no further request is sent.
    private func waitAfter(_ error: any Error) async throws {
        let failures = state.withLock { state in
            state.knowsOffset = false
            return state.budget.fail() ? state.budget.failures : nil
        }
        let cause = (error as? Setback)?.error ?? error
        guard let failures, let wait = wait(after: error, failures: failures) else { throw cause }
        meter.enter(.waiting(wait, after: cause))
        let clock = settings.clock
        _ = try await upload.control.untilPaused { try await clock.sleep(for: wait) }
    }

    private func wait(after error: any Error, failures: Int) -> Duration? {
        let policy = settings.policy
        if let error = error as? Setback {
            guard error.mayContinue, error.retryAfter ?? .zero <= policy.maxRetryAfter else { return nil }
            let own = policy.jitter.applied(to: policy.backoff.delay(afterAttempt: failures), random: settings.random())
            return max(own, error.retryAfter ?? .zero)
        }
        if error is TransferError { return nil }
        return policy.wait(after: error, failures: failures, random: settings.random())
    }

    // MARK: A request

    private func step() async throws -> Step {
        let (known, record) = state.withLock { state in (state.request.take(), state.record) }
        let app: Request
        if let known { app = known } else { app = try await Self.request(settings, record.canContinue ? record : nil) }
        try await content.checkUnchanged()
        let action = nextAction(record)
        meter.enter(.connecting)
        state.withLock { $0.wasSent = action.part?.count == 0 }
        let request = try await request(for: action, of: record, app)
        let base: HTTPURL? = if let url = request.url { url } else { try? await HTTPStack(settings.sender).prepared(request).url }
        let result = await sent(request, action, base)
        if case .failure(let error) = result, !(error is StatusError) {
            if (error as? TransferError)?.code == .tooLarge { try? await giveUp() }
            if action.part?.isLast == true, state.withLock({ $0.wasSent }) { state.withLock { $0.record.mayBeComplete = true } }
            guard canRepeat(action, app, after: error) else { throw Setback(error: error, mayContinue: false) }
            throw error
        }
        return try await judge(result, action, app, base)
    }

    private func nextAction(_ record: UploadResumption) -> UploadAction {
        let (knowsOffset, limits) = state.withLock { ($0.knowsOffset, $0.limits) }
        guard record.url != nil else {
            let sees = HTTPStack(settings.sender).capabilities.contains(.informationalResponses)
            return .create(rule.firstPart(total: content.length, options: options, seesInformation: sees))
        }
        guard knowsOffset else { return .askOffset }
        return .append(rule.part(from: record.bytes, of: content.length, options: options, limits: limits))
    }

    private func request(for action: UploadAction, of record: UploadResumption, _ app: Request) async throws -> Request {
        let (method, fields) = rule.request(for: action, of: record, method: app.method, options: options)
        var request = app
        // The fields that describe the content belong to the request of the draft that creates the upload, and to no other request.
        if case .create = action, settings.uploadProtocol != .tus { request.body = .empty } else { request.changeToGET() }
        request.removeConditions()
        request.head.method = method
        request.headers[.contentLength] = nil
        for field in fields { request.headers[field.name] = field.value }
        if let url = record.url { try request.move(to: url, from: app.origin ?? record.origin) }
        if let part = action.part, part.count > 0 { try await addContent(part, to: &request) }
        request.options.call.keepsBodyBytes = true
        (request.options.timeout, request.options.attemptTimeout) = (.off, .off)
        if case .inherited = request.options.phaseTimeouts {
            let idle = settings.policy.idleTimeout
            request.options.phaseTimeouts = .use(
                PhaseTimeouts(firstByte: idle, idleRead: idle, idleWrite: idle, clock: settings.clock))
        }
        return request
    }

    private func addContent(_ part: UploadPart, to request: inout Request) async throws {
        var body: RequestBody
        if let checksum = options.checksum {
            let data = try await content.data(part.range)
            body = .data(data)
            #if Crypto
            let hash = OctetHash.of(data, by: checksum == .sha1 ? .sha1 : .sha256)
            request.headers[.uploadChecksum] = "\(checksum.rawValue) \(Data(hash).base64EncodedString())"
            #endif
        } else {
            body = try await content.body(part.range)
        }
        let (meter, total, start) = (meter, content.length, part.range.lowerBound)
        request.body = body.observed { [weak self] event in
            switch event {
            case .opened(let offset): meter.begin(at: start + offset, total: total)
            case .chunk(let chunk): meter.record(chunk.count)
            case .end(let outcome, _): if outcome.isComplete { self?.state.withLock { $0.wasSent = true } }
            }
        }
    }

    /// Sends a request, and follows the informational responses to it.
    private func sent(_ request: Request, _ action: UploadAction, _ base: HTTPURL?) async -> Result<Response, any Error> {
        guard case .resumable(let version) = settings.uploadProtocol.kind, action.part != nil else {
            return await Result { try await settings.sender.send(request) }
        }
        let information = UploadInformation(version: version, limits: state.withLock { $0.limits })
        var request = request
        request.options.addEventSink(information)
        let (sender, sent) = (settings.sender, request)
        do {
            let result = try await withThrowingTaskGroup(of: Result<Response, any Error>.self) { group in
                group.addTask { await Result { try await sender.send(sent) } }
                group.addTask {
                    for await news in information.values { try await self.note(news, action, base) }
                    // The sequence ends early only after a cancellation.
                    throw CancellationError()
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .failure(CancellationError())
            }
            // After a redirect, the URL of the request is another base of a relative URL.
            let last: HTTPURL? =
                switch result {
                case .success(let response): response.request.url
                case .failure(let error): (error as? any RequestFailure)?.request?.url
                }
            do {
                try await note(information.news, action, last ?? base)
            } catch {
                if case .success(let response) = result { response.discard() }
                throw error
            }
            return result
        } catch {
            return .failure(error)
        }
    }

    /// Records the content of informational responses.
    ///
    /// - Throws: ``TransferError`` if the upload can't succeed.
    private func note(_ news: UploadInformation.News, _ action: UploadAction, _ base: HTTPURL?) async throws {
        state.withLock { state in
            state.limits = news.limits
            if let offset = news.offset, offset <= state.record.total { state.record.bytes = max(state.record.bytes, offset) }
        }
        guard case .create = action, let head = news.head else { return }
        if news.isContradictory { throw failure(.noLocation) }
        let url: HTTPURL
        switch UploadHead(response: head, url: base).location() {
        case .success(let location): url = location
        // The URL of the request is known at the latest with the final response.
        case .failure where base == nil: return
        case .failure(let error): throw failure(error.reason)
        }
        let isNew = state.withLock { state in
            defer { (state.record.url, state.record.origin) = (url, base?.origin) }
            return state.record.url != url
        }
        if isNew { try await keepRecord() }
        if let maxSize = news.limits.maxSize, maxSize < content.length { throw failure(.tooLarge) }
    }

    // MARK: The decision

    private func judge(
        _ result: Result<Response, any Error>, _ action: UploadAction, _ app: Request, _ base: HTTPURL?
    ) async throws -> Step {
        var response: Response?
        var refusal: StatusError?
        switch result {
        case .success(let received) where received.status.kind == .successful: response = received
        case .success(let received): refusal = try await StatusError(reading: received)
        case .failure(let error as StatusError): refusal = error
        case .failure(let error): throw error
        }
        guard let received = response?.head ?? refusal?.head else { return .incomplete }
        var head = UploadHead(response: received, url: response?.request.url ?? refusal?.request?.url ?? base)
        head.problem = refusal?.problem
        head.isIdempotent = app.method.isIdempotent
        head.limits = state.withLock { state in
            state.limits = ResumableRule.limits(in: received.headerFields, or: state.limits)
            return state.limits
        }
        do {
            return try await follow(rule.decide(head, after: action, of: record), response, refusal, action, app)
        } catch {
            response?.discard()
            throw error
        }
    }

    private func follow(
        _ decision: UploadDecision, _ response: Response?, _ refusal: StatusError?, _ action: UploadAction, _ app: Request
    ) async throws -> Step {
        switch decision {
        case .complete:
            if let response { return .complete(response) }
            throw refusal ?? failure(.noOffset)
        case .append(let record):
            response?.discard()
            try accept(record, after: action)
            return .incomplete
        case .askOffset(let record):
            response?.discard()
            state.withLock { ($0.record, $0.knowsOffset) = (record, false) }
            if case .append = action { try countFailure(.noOffset) }
            return .incomplete
        case .wait(let reason):
            throw Setback(error: refusal ?? failure(reason, response), retryAfter: refusal?.retryAfter)
        case .refuse(let isFinal):
            if isFinal { try await forget() }
            guard let refusal else { throw failure(.noOffset, response) }
            guard canRepeat(action, app, after: refusal), !isFinal else { throw Setback(error: refusal, mayContinue: false) }
            throw refusal
        case .startAgain(let reason):
            response?.discard()
            guard state.withLock({ $0.budget.restart() }) else { throw failure(reason, response, refusal) }
            try await forget()
            return .incomplete
        case .fail(let reason):
            let error = failure(reason, response, refusal)
            if reason == .mayBeComplete { try await forget() }
            throw error
        case .cancel(let record, let reason):
            response?.discard()
            state.withLock { $0.record = record }
            try? await giveUp()
            throw failure(reason, response, refusal)
        }
    }

    /// Continues after the bytes that the server has.
    private func accept(_ record: UploadResumption, after action: UploadAction) throws {
        let isProgress = state.withLock { state in
            let new = record.bytes - state.confirmed
            (state.record, state.knowsOffset) = (record, true)
            if new > 0 {
                state.budget.record(new)
                state.confirmed = record.bytes
            }
            return new > 0
        }
        meter.set(record.bytes, total: content.length)
        if case .append = action, !isProgress { try countFailure(.noProgress) }
    }

    /// Counts a failure without a wait, so that a server that never makes progress ends the call.
    private func countFailure(_ reason: UploadDecision.Reason) throws {
        guard state.withLock({ $0.budget.fail() }) else { throw failure(reason) }
    }

    /// Returns whether a failed action may be done again without the risk that the server processes the content twice.
    private func canRepeat(_ action: UploadAction, _ app: Request, after error: any Error) -> Bool {
        guard case .create(let part) = action, part.isLast, settings.uploadProtocol != .tus, record.url == nil else { return true }
        if app.method.isIdempotent || !state.withLock({ $0.wasSent }) || !error.mayHaveBeenProcessed { return true }
        return (error as? StatusError)?.saysNotProcessed == true
    }

    private func failure(
        _ reason: UploadDecision.Reason, _ response: Response? = nil, _ refusal: StatusError? = nil
    ) -> TransferError {
        let record = record
        return TransferError(
            reason.code, reason.rawValue, resumption: record.canContinue ? .upload(record) : nil,
            request: response?.request ?? refusal?.request, response: response?.head ?? refusal?.head)
    }

    // MARK: The end

    /// Sends the request that cancels the upload. Does nothing if the server has no upload.
    ///
    /// - Throws: the errors of the sender, but no error for the status of the response.
    private func cancelAtServer() async throws {
        let record = record
        guard record.canContinue else { return }
        let known = state.withLock { $0.request.take() }
        let app: Request
        if let known { app = known } else { app = try await Self.request(settings, record) }
        do {
            try await settings.sender.send(try await request(for: .cancel, of: record, app)).discard()
        } catch is StatusError {
            // The server knows no such upload, or does not support the cancellation.
        }
    }

    /// Cancels an upload that can't succeed.
    private func giveUp() async throws {
        try await cancelAtServer()
        try await forget()
    }

    /// Cancels the upload at the server, and removes the journal.
    func discard() async throws {
        do {
            try await cancelAtServer()
            try await journal.remove()
            await journal.close()
        } catch {
            await journal.close()
            throw error
        }
    }
}
