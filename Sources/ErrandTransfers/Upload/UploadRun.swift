internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing
internal import Synchronization

/// One call of ``Upload/response()``: sends requests until the server has all bytes. An ``UploadMachine`` decides about each event.
final class UploadRun: Sendable {
    /// The result of one request.
    private enum Step: Sendable {
        case complete(Response)
        /// Another request is needed.
        case incomplete
    }

    /// The action that ends a request before its response. The action is performed when the request has ended.
    private struct Stop: Error {
        let action: UploadMachine.Action
    }

    private struct State {
        var machine: UploadMachine
        /// The app's request for the next step, if the request is already made.
        var request: Request?
    }

    private let upload: Upload
    private let content: UploadContent
    private let journal: UploadJournal
    private let state: Mutex<State>

    private var settings: Upload.Settings { upload.settings }
    private var options: UploadOptions { settings.options }
    private var meter: TransferMeter { upload.meter }
    private var record: UploadResumption { state.withLock { $0.machine.record } }

    private init(_ upload: Upload, _ content: UploadContent, _ journal: UploadJournal, _ record: UploadResumption, _ request: Request) {
        (self.upload, self.content, self.journal) = (upload, content, journal)
        let settings = upload.settings
        let machine = UploadMachine(
            record, policy: settings.policy, options: settings.options,
            seesInformation: HTTPStack(settings.sender).capabilities.contains(.informationalResponses),
            isIdempotent: request.method.isIdempotent)
        state = Mutex(State(machine: machine, request: request))
    }

    private func handle(_ event: UploadMachine.Event) -> UploadMachine.Action { state.withLock { $0.machine.handle(event) } }

    /// Examines the content, takes the lock of the journal, and reads the record of an earlier run.
    ///
    /// - Parameter isDiscarding: whether the upload will be cancelled. In this case, the file may be missing or changed.
    /// - Throws: ``TransferError``; `FileReadError`; `FileWriteError`; the errors of making the request; `CancellationError`.
    static func open(_ upload: Upload, isDiscarding: Bool = false) async throws -> UploadRun {
        let settings = upload.settings
        let request = try await request(settings, upload.resumption)
        let content = try await content(settings, request, mayBeMissing: isDiscarding)
        let target = UploadJournal.target(of: request, contentID: content.contentID)
        let path = try UploadJournal.path(of: content, target: target, options: settings.options)
        let journal = try await UploadJournal.open(path, calls: settings.calls, clock: settings.clock)
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
                switch try await upload.control.untilPaused({ try await self.step() }) {
                case .complete(let response)?: return response
                case .incomplete?: meter.set(record.bytes, total: content.length)
                case nil: _ = handle(.paused)
                }
                try await keepRecord()
            } catch {
                let isCancelled = Task.isCancelled
                let action = isCancelled ? handle(.paused) : handle(.failure(error, random: settings.random()))
                try? await keepRecord()
                try Task.checkCancellation()
                guard case .wait(let wait) = action else { throw error }
                meter.enter(.waiting(wait, after: error))
                let clock = settings.clock
                _ = try await upload.control.untilPaused { try await clock.sleep(for: wait) }
            }
        }
    }

    /// Writes the journal, even if the task is cancelled.
    private func keepRecord() async throws {
        let record = record
        upload.keep(record)
        if record.canContinue { try await journal.write(record) }
    }

    /// Removes the journal of an upload that is over.
    private func forget() async throws {
        state.withLock { $0.machine.forget() }
        upload.keep(nil)
        try await journal.remove()
    }

    // MARK: A request

    private func step() async throws -> Step {
        let (known, record) = state.withLock { state in (state.request.take(), state.machine.record) }
        let app: Request
        if let known { app = known } else { app = try await Self.request(settings, record.canContinue ? record : nil) }
        try await content.checkUnchanged()
        guard case .send(let action) = handle(.ready) else { return .incomplete }
        meter.enter(.connecting)
        let request = try await request(for: action, of: record, app)
        let base: HTTPURL? = if let url = request.url { url } else { try? await HTTPStack(settings.sender).prepared(request).url }
        var response: Response?
        var refusal: StatusError?
        switch await sent(request, action, base) {
        case .success(let received) where received.status.kind == .successful: response = received
        case .success(let received): refusal = try await StatusError(reading: received)
        case .failure(let error as StatusError): refusal = error
        case .failure(let stop as Stop): return try await follow(stop.action, nil, nil)
        case .failure(let error): throw error
        }
        guard let received = response?.head ?? refusal?.head else { return .incomplete }
        var head = UploadHead(response: received, url: response?.request.url ?? refusal?.request?.url ?? base)
        head.problem = refusal?.problem
        return try await follow(handle(.head(head)), response, refusal)
    }

    private func request(for action: UploadAction, of record: UploadResumption, _ app: Request) async throws -> Request {
        let (method, fields) = settings.uploadProtocol.rule.request(for: action, of: record, method: app.method, options: options)
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
            case .end(let outcome, _): if outcome.isComplete { _ = self?.handle(.bodyEnd) }
            }
        }
    }

    /// Sends a request, and follows the informational responses to it.
    private func sent(_ request: Request, _ action: UploadAction, _ base: HTTPURL?) async -> Result<Response, any Error> {
        guard case .resumable(let version) = settings.uploadProtocol.kind, action.part != nil else {
            return await Result { try await settings.sender.send(request) }
        }
        let information = UploadInformation(version: version, limits: state.withLock { $0.machine.limits })
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
    /// - Throws: ``Stop`` if the request must end; `FileWriteError` if the journal can't be written.
    private func note(_ news: UploadInformation.News, _ action: UploadAction, _ base: HTTPURL?) async throws {
        var information = UploadMachine.Information(limits: news.limits, offset: news.offset, origin: base?.origin)
        if news.isContradictory { information.problem = .noLocation }
        if case .create = action, let head = news.head {
            switch UploadHead(response: head, url: base).location() {
            case .success(let url): information.url = url
            // The URL of the request is known at the latest with the final response.
            case .failure where base == nil: break
            case .failure(let error): information.problem = error.reason
            }
        }
        let next = handle(.information(information))
        if next == .keep { try await keepRecord() } else if next != .read { throw Stop(action: next) }
    }

    // MARK: The decision

    private func follow(_ action: UploadMachine.Action, _ response: Response?, _ refusal: StatusError?) async throws -> Step {
        if action == .finish, let response { return .complete(response) }
        defer { response?.discard() }
        switch action {
        case .send, .read, .keep, .sendAgain, .wait: return .incomplete
        case .startAgain:
            try await forget()
            return .incomplete
        case .refuse(let forgets):
            if forgets { try await forget() }
            throw refusal ?? failure(.noOffset, response)
        case .fail(let reason): throw failure(reason, response, refusal)
        case .forget(let reason):
            try await forget()
            throw failure(reason, response, refusal)
        case .cancel(let reason):
            let error = failure(reason, response, refusal)
            try? await giveUp()
            throw error
        case .finish, .rethrow: throw refusal ?? failure(.noOffset, response)
        }
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
    /// - Throws: the errors of making the request, and the errors of the sender, but no error for the status of the response.
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
