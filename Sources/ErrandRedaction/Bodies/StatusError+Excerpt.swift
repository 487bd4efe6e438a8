public import ErrandCore
internal import ErrandFormats

extension StatusError {
    /// The maximum number of bytes of the body that ``debugDescription`` and the log show: 200.
    package static var excerptLimitBytes: Int { 200 }
    /// The end of ``debugDescription`` if the body is not shown.
    package static var adviceOnHiddenBody: String { "; see bodyPrefix" }

    /// The first bytes of the body on one line, without secrets, for developers. If secrets can't be found by name, as in HTML,
    /// only the length and the type of the body are shown. The secrets of the request are hidden under any name, and within texts.
    /// `nil` if the body is empty.
    ///
    /// - Parameters:
    ///   - more: names of secrets in addition to the names that the request of the response declares.
    ///   - outer: the request as an outer layer has seen it, if its secrets must be hidden too.
    ///   - advice: the text that follows the length and the type of a body that is not shown.
    package func bodyExcerpt(
        hiding more: Sensitivity = .standard, secretsOf outer: Request? = nil, advice: String = ""
    ) -> String? {
        var sensitivity = request?.options.sensitivity ?? .standard
        sensitivity.formUnion(more)
        return BodyText.excerpt(
            of: bodyPrefix, isWhole: bodyIsWhole, contentType: head.headerFields.single(.contentType), sensitivity: sensitivity,
            secretsOf: [request, outer].compactMap { $0 }, advice: advice)
    }
}

extension BodyText {
    /// Returns the first ``StatusError/excerptLimitBytes`` bytes of a body on one line, without secrets: see
    /// ``StatusError/bodyExcerpt(hiding:secretsOf:advice:)``. `nil` if the body is empty.
    ///
    /// - Parameters:
    ///   - front: the first bytes of the body.
    ///   - isWhole: whether `front` is the whole body.
    ///   - requests: the requests whose secrets are hidden under any name.
    ///   - advice: the text that follows the length and the type of a body that is not shown. Default: empty.
    package static func excerpt(
        of front: Data, isWhole: Bool, contentType: String?, sensitivity: Sensitivity, secretsOf requests: [Request],
        advice: String = ""
    ) -> String? {
        guard !front.isEmpty else { return nil }
        let limitBytes = StatusError.excerptLimitBytes
        let isShownWhole = isWhole && front.count <= limitBytes
        let body = BodyText(
            front.prefix(limitBytes), isWhole: isShownWhole, contentType: contentType, sensitivity: sensitivity, isPretty: false,
            secrets: SecretScrubber(of: requests, by: sensitivity))
        if let summary = body.summary {
            return "\(isWhole ? front.count.counted("byte") : "\(front.count) or more bytes") (\(summary))\(advice)"
        }
        return body.lines.joined(separator: " ").shownSafely(limit: limitBytes) + (isShownWhole ? "" : " …")
    }
}

extension StatusError: CustomDebugStringConvertible {
    /// The ``description``, and the first 200 bytes of the body without secrets: `…; body: {"error":"no such user"}`.
    ///
    /// In plain text and HTML, secrets have no names, so a body in these formats is not shown: `…; body: 512 bytes (text/html); see
    /// bodyPrefix`. Your code can read the bytes in ``bodyPrefix``.
    ///
    /// Values with a sensitive name are replaced. If the server repeats secrets of the request, these secrets are also replaced.
    /// This rule applies to secrets of at least 6 bytes. The secrets come from the URL, from the fields, or from a body in memory of at
    /// most 64 KiB.
    ///
    /// Debuggers and `String(reflecting:)` show this text. ``description`` and the texts for people never show the body.
    public var debugDescription: String { description + (bodyExcerpt(advice: Self.adviceOnHiddenBody).map { "; body: \($0)" } ?? "") }
}
