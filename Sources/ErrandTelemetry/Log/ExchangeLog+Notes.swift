#if Telemetry
internal import ErrandCore
internal import ErrandRedaction

/// The notes below the headline of a record.
extension ExchangeLog {
    func notes(_ fields: HTTPFields, of side: LogText.Note.Side, sensitivity: Sensitivity) -> [LogText.Note] {
        guard detail.showsFields else { return [] }
        return sensitivity.shown(fields).map { LogText.Note(title: "\($0.name): \($0.value.onOneLine)", side: side) }
    }

    var requestNotes: [LogText.Note] {
        notes(request.completedFields, of: .request, sensitivity: request.options.sensitivity) + requestBody
    }

    private var requestBody: [LogText.Note] {
        guard let limitBytes = detail.bodyLimitBytes, !request.body.isEmpty else { return [] }
        guard let data = request.body.bufferedData else { return [LogText.Note(title: "body: \(request.body)", side: .request)] }
        return [
            body(
                "of \(data.count.counted("byte"))", data.prefix(limitBytes), of: data.count,
                contentType: request.completedFields[.contentType], side: .request, sensitivity: request.options.sensitivity)
        ]
    }

    /// - Parameter count: the number of bytes of the body.
    func body(
        _ title: String, _ front: Data, of count: Int, isWhole: Bool? = nil, contentType: String?, side: LogText.Note.Side,
        sensitivity: Sensitivity, secrets: SecretScrubber? = nil
    ) -> LogText.Note {
        guard count > 0 else { return LogText.Note(title: "body " + title, side: side) }
        let shown = BodyText(
            front, isWhole: isWhole ?? (front.count == count), contentType: contentType, sensitivity: sensitivity,
            isPretty: style == .pretty, secrets: secrets)
        if let summary = shown.summary { return LogText.Note(title: "body \(title), \(summary)", side: side) }
        return LogText.Note(
            title: "body " + title + (front.count < count ? ", the first \(front.count)" : ""), lines: shown.lines, side: side)
    }

    /// For a failure of this library, returns the description, which contains no secrets. For any other error, returns only the type,
    /// because the error's text may contain secrets.
    func described(_ error: any Error, _ status: HTTPResponse.Status?) -> String {
        let isComplete = (error as? any RequestFailure)?.request != nil
        let status = status.map { "status \($0.code), " } ?? ""
        return (isComplete ? safeDescription(of: error) : "\(request): \(status)\(safeDescription(of: error))").onOneLine
    }
}
#endif
