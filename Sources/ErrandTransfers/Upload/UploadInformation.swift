internal import ErrandCore
internal import ErrandFormats

/// Collects the responses with the status 104 to one request. The first of these responses names the upload, before the final response.
final class UploadInformation: EventSink {
    /// The content of all responses with the status 104 so far.
    struct News: Sendable, Equatable {
        /// The first head with the field `Location`; `nil` before this head.
        var head: HTTPResponse?
        /// Whether two responses to one request have different fields `Location`.
        var isContradictory = false
        var limits = UploadLimits()
        /// The number of bytes that the server has confirmed.
        var offset: Int64?
        fileprivate var exchange: Int?
    }

    private let current = CurrentValue(News())
    private let version: String

    /// - Parameters:
    ///   - version: the version of the draft. Responses that name another version are ignored.
    ///   - limits: the limits that are known before the request.
    init(version: Int, limits: UploadLimits) {
        self.version = "\(version)"
        current.update { $0.limits = limits }
    }

    var news: News { current.value }

    var values: AsyncStream<News> { current.values() }

    func record(_ event: ExchangeEvent) {
        guard event.kind == .informationalResponse, let head = event.response, head.status.code == 104 else { return }
        if let other = head.headerFields[.uploadDraftInteropVersion], !other.isExactly(version) { return }
        current.update { news in
            // An inner layer has sent the request again. The server may have created another upload.
            if news.exchange != event.exchange { (news.head, news.offset, news.isContradictory) = (nil, nil, false) }
            news.exchange = event.exchange
            news.limits = ResumableRule.limits(in: head.headerFields, or: news.limits)
            if let offset = ResumableRule.offset(head.headerFields) { news.offset = offset }
            guard let text = head.headerFields[.location] else { return }
            if let known = news.head?.headerFields[.location], !known.isExactly(text) { news.isContradictory = true }
            if news.head == nil { news.head = head }
        }
    }
}
