#if Telemetry
internal import ErrandCore
internal import ErrandRedaction
internal import Logging
internal import Synchronization

/// Writes the records of one call. If the logger does not accept a record, the text of the record is not composed.
final class ExchangeLog: CallObserver {
    private let logger: Logger
    private let level: Logger.Level
    let detail: LogDetail
    let style: LogStyle
    private let carriedMetadata: LogMetadata
    private let carriesCURL: Bool
    /// The request as the log got it, with the names that inner layers have declared as sensitive.
    private let logged: Mutex<Request>
    private let time: @Sendable () -> Duration
    /// The response that is written at the end of the call; `nil` if the response is written earlier, or not written.
    private let awaited = Mutex<Awaited?>(nil)

    /// - Parameter time: the closure that returns the time since the request reached the log.
    init(
        logger: Logger, level: Logger.Level, detail: LogDetail, style: LogStyle, carriedMetadata: LogMetadata, carriesCURL: Bool,
        request: Request, time: @escaping @Sendable () -> Duration
    ) {
        self.logger = logger
        self.level = level
        self.detail = detail
        self.style = style
        self.carriedMetadata = carriedMetadata
        self.carriesCURL = carriesCURL
        logged = Mutex(request)
        self.time = time
    }

    var request: Request { logged.withLock(\.self) }
    private var elapsed: String { time().inWords }

    private var wantsAll: Bool { logger.logLevel <= level }
    private var failureLevel: Logger.Level { max(level, .warning) }
    private var wantsFailures: Bool { logger.logLevel <= failureLevel }
    private var number: String { request.options.requestNumber.map { "#\($0) " } ?? "" }
    private var name: String { number + request.description.onOneLine }

    /// Whether the whole call has only one record.
    private var isOneRecord: Bool { style == .pretty }

    private var ids: Logger.Metadata {
        var ids: Logger.Metadata = ["errand.request.id": "\(request.id)"]
        for (name, value) in Conventions.tags(of: request) { ids[name] = "\(value.onOneLine)" }
        return ids
    }

    private var metadata: Logger.Metadata {
        var metadata = ids
        metadata["http.request.method"] = "\(request.method.rawValue)"
        metadata["url.full"] = "\(request.redactedURL.onOneLine)"
        if let number = request.options.requestNumber { metadata["errand.request.number"] = "\(number)" }
        if let template = request.options.urlTemplate { metadata["url.template"] = "\(template.onOneLine)" }
        return metadata
    }

    // MARK: - Events

    func logRequest() {
        guard wantsAll, !isOneRecord else { return }
        write(LogText(headline: name, notes: requestNotes), metadata, at: level)
    }

    func mark() -> Duration { time() }

    /// Hides the values of these names in all later records.
    private func hide(_ names: Sensitivity) {
        logged.withLock { request in
            var all = request.options.sensitivity
            all.formUnion(names)
            if all != request.options.sensitivity { request.options.sensitivity = all }
        }
    }

    /// Logs a response immediately, and its body when the body was read. If a reader of the response ends the call, logs the
    /// response and the body at the end of the call.
    func receive(_ response: inout Response, isRefused: Bool, awaitsReader: Bool) {
        for warning in response.metadata.warnings { logger.warning("\(warning.onOneLine)", metadata: ids) }
        // If the logger does not accept the level of the record, the log must cost nothing. If a reader of the response ends the call, the
        // call can still fail, and the logger may accept the level of this failure.
        guard wantsAll || (wantsFailures && (isRefused || awaitsReader)) else { return }
        hide(response.request.options.sensitivity)
        let received = Received(response, isRefused: isRefused, by: request)
        if awaitsReader {
            let isStreamed = response.body.bufferedData == nil
            let read = observeBody(of: &response)
            awaited.withLock { $0 = Awaited(received: received, read: read, isStreamed: isStreamed) }
        } else {
            response.body = logResponse(response, received)
        }
    }

    func end(_ outcome: CallOutcome, at mark: Duration) {
        hide(outcome.innerSensitivity)
        if let sent = outcome.response?.request ?? (outcome.failure as? any RequestFailure)?.request { hide(sent.options.sensitivity) }
        if let error = outcome.refusal?.innerError, let refused = outcome.response {
            logRefusal(error, Received(refused, isRefused: true, problem: error.shownProblem, by: request), outcome, elapsed: mark.inWords)
        } else if outcome.response != nil {
            if let awaited = awaited.withLock({ $0.take() }) { logAtEnd(awaited, outcome, elapsed: mark.inWords) }
        } else if let failure = outcome.failure {
            logFailure(failure, after: outcome.refusal?.head, elapsed: mark.inWords)
        }
    }

