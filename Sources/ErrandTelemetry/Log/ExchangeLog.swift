#if Telemetry
internal import ErrandCore
internal import ErrandRedaction
internal import Logging

/// What is written of one exchange; nothing is put together that the logger does not want.
struct ExchangeLog: Sendable {
    let logger: Logger
    let level: Logger.Level
    let detail: LogDetail
    let style: LogStyle
    let carriesCURL: Bool
    let request: Request
    /// Since the request was logged.
    let elapsed: @Sendable () -> String

    private var wantsAll: Bool { logger.logLevel <= level }
    private var number: String { request.options.requestNumber.map { "#\($0) " } ?? "" }
    private var name: String { number + request.description.onOneLine }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "http.request.method": "\(request.method.rawValue)", "url.full": "\(request.redactedURL.onOneLine)",
            "errand.request.id": "\(request.id)",
        ]
        if let number = request.options.requestNumber { metadata["errand.request.number"] = "\(number)" }
        if let template = request.options.urlTemplate { metadata["url.template"] = "\(template.onOneLine)" }
        for (name, value) in Conventions.tags(of: request) { metadata[name] = "\(value.onOneLine)" }
        return metadata
    }

    // MARK: - Events

    func logRequest() {
        guard wantsAll else { return }
        write(LogText(headline: name, notes: notes(request.completedFields, sensitivity: request.options.sensitivity) + requestBody))
    }

    /// - Returns: the body to hand on.
    func logResponse(_ response: Response) -> ResponseBody {
        guard wantsAll else { return response.body }
        let elapsed = elapsed()
        var metadata = metadata
        metadata["http.response.status_code"] = "\(response.head.status.code)"
        metadata["errand.elapsed"] = "\(elapsed)"
        var sensitivity = request.options.sensitivity
        sensitivity.formUnion(response.request.options.sensitivity)
        var text = LogText(
            headline: "\(name): \(response.head.status.code) in \(elapsed)", notes: notes(response.headers, sensitivity: sensitivity))
        guard let limitBytes = detail.bodyLimitBytes, response.upgrade == nil else {
            write(text, metadata)
            return response.body
        }
        let contentType = response.headers[.contentType]
        if let data = response.body.bufferedData {
            if !data.isEmpty {
                let front = data.prefix(limitBytes)
                text.notes.append(body("of \(data.count) bytes", front, of: data.count, contentType: contentType, sensitivity: sensitivity))
            }
            write(text, metadata)
            return response.body
        }
        write(text, metadata)
        let record = BodyRecord(limitBytes: limitBytes) { [metadata, sensitivity, status = response.head.status.code] read, end in
            logBody(read, end, status: status, contentType: contentType, sensitivity: sensitivity, metadata)
        }
        return ResponseBody(
            LoggedBodySource(response.body, record: record), expectedLength: response.body.expectedLength, request: response.request)
    }

    func logFailure(_ error: any Error) {
        if error is CancellationError {
            guard wantsAll else { return }
            let elapsed = elapsed()
            write(LogText(headline: "\(name): cancelled after \(elapsed)"), metadata.merging(["errand.elapsed": "\(elapsed)"]) { $1 })
            return
        }
        let level = max(level, .warning)
        guard logger.logLevel <= level else { return }
        var metadata = metadata
        metadata["errand.elapsed"] = "\(elapsed())"
        metadata["error.type"] = "\(Conventions.errorType(of: error))"
        var text = LogText(headline: number + Self.described(error, of: request))
        // As far as it came: with the base URL, and what else was added on the way.
        if carriesCURL, let command = try? ((error as? any RequestFailure)?.request ?? request).curl() {
            text.notes.append(LogText.Note(title: command.onOneLine))
        }
        write(text, metadata, at: level)
    }

    private func logBody(
        _ read: BodyRecord.Read, _ end: ExchangeLifetime.End, status: Int, contentType: String?, sensitivity: Sensitivity,
        _ metadata: Logger.Metadata
    ) {
        let elapsed = elapsed()
        var (metadata, level) = (metadata, level)
        metadata["errand.elapsed"] = "\(elapsed)"
        let title: String
        switch end {
        case .complete:
            metadata["http.response.body.size"] = "\(read.count)"
            title = "of \(read.count) bytes in \(elapsed)"
        case .abandoned where read.count == 0: title = "unread after \(elapsed)"
        case .abandoned: title = "given up after \(read.count) bytes in \(elapsed)"
        case .failed(let error) where error is CancellationError: title = "cancelled after \(read.count) bytes in \(elapsed)"
        case .failed(let error):
            level = max(level, .warning)
            metadata["error.type"] = "\(Conventions.errorType(of: error))"
            title = "broken off after \(read.count) bytes in \(elapsed) (\(Self.described(error)))"
        }
        var isWhole = false
        if case .complete = end { isWhole = read.count == read.front.count }
        let note = body(
            title, read.front, of: read.count, isWhole: isWhole, contentType: contentType, sensitivity: sensitivity)
        write(LogText(headline: "\(name): \(status)", notes: [note]), metadata, at: level)
    }

    private func write(_ text: LogText, _ metadata: Logger.Metadata? = nil, at level: Logger.Level? = nil) {
        logger.log(level: level ?? self.level, "\(text.laidOut(style))", metadata: metadata ?? self.metadata)
    }

    // MARK: - Notes

    private func notes(_ fields: HTTPFields, sensitivity: Sensitivity) -> [LogText.Note] {
        guard detail.showsFields else { return [] }
        return sensitivity.shown(fields).map { LogText.Note(title: "\($0.name): \($0.value.onOneLine)") }
    }

    private var requestBody: [LogText.Note] {
        guard let limitBytes = detail.bodyLimitBytes, !request.body.isEmpty else { return [] }
        guard let data = request.body.bytes else { return [LogText.Note(title: "body: \(request.body)")] }
        return [
            body(
                "of \(data.count) bytes", data.prefix(limitBytes), of: data.count, contentType: request.completedFields[.contentType],
                sensitivity: request.options.sensitivity)
        ]
    }

    /// - Parameter count: how many bytes there were to show.
    private func body(
        _ title: String, _ front: Data, of count: Int, isWhole: Bool? = nil, contentType: String?, sensitivity: Sensitivity
    ) -> LogText.Note {
        guard count > 0 else { return LogText.Note(title: "body " + title) }
        let shown = BodyText(
            front, isWhole: isWhole ?? (front.count == count), contentType: contentType, sensitivity: sensitivity, style: style)
        if let summary = shown.summary { return LogText.Note(title: "body \(title), \(summary)") }
        return LogText.Note(title: "body " + title + (front.count < count ? ", the first \(front.count)" : ""), lines: shown.lines)
    }

    /// A failure of this library describes itself without secrets; of any other, only the type is known to be safe.
    private static func described(_ error: any Error, of request: Request) -> String {
        let isComplete = (error as? any RequestFailure)?.request != nil
        return (isComplete ? described(error) : "\(request): \(described(error))").onOneLine
    }

    private static func described(_ error: any Error) -> String {
        switch error {
        case let failure as any RequestFailure: failure.description.onOneLine
        case let error as InvalidURL: error.description.onOneLine
        default: "\(type(of: error))"
        }
    }
}
#endif
