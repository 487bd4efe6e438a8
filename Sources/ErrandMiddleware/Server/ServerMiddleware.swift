public import ErrandCore

/// Adds a base URL, default header fields and default query items to requests.
///
/// ```swift
/// let stack = transport.server("https://api.example/v1", headers: [.accept: "application/json"], query: ["lang": "en"])
/// _ = try await stack.send(Request(.get, "/users", query: ["page": 2]))
/// // GET https://api.example/v1/users?lang=en&page=2
/// ```
///
/// **Place:** outermost, so that all inner layers see an absolute URL. Several servers can be combined. The path of the outer server is
/// appended to the path of the inner server. If the request or an outer `server` layer has already set a field, an inner `server` layer
/// keeps this field. Use only one server with a whole base URL. If two servers have whole base URLs, the outer server applies. The inner
/// server does not change a request for another origin.
///
/// **Base:** a URL, or a part of a URL.
///
/// | Base | Request for `/users` |
/// |---|---|
/// | `server("https://api.example/v1")` | `https://api.example/v1/users` |
/// | `server("api.example:8443")`, with only a host | `https://api.example:8443/users` |
/// | `server("api.example").server(scheme: "http")` | `http://api.example/users` |
/// | `server("api.example").server(path: "/v1")` | `https://api.example/v1/users` |
/// | `server(headers: […])` | unchanged, with default fields |
///
/// **Other origins:** if a request names an origin other than the origin of the base URL, the request passes unchanged. Therefore default
/// fields never reach another server, because the fields may contain credentials. `authenticate` adds credentials to such a request only if
/// its `origins:` list the other origin. A redirect to another origin drops the default fields. A server with only a path passes every
/// absolute request unchanged.
///
/// A server without a base URL and without a path does not know an origin. The fields of this server belong to the origin of the server
/// with a base URL, whichever of the two servers is the outer layer. In a stack without a base URL, these fields are added to every
/// request, and a redirect to another origin drops only the sensitive fields. To send a field to another origin, set the field on the
/// request.
///
/// **Per request:** with `request.options.server = .off`, the request is not changed.
public struct ServerMiddleware: HTTPMiddleware {
    private enum Base: Sendable {
        case url(Result<HTTPURL, InvalidURLError>)
        /// A host without a scheme. The host is stored as a URL with `https`, and as a URL with `http` for requests that name the scheme
        /// `http`.
        case host(https: Result<HTTPURL, InvalidURLError>, http: Result<HTTPURL, InvalidURLError>)
        case scheme(Result<String, InvalidURLError>)
        /// A base URL. Only the path and the query of the URL are used.
        case path(String, Result<HTTPURL, InvalidURLError>)
        case none
    }

    private let base: Base
    private let headers: HTTPFields
    /// The default query items, percent-encoded; empty if there are no default items.
    private let query: String
    private let queryCount: Int

    private init(base: Base, headers: HTTPFields, query: URLQuery) {
        (self.base, self.headers) = (base, headers)
        (self.query, queryCount) = (query.encoded, query.items.count)
    }

    /// Creates a server from text that is a base URL or only a host.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL without credentials and without a fragment. The text can also be a host, with or without a port
    ///     (`api.example:8443`). A host without a scheme means `https`, unless the request names a scheme
    ///     (``init(scheme:headers:query:)``). If the URL is invalid, each request fails. The initializer does not trap, because the text
    ///     often comes from a configuration. To check a URL immediately, use `HTTPURL(_:)`.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed between the query of the base URL and the query of the request.
    public init(_ url: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        func read(_ text: String) -> Result<HTTPURL, InvalidURLError> { Result { () throws(InvalidURLError) in try HTTPURL(text) } }
        let base: Base = Self.isHostAlone(url) ? .host(https: read("https://" + url), http: read("http://" + url)) : .url(read(url))
        self.init(base: base, headers: headers, query: query)
    }

    /// Creates a server whose base URL is a Foundation `URL`. The fragment of the URL is dropped.
    ///
    /// - Parameters:
    ///   - url: an absolute `http` or `https` URL without credentials. If the URL is of any other kind, each request fails. To
    ///     check a URL immediately, use `HTTPURL(_:)`.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed between the query of the base URL and the query of the request.
    public init(_ url: URL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        self.init(base: .url(Result { () throws(InvalidURLError) in try HTTPURL(url) }), headers: headers, query: query)
    }

