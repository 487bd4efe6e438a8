internal import ErrandCore
internal import ErrandMiddleware

/// Where a page of a list is: what a call changes to get it. Save ``Page/next`` of the last page that you have read, and pass it as `from` later, also
/// in another run of the app: a position is `Codable`. It contains the cursor or the URL as the server sent it: keep it like other data of the account.
public struct PagePosition: Sendable, Hashable, Codable {
    private enum Kind: Sendable, Hashable, Codable {
        case query([String: String])
        /// `home` is the origin of the call, which gets its credentials: empty if no page has come from there, `nil` if that is not known.
        case url(String, home: String?)
    }

    private let kind: Kind

    /// The first page: the call as it is.
    public static let first = PagePosition.query([:])

    /// A page by query items, which replace those of the same names in the call.
    public static func query(_ items: [String: String]) -> PagePosition { PagePosition(kind: .query(items)) }

    /// A page by its URL, which replaces the path and the query of the call. It may be relative to that of the page before.
    public static func url(_ url: String) -> PagePosition { PagePosition(kind: .url(url, home: nil)) }

    /// The query items; empty for the first page, and for a page by its URL.
    public var query: [String: String] { if case .query(let items) = kind { items } else { [:] } }

    /// The URL; `nil` for a page by query items.
    public var url: String? { if case .url(let url, _) = kind { url } else { nil } }

    /// A page by its whole URL, in a list whose call is for the origin `home`.
    static func url(_ url: HTTPURL, home: String) -> PagePosition { PagePosition(kind: .url(url.description, home: home)) }

    /// The origin of the call; `nil` if that is not known.
    var home: String? { if case .url(_, let home) = kind { home } else { nil } }

    /// The request for this page.
    ///
    /// - Throws: what ``APIClient/request(for:)`` throws.
    func request<Output>(for endpoint: Endpoint<Output>, by client: APIClient) throws -> Request {
        var endpoint = endpoint
        switch kind {
        case .query(let items):
            for (name, value) in items.sorted(by: { $0.key < $1.key }) { endpoint.query.set(name, value) }
            return try client.request(for: endpoint)
        case .url(let text, let home):
            endpoint.query = URLQuery()
            guard try URLReference(text).scheme != nil else {
                endpoint.path = PathTemplate(verbatim: text)
                return try client.request(for: endpoint)
            }
            let url = try HTTPURL(text)
            var request = try client.request(for: endpoint)
            (request.head.scheme, request.head.authority, request.head.path) = (url.scheme, url.authority, url.target)
            if let home, "\(url.origin)" != home { request.leaveOrigin() }
            return request
        }
    }
}

extension PagePosition: CustomStringConvertible, CustomReflectable {
    /// The query items, or the URL, without secrets: `?page=2`, `https://a.example/items?cursor=REDACTED`.
    public var description: String {
        switch kind {
        case .query(let items): items.isEmpty ? "the first page" : "?" + URLQuery(items).description
        case .url(let url, _): Sensitivity.standard.redactedURL(url).shownSafely(limit: 200)
        }
    }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["position": description]) }
}
