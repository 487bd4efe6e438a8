public import ErrandCore

/// Makes requests absolute below a base URL, and gives them default fields and default query items.
///
/// **Place:** outermost, so that everything below sees an absolute URL. Several chain: the outer one's path comes behind the inner
/// one's, and a field that the request, or an outer server, has set is kept.
///
/// A request that names another origin by itself than that of the base URL is passed on untouched, so that default fields, which
/// may hold credentials, never reach a server that they were not meant for. A redirect to another origin drops them. A server with a path alone
/// passes every absolute request on untouched. A server without a base URL or a path knows no origin: its fields go wherever the request goes, and
/// of those a redirect drops the sensitive ones.
///
/// **Per request:** `request.options.server = .off` passes the request on as it is.
public struct ServerMiddleware: HTTPMiddleware {
    private enum Base: Sendable {
        case url(Result<HTTPURL, InvalidURLError>)
        /// A base URL knows how to join; only its path and query are used.
        case path(String, Result<HTTPURL, InvalidURLError>)
        case none
    }

    private let base: Base
    private let headers: HTTPFields
    /// The default query items, percent-encoded; empty where there are none.
    private let query: String

    /// - Parameters:
    ///   - url: `http` or `https`, without credentials. One that can't be read fails each request, as the text comes from a
    ///     configuration more often than from code; `HTTPURL(_:)` checks it at once.
    ///   - headers: added where the request has no field of that name.
    ///   - query: comes between the base's query and the request's own.
    public init(_ url: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        base = .url(Result { () throws(InvalidURLError) in try HTTPURL(url) })
        (self.headers, self.query) = (headers, query.encoded)
    }

    public init(_ url: HTTPURL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        base = .url(.success(url))
        (self.headers, self.query) = (headers, query.encoded)
    }

    /// A prefix for paths, percent-encoded, below the base URL of a server further in.
    public init(path: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        base = .path(
            path,
            Result { () throws(InvalidURLError) in
                try HTTPURL("http://localhost").joined(with: path.hasPrefix("/") ? path : "/" + path)
            })
        (self.headers, self.query) = (headers, query.encoded)
    }

    /// Default fields and query items alone.
    public init(headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) {
        base = .none
        (self.headers, self.query) = (headers, query.encoded)
    }

    public var place: MiddlewarePlace? { .server }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.authenticate, because: "authenticate would not know the origin"),
            .outside(.cache, because: "the cache would not know the URL"),
        ]
    }

    public var label: String {
        switch base {
        case .url(.success(let url)): "server(\(Sensitivity.standard.redactedURL(url.description)))"
        case .url(.failure(let error)): "server(\(error))"
        case .path(let path, _): "server(path: \(Sensitivity.standard.redactedURL(path)))"
        case .none: "server"
        }
    }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.server.isOff else { return try await next.send(request) }
        return try await next.send(adapted(request))
    }

    /// The request as it goes on.
    ///
    /// - Throws: ``InvalidURLError``.
    func adapted(_ request: Request) throws(InvalidURLError) -> Request {
        var request = request
        if request.head.authority != nil {
            switch base {
            case .url(let result): if request.origin != (try result.get()).origin { return request }
            // Whose origin it is, only a server further in knows.
            case .path: return request
            case .none: break
            }
        } else {
            switch base {
            case .url(let result):
                let url = try result.get()
                let joined = url.joinedTarget(try request.checkedPath(), defaults: query)
                try request.setTarget(url.origin, checkedPath: joined.utf8.first == UInt8(ascii: "/") ? joined : "/" + joined)
            case .path(_, let prefix):
                request.setPath(checked: try prefix.get().joinedTarget(try request.checkedPath(), defaults: query))
            case .none:
                if !query.isEmpty { request.setPath(checked: Self.withDefaults(query, try request.checkedPath())) }
            }
        }
        var added: Set<HTTPField.Name> = []
        for field in headers where !request.head.headerFields.contains(field.name) {
            // All values of a name that comes several times.
            request.head.headerFields[fields: field.name] = headers[fields: field.name]
            if case .none = base { continue }
            added.insert(field.name)
        }
        if !added.isEmpty { request.options.fieldsOfServer.formUnion(added) }
        return request
    }

    private static func withDefaults(_ query: String, _ target: String) -> String {
        guard let mark = target.firstIndex(of: "?") else { return target + "?" + query }
        return target[..<mark] + "?" + query + "&" + target[target.index(after: mark)...]
    }
}

extension ServerMiddleware: CustomStringConvertible, CustomReflectable {
    /// The label: default fields and query items may be secret.
    public var description: String { label }
    public var customMirror: Mirror { Mirror(self, children: ["server": label]) }
}

private enum ServerOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    static var crossesOrigins: Bool { true }
}

private enum FieldsOfServerKey: OptionKey {
    static var defaultValue: Set<HTTPField.Name> { [] }
    /// The fields themselves are compared.
    static func identity(of value: Set<HTTPField.Name>) -> OptionIdentity { .none }
}

extension RequestOptions {
    /// `.off` sends the request without base URL, default fields and default query.
    public var server: OptionOverride<Never> {
        get { self[ServerOptionKey.self] }
        set { self[ServerOptionKey.self] = newValue }
    }

    /// The names of the fields that a server added for its origin alone.
    var fieldsOfServer: Set<HTTPField.Name> {
        get { self[FieldsOfServerKey.self] }
        set { self[FieldsOfServerKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends requests to paths below `url`, with default fields and query items. See ``ServerMiddleware``.
    public func server(_ url: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(url, headers: headers, query: query))
    }

    /// Sends requests to paths below `url`. See ``ServerMiddleware``.
    public func server(_ url: HTTPURL, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(url, headers: headers, query: query))
    }

    /// Puts `path` before the paths of requests. See ``ServerMiddleware``.
    public func server(path: String, headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(path: path, headers: headers, query: query))
    }

    /// Adds default fields and query items. See ``ServerMiddleware``.
    public func server(headers: HTTPFields, query: URLQuery = URLQuery()) -> HTTPStack {
        wrapped(by: ServerMiddleware(headers: headers, query: query))
    }
}
