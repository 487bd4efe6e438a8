public import ErrandCore
internal import ErrandFormats

extension StatusError {
    /// The maximum number of bytes of the body that ``debugDescription`` and the log show: 200.
    package static var excerptLimitBytes: Int { 200 }

    /// The first bytes of the body on one line, without secrets, for developers. A body in which secrets can't be found by name, such as
    /// HTML, is shown as its length and its kind. The secrets of the request are hidden under any name, and within texts. `nil` if the body
    /// is empty.
    ///
    /// - Parameters:
    ///   - more: names of secrets in addition to the names that the request of the response declares.
    ///   - outer: the request as an outer layer has seen it, if its secrets must be hidden too.
    package func bodyExcerpt(hiding more: Sensitivity = .standard, secretsOf outer: Request? = nil) -> String? {
        guard !bodyPrefix.isEmpty else { return nil }
        let isWhole = bodyIsWhole && bodyPrefix.count <= Self.excerptLimitBytes
        var sensitivity = request?.options.sensitivity ?? .standard
        sensitivity.formUnion(more)
        let body = BodyText(
            bodyPrefix.prefix(Self.excerptLimitBytes), isWhole: isWhole, contentType: head.headerFields.single(.contentType),
            sensitivity: sensitivity, isPretty: false,
            secrets: SecretScrubber(of: [request, outer].compactMap { $0 }, by: sensitivity))
        if let summary = body.summary { return "\(bodyPrefix.count)\(bodyIsWhole ? "" : " or more") bytes (\(summary))" }
        return body.lines.joined(separator: " ").shownSafely(limit: Self.excerptLimitBytes) + (isWhole ? "" : " …")
    }
}

extension StatusError: CustomDebugStringConvertible {
    /// The ``description``, and the first 200 bytes of the body without secrets: `…; body: {"error":"no such user"}`.
    ///
    /// Values with a sensitive name are replaced, and so are the secrets of the request wherever the server repeats these secrets. A secret
    /// of the request has at least 6 bytes, and is in the URL, in a field, or in a body in memory of at most 64 KiB.
    ///
    /// Debuggers and `String(reflecting:)` show this text. ``description`` and the texts for people never show the body.
    public var debugDescription: String { description + (bodyExcerpt().map { "; body: \($0)" } ?? "") }
}