    /// Logs a status that an inner `validateStatus` has refused, in the same way as with an outer `validateStatus`.
    private func logRefusal(_ error: StatusError, _ received: Received, _ outcome: CallOutcome, elapsed: String) {
        guard wants(received), let end = outcome.exchange else { return }
        let read = BodyPrefix(of: error.bodyPrefix)
        if let failure = outcome.refusal?.serviceError { return logRefusal(received, failure, read, end, elapsed: elapsed) }
        // The record must be the same with an inner and an outer `validateStatus`. If a call decodes no value and has no envelope, an outer
        // `validateStatus` reads the body after the record is written. Therefore, the record of a call without decoding and without an
        // envelope contains no body, even with an inner `validateStatus`.
        let shown = request.options.call.awaitsDecoding || request.options.call.serviceErrors != nil ? error : nil
        if !error.bodyWasStreamed || request.options.call.awaitsDecoding {
            logWhole(received, read, end, isStreamed: error.bodyWasStreamed, elapsed: elapsed, refusal: shown)
        } else {
            if detail.bodyLimitBytes == nil || !isOneRecord { logHead(received, after: elapsed) }
            if detail.bodyLimitBytes != nil { logBody(received, after: elapsed, read, end) }
        }
    }

    /// A response that is logged at the end of the call, with the part of its body that was read before the end.
    private struct Awaited {
        let received: Received
        let read: @Sendable () -> BodyPrefix?
        let isStreamed: Bool
    }

    /// The parts of a response that the record of the response needs.
    private struct Received: Sendable {
        let response: Response
        /// Whether the status is a failure.
        let isRefused: Bool
        /// The server's description of a failure, in parentheses. Empty if the server describes no failure.
        let problem: String
        let sensitivity: Sensitivity

        init(_ response: Response, isRefused: Bool, problem: String = "", by request: Request) {
            // `head` is a copy of the response without its body and its exchange. The log waits for the end of the exchange, and must not
            // keep the exchange in memory.
            var head = Response(head: response.head, request: response.request)
            head.metadata.attempts = response.metadata.attempts
            head.metadata.retryStop = response.metadata.retryStop
            // The status changes if the response is not stored in the end.
            head.metadata.watchedCacheStatus = response.metadata.watchedCacheStatus
            self.response = head
            self.isRefused = isRefused
            self.problem = problem
            sensitivity = request.options.sensitivity
        }

        /// The rest of the error's text, after the status.
        var reasons: String {
            problem + response.head.shownRemarks
                + response.metadata.attempts.shown(until: response.metadata.retryStop, of: response.request)
        }

        /// The number of attempts in words, if the call needed several attempts. Empty for one attempt.
        var effort: String {
            let earlier = response.metadata.attempts.count
            return earlier == 0 ? "" : " after \((earlier + 1).counted("attempt"))"
        }

        var code: Int { response.head.status.code }
        var contentType: String? { response.headers.single(.contentType) }
    }

    private func lineLevel(of received: Received) -> Logger.Level { received.isRefused ? failureLevel : level }
    private func wants(_ received: Received) -> Bool { logger.logLevel <= lineLevel(of: received) }

    private func responseMetadata(_ received: Received, elapsed: String) -> Logger.Metadata {
        var metadata = metadata
        metadata["http.response.status_code"] = "\(received.code)"
        metadata["errand.elapsed"] = "\(elapsed)"
        if received.isRefused { metadata["error.type"] = "\(received.code)" }
        if let status = received.response.metadata.cacheStatus { metadata["errand.cache"] = "\(status)" }
        addResendCount(to: &metadata, after: received.response.metadata.attempts, of: received.response.request)
        return metadata
    }

    /// - Parameter request: the request, as it was sent.
    private func addResendCount(to metadata: inout Logger.Metadata, after attempts: [AttemptRecord], of request: Request?) {
        let count = max(attempts.count, request?.options.resendCount ?? 0)
        if count > 0 { metadata["http.request.resend_count"] = "\(count)" }
    }

    private func responseText(_ received: Received, elapsed: String, body: LogText.Note? = nil) -> LogText {
        let source = received.response.metadata.cacheStatus.flatMap(\.sourceInWords).map { " \($0)" } ?? ""
        var headline = "\(name): \(received.code)\(source) in \(elapsed)"
        headline += received.isRefused ? received.reasons.onOneLine : received.effort
        var text = LogText(headline: headline, notes: isOneRecord ? requestNotes : [])
        text.notes += notes(received.response.headers, of: .response, sensitivity: received.sensitivity)
        if let body { text.notes.append(body) }
        if received.isRefused, carriesCURL, let command = try? received.response.request.curl() {
            text.notes.append(LogText.Note(title: command.onOneLine))
        }
        return text
    }