    /// Creates a server with a parsed base URL.
    ///
    /// - Parameters:
    ///   - url: the base URL.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed between the query of the base URL and the query of the request.
    public init(_ url: HTTPURL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        self.init(base: .url(.success(url)), headers: headers, query: query)
    }

    /// Creates a server that sets the scheme of requests that have no scheme. The scheme has an effect only if the inner server has only a
    /// host.
    ///
    /// If the inner server has a base URL, the scheme of that URL is used.
    ///
    /// - Parameters:
    ///   - scheme: `http` or `https`. With any other scheme, each request fails.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed before the query of the request.
    public init(scheme: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        let name = scheme.lowercased()
        let isKnown = name.isExactly("https") || name.isExactly("http")
        let base: Result<String, InvalidURLError> =
            isKnown ? .success(name) : .failure(InvalidURLError("\(scheme)://", .unsupportedScheme(scheme)))
        self.init(base: .scheme(base), headers: headers, query: query)
    }

    /// Creates a server that adds a path before the path of each request. An inner server sets the base URL.
    ///
    /// - Parameters:
    ///   - path: a percent-encoded path, with or without a query. With an invalid path, each request fails.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed between the query of `path` and the query of the request.
    public init(path: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        let prefix = Result { () throws(InvalidURLError) in
            try HTTPURL("http://localhost").joined(with: path.hasOctetPrefix("/") ? path : "/" + path)
        }
        self.init(base: .path(path, prefix), headers: headers, query: query)
    }

    /// Creates a server with only default fields and default query items. The fields go only to the origin of the server with a base
    /// URL, if the stack has such a server.
    ///
    /// - Parameters:
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed before the query of the request.
    public init(headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        self.init(base: .none, headers: headers, query: query)
    }

    /// Returns whether `text` is only a host, with or without a port.
    private static func isHostAlone(_ text: String) -> Bool {
        guard let last = text.utf8.last, last != UInt8(ascii: ":") else { return false }
        return !text.utf8.contains { octet in
            switch octet {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), ...0x20, 0x7F: true
            default: false
            }
        }
    }

    /// The place of a server, which is the outermost place.
    public var place: MiddlewarePlace { .server }

    /// A server is outside `authenticate` and `cache`, because these layers need the URL.
    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.authenticate, because: "authenticate would not know the origin"),
            .outside(.cache, because: "the cache would not know the URL"),
        ]
    }

    /// `server(https://api.example/v1)`, `server(path: /v1)`, `server(2 header fields)`, without secrets.
    public var label: String {
        switch base {
        case .url(.success(let url)), .host(.success(let url), _): "server(\(Sensitivity.standard.redactedURL(url.description)))"
        case .url(.failure(let error)), .host(.failure(let error), _): "server(\(error))"
        case .scheme(.success(let scheme)): "server(scheme: \(scheme))"
        case .scheme(.failure(let error)): "server(\(error))"
        case .path(let path, _): "server(path: \(Sensitivity.standard.redactedURL(path)))"
        case .none: defaultsLabel
        }
    }

    private var defaultsLabel: String {
        var parts: [String] = []
        if !headers.isEmpty { parts.append(headers.count.counted("header field")) }
        if queryCount > 0 { parts.append(queryCount.counted("query item")) }
        return parts.isEmpty ? "server" : "server(\(parts.joined(separator: ", ")))"
    }

    /// Sends the request with the base URL and the defaults.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError`` if the base URL or the path is invalid, and the errors of `next`.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.server.isOff else { return try await next.send(request) }
        return try await next.send(adapted(request))
    }

    /// Returns the request with the base URL and the defaults.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError``.
    func adapted(_ request: Request) throws(InvalidURLError) -> Request {
        var request = request
        if request.head.authority != nil {
            switch base {
            case .url(let result), .host(https: let result, http: _):
                if request.origin != (try result.get()).origin {
                    // The other server must not get credentials of this server.
                    request.options.hasLeftOrigin = true
                    for name in request.options.fieldsWithoutServer { request.head.headerFields[name] = nil }
                    request.options.fieldsWithoutServer = []
                    return request
                }
                claimFields(of: &request)
            case .scheme(let scheme): if request.head.scheme == nil { request.head.scheme = try scheme.get() }
            // Only an inner server knows the origin.
            case .path: return request
            case .none: break
            }
            // The request has left the origin of the base URL, for example by a redirect. To this request, a server that does not know an
            // origin adds no default fields.
            if !knowsOrigin, request.options.hasLeftOrigin { return request }
        } else {
            switch base {
            case .url(let result):
                try complete(&request, with: try result.get())
                claimFields(of: &request)
            case .host(let https, let http):
                try complete(&request, with: try (request.head.scheme?.isExactly("http") == true ? http : https).get())
                claimFields(of: &request)
            case .scheme(let result):
                let scheme = try result.get()
                if !query.isEmpty { request.setPath(checked: Self.withDefaults(query, try request.checkedPath())) }
                if request.head.scheme == nil { request.head.scheme = scheme }
            case .path(_, let prefix):
                request.setPath(checked: try prefix.get().joinedTarget(try request.checkedPath(), defaults: query))
            case .none:
                if !query.isEmpty { request.setPath(checked: Self.withDefaults(query, try request.checkedPath())) }
            }
        }
        var added: Set<HTTPField.Name> = []
        for field in headers where !request.head.headerFields.contains(field.name) {
            // A repeated name keeps all of its values.
            request.head.headerFields[fields: field.name] = headers[fields: field.name]
            added.insert(field.name)
        }
        guard !added.isEmpty else { return request }
        if knowsOrigin {
            request.options.fieldsOfServer.formUnion(added)
        } else {
            request.options.fieldsWithoutServer.formUnion(added)
        }
        return request
    }

    /// Binds fields to the origin of this server. The fields come from outer servers that know no origin.
    private func claimFields(of request: inout Request) {
        let names = request.options.fieldsWithoutServer
        guard !names.isEmpty else { return }
        request.options.fieldsWithoutServer = []
        request.options.fieldsOfServer.formUnion(names)
    }

    /// Whether the default fields are only for the origin of the base URL.
    private var knowsOrigin: Bool {
        switch base {
        case .url, .host, .path: true
        case .scheme, .none: false
        }
    }

    private func complete(_ request: inout Request, with url: HTTPURL) throws(InvalidURLError) {
        let joined = url.joinedTarget(try request.checkedPath(), defaults: query)
        try request.setTarget(url.origin, checkedPath: joined.utf8.first == UInt8(ascii: "/") ? joined : "/" + joined)
    }

    private static func withDefaults(_ query: String, _ target: String) -> String {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target + "?" + query }
        return target[..<mark] + "?" + query + "&" + target[target.utf8.index(after: mark)...]
    }
}

