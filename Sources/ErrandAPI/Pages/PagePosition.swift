public import ErrandCore
internal import ErrandFormats

/// The position of a page in a list: the changes that turn the call into the request for the page.
///
/// To continue a list later, save ``ResultPage/next`` of the last page that you have read, and pass the saved position as `from`. The
/// list may continue in another run of the app. A position is `Codable`, as `{"query": {"cursor": "a"}}` or `{"url":
/// "https://a.example/items?cursor=a"}`. A position contains the cursor or the URL that the server sent. Therefore store a position
/// like other data of the account.
public struct PagePosition: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case query([String: String])
        case url(String)
    }

    private let kind: Kind

    /// The position of the first page, which leaves the call unchanged.
    public static let first = PagePosition.query([:])

    /// Returns a position with query items, which replace the items of the same names in the call.
    public static func query(_ items: [String: String]) -> PagePosition { PagePosition(kind: .query(items)) }

    /// Returns a position with a URL, which replaces the path and the query of the call. A relative URL is resolved against the URL of
    /// the previous page. If a list begins with this position, a relative URL is resolved against the URL of the call.
    public static func url(_ url: String) -> PagePosition { PagePosition(kind: .url(url)) }

    /// The query items; empty for the first page, and for a position with a URL.
    public var query: [String: String] { if case .query(let items) = kind { items } else { [:] } }

    /// The URL; `nil` for a position with query items.
    public var url: String? { if case .url(let url) = kind { url } else { nil } }

    /// Returns the request for this page.
    ///
    /// - Parameter originOfCall: the origin of the call, which is the only origin that gets the credentials of the call; `nil` if the
    ///   origin is not known.
    /// - Precondition: if the position has a URL, the URL is absolute.
    /// - Throws: the errors of ``APIClient/request(for:)``.
    func request<Output>(for endpoint: Endpoint<Output>, by client: APIClient, originOfCall: Origin?) throws -> Request {
        var endpoint = endpoint
        switch kind {
        case .query(let items):
            for (name, value) in items.sorted(by: { $0.key < $1.key }) { endpoint.query.set(name, value) }
            var request = try client.request(for: endpoint)
            if self != .first { request.removeConditions() }
            return request
        case .url(let text):
            endpoint.query = URLQuery()
            var request = try client.request(for: endpoint)
            request.removeConditions()
            try request.move(to: HTTPURL(text), from: originOfCall)
            return request
        }
    }

    /// The octets of the position. If a server distinguishes two positions, their octets differ.
    var octets: [UInt8] {
        switch kind {
        case .query(let items): Array("?\(URLQuery(items).encoded)".utf8)
        case .url(let url): Array(url.utf8)
        }
    }

    /// Returns the query items or the URL. Values are replaced if `sensitivity` declares the values secret.
    func shown(by sensitivity: Sensitivity) -> String {
        switch kind {
        case .query(let items):
            items.isEmpty ? "the first page" : sensitivity.redactedURL("?" + URLQuery(items).encoded).shownSafely(limit: 200)
        case .url(let url): sensitivity.redactedURL(url).shownSafely(limit: 200)
        }
    }
}

extension PagePosition: Codable {
    private enum CodingKeys: CodingKey {
        case query
        case url
    }

    /// Reads a saved position.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let url = try container.decodeIfPresent(String.self, forKey: .url) {
            self = .url(url)
        } else {
            self = .query(try container.decode([String: String].self, forKey: .query))
        }
    }

    /// Writes the position.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch kind {
        case .query(let items): try container.encode(items, forKey: .query)
        case .url(let url): try container.encode(url, forKey: .url)
        }
    }
}

extension PagePosition: CustomStringConvertible, HidesStorage {
    /// The names of the query items, or the URL with the names of its items: `?page=…`, `https://a.example/items?cursor=…`. Any value may
    /// be secret.
    public var description: String {
        switch kind {
        case .query(let items): items.isEmpty ? "the first page" : Self.shownNames("?" + URLQuery(items).encoded)
        case .url(let url): Self.shownNames(Sensitivity.standard.redactedURL(url))
        }
    }

    private static func shownNames(_ url: String) -> String {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url.shownSafely(limit: 200) }
        let names = FormURLEncoded.decode(url[url.utf8.index(after: mark)...], plusIsSpace: false).map { "\($0.name)=…" }
        return (url[..<mark] + "?" + names.joined(separator: "&")).shownSafely(limit: 200)
    }
}