    private func logHead(_ received: Received, after elapsed: String) {
        write(responseText(received, elapsed: elapsed), responseMetadata(received, elapsed: elapsed), at: lineLevel(of: received))
    }

    /// Returns the note with the beginning of a refused body; `nil` if the detail shows bodies, or if the error has no excerpt of the body.
    private func excerpt(of refusal: StatusError?, _ received: Received) -> LogText.Note? {
        guard detail.bodyLimitBytes == nil, let excerpt = refusal?.bodyExcerpt(hiding: received.sensitivity, secretsOf: request)
        else { return nil }
        return LogText.Note(title: "body: \(excerpt.onOneLine)", side: .response)
    }

    /// - Returns: the body to return to the caller.
    private func logResponse(_ response: Response, _ received: Received) -> ResponseBody {
        guard wants(received) else { return response.body }
        guard let limitBytes = detail.bodyLimitBytes else {
            logHead(received, after: elapsed)
            return response.body
        }
        if let data = response.body.bufferedData {
            let read = BodyPrefix(of: data, limitBytes: limitBytes)
            logWhole(received, read, .complete, isStreamed: false, elapsed: elapsed)
            return response.body
        }
        let head = elapsed
        if !isOneRecord { logHead(received, after: head) }
        let record = BodyRecord(limitBytes: limitBytes) { self.logBody(received, after: head, $0, $1) }
        return response.body.observed { record.record($0) }
    }

    /// - Returns: the part of the body that was read so far.
    private func observeBody(of response: inout Response) -> @Sendable () -> BodyPrefix? {
        guard let limitBytes = detail.bodyLimitBytes else { return { nil } }
        if let data = response.body.bufferedData {
            let all = BodyPrefix(of: data, limitBytes: limitBytes)
            return { all }
        }
        let record = BodyRecord(limitBytes: limitBytes)
        response.body = response.body.observed { record.record($0) }
        return { record.soFar }
    }

    /// Writes one record about a response, at the end of the call.
    private func logAtEnd(_ awaited: Awaited, _ outcome: CallOutcome, elapsed: String) {
        guard let end = outcome.exchange else { return }
        let received = awaited.received
        if let refusal = outcome.refusal?.serviceError {
            logRefusal(received, refusal, awaited.read(), end, elapsed: elapsed)
        } else if let failure = outcome.failure {
            logFailure(
                failure, responseMetadata(received, elapsed: elapsed), elapsed: elapsed,
                notes: responseNotes(received, awaited.read(), end))
        } else if wants(received) {
            logWhole(received, awaited.read(), end, isStreamed: awaited.isStreamed, elapsed: elapsed, refusal: outcome.refusal?.error)
        }
    }

    /// Logs a refused response whose body has the error of the back end. The records have the content of the records for an accepted
    /// response, and also `error.type`.
    private func logRefusal(
        _ received: Received, _ error: ServiceError, _ read: BodyPrefix?, _ end: ExchangeLifetime.Outcome, elapsed: String
    ) {
        logFailure(
            error, responseMetadata(received, elapsed: elapsed), elapsed: elapsed, errorType: "\(received.code)",
            notes: responseNotes(received, read, end))
    }

    private func responseNotes(_ received: Received, _ read: BodyPrefix?, _ end: ExchangeLifetime.Outcome) -> [LogText.Note] {
        var notes = notes(received.response.headers, of: .response, sensitivity: received.sensitivity)
        if detail.bodyLimitBytes != nil, let read, read.totalBytes > 0 {
            notes.append(bodyNote("of \(read.totalBytes.counted("byte"))", read, isWhole: end.isComplete, received))
        }
        return notes
    }

    /// Writes one record about the head and the body. An empty body is omitted.
    ///
    /// - Parameter refusal: the error of a refused status.
    private func logWhole(
        _ received: Received, _ read: BodyPrefix?, _ end: ExchangeLifetime.Outcome, isStreamed: Bool, elapsed: String,
        refusal: StatusError? = nil
    ) {
        var metadata = responseMetadata(received, elapsed: elapsed)
        var body = excerpt(of: refusal, received)
        if detail.bodyLimitBytes != nil, let read, read.totalBytes > 0 {
            let title = end.isComplete ? "of \(read.totalBytes.counted("byte"))" : "given up after \(read.totalBytes.counted("byte"))"
            if isStreamed, end.isComplete { metadata["http.response.body.size"] = "\(read.totalBytes)" }
            body = bodyNote(title, read, isWhole: end.isComplete, received)
        }
        write(responseText(received, elapsed: elapsed, body: body), metadata, at: lineLevel(of: received))
    }