extension ServerMiddleware: CustomStringConvertible, HidesStorage {
    /// The label of the layer. The label contains no default fields and no query items, because these may be secret.
    public var description: String { label }
}

private enum ServerOptionKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether the `server` layers change this request. `.off`: the request is sent without the base URL, the default fields and the
    /// default query items.
    public var server: OptionOverride<Never> {
        get { self[ServerOptionKey.self] }
        set { self[ServerOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends requests to paths below `url`, with default fields and query items. See ``ServerMiddleware``.
    ///
    /// - Parameters:
    ///   - url: a base URL, or only a host (`api.example`). With only a host, the scheme is `https`.
    ///   - headers: default fields, each added if the request has no field of that name.
    ///   - query: default items, placed between the query of the base URL and the query of the request.
    public func server(_ url: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(url, headers: headers, query: query))
    }

    /// Sends requests to paths below a Foundation `URL`. The fragment of that URL is dropped. See ``ServerMiddleware``.
    public func server(_ url: URL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(url, headers: headers, query: query))
    }

    /// Sends requests to paths below a parsed URL. See ``ServerMiddleware``.
    public func server(_ url: HTTPURL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(url, headers: headers, query: query))
    }

    /// Sets the scheme of requests that have no scheme, if the inner server has only a host. See ``ServerMiddleware``.
    public func server(scheme: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(scheme: scheme, headers: headers, query: query))
    }

    /// Puts `path` before the paths of requests. See ``ServerMiddleware``.
    public func server(path: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(path: path, headers: headers, query: query))
    }

    /// Adds default fields and query items. The fields go only to the origin of the server with a base URL, if the stack has such a
    /// server. See ``ServerMiddleware``.
    public func server(headers: HTTPFields, query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(headers: headers, query: query))
    }

    /// Not available. To add a field to every request of the stack, use `server(headers:)`.
    @available(*, unavailable, message: "write server(headers: [.custom(\"X-Tenant\"): value]): fields for all requests of the stack")
    public func header(_ name: String, _ value: String) -> HTTPStack { server(headers: HTTPFields()) }
}