    private func bodyNote(_ title: String, _ read: BodyPrefix, isWhole: Bool, _ received: Received) -> LogText.Note {
        let front = read.bytes.prefix(detail.bodyLimitBytes ?? 0)
        return body(
            title, front, of: read.totalBytes, isWhole: isWhole && read.totalBytes == front.count, contentType: received.contentType,
            side: .response, sensitivity: received.sensitivity,
            secrets: SecretScrubber(of: [request, received.response.request], by: received.sensitivity))
    }

    /// - Parameter head: the head of the response that made the call fail; `nil` if the error has the head.
    private func logFailure(_ error: any Error, after head: HTTPResponse?, elapsed: String) {
        var metadata = metadata.merging(["errand.elapsed": "\(elapsed)"]) { $1 }
        if let head { metadata["http.response.status_code"] = "\(head.status.code)" }
        logFailure(error, metadata, elapsed: elapsed, status: head?.status, notes: [])
    }

    private func logFailure(
        _ error: any Error, _ metadata: @autoclosure () -> Logger.Metadata, elapsed: String, status: HTTPResponse.Status? = nil,
        errorType: String? = nil, notes: @autoclosure () -> [LogText.Note]
    ) {
        if error is CancellationError {
            guard wantsAll else { return }
            write(LogText(headline: "\(name): cancelled after \(elapsed)", notes: isOneRecord ? requestNotes : []), metadata(), at: level)
            return
        }
        guard wantsFailures else { return }
        var metadata = metadata()
        metadata["error.type"] = "\(errorType ?? Conventions.errorType(of: error))"
        if let failure = error as? any RequestFailure { addResendCount(to: &metadata, after: failure.attempts, of: failure.request) }
        var text = LogText(headline: number + described(error, status), notes: (isOneRecord ? requestNotes : []) + notes())
        // The request of the error has the base URL, and the other values that inner layers added.
        if carriesCURL, let command = try? ((error as? any RequestFailure)?.request ?? request).curl() {
            text.notes.append(LogText.Note(title: command.onOneLine))
        }
        write(text, metadata, at: failureLevel)
    }

    /// Writes the end of the body, in its own record or in the record of the exchange.
    ///
    /// - Parameter head: the time until the head was received.
    private func logBody(_ received: Received, after head: String, _ read: BodyPrefix, _ end: ExchangeLifetime.Outcome) {
        let elapsed = elapsed
        var (metadata, level) = (responseMetadata(received, elapsed: elapsed), lineLevel(of: received))
        let title: String
        switch end {
        case .complete:
            metadata["http.response.body.size"] = "\(read.totalBytes)"
            title = "of \(read.totalBytes.counted("byte")) in \(elapsed)"
        case .abandoned where read.totalBytes == 0: title = "unread after \(elapsed)"
        case .abandoned: title = "given up after \(read.totalBytes.counted("byte")) in \(elapsed)"
        case .failed(let error) where error is CancellationError: title = "cancelled after \(read.totalBytes.counted("byte")) in \(elapsed)"
        case .failed(let error):
            level = failureLevel
            metadata["error.type"] = "\(Conventions.errorType(of: error))"
            title = "broken off after \(read.totalBytes.counted("byte")) in \(elapsed) (\(safeDescription(of: error).onOneLine))"
        }
        let note = bodyNote(title, read, isWhole: end.isComplete, received)
        let text =
            isOneRecord
            ? responseText(received, elapsed: head, body: note) : LogText(headline: "\(name): \(received.code)", notes: [note])
        write(text, metadata, at: level)
    }

    private func write(_ text: LogText, _ metadata: @autoclosure () -> Logger.Metadata, at level: Logger.Level) {
        let carried: Logger.Metadata? =
            switch carriedMetadata {
            case .none: nil
            case .ids: ids
            case .all: metadata()
            }
        logger.log(level: level, "\(text.laidOut(style))", metadata: carried)
    }
}

extension CacheStatus {
    /// The part of the response that comes from the cache, in words; `nil` if the whole response comes from the server.
    fileprivate var sourceInWords: String? {
        if isUnavailable { return "from the cache, because nothing was sent," }
        if isFallback { return "from the cache, because the server failed," }
        if isHit { return isStale ? "from the cache, stale," : "from the cache" }
        if isReselected { return "from the cache, selected by the server," }
        return isRevalidated ? "from the cache, confirmed," : nil
    }
}
#endif
