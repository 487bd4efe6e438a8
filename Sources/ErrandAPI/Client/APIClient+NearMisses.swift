public import ErrandCore

// New users often call functions that do not exist, and the compiler's own errors do not say how to fix the call. Each function of this
// file is unavailable, and has a message that names the fix.

// MARK: - A path in a variable

extension APIClient {
    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/files/\\(id)\""
    )
    @_disfavoredOverload
    @discardableResult
    public func download(
        _ path: String, to url: URL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: FileWriteOptions = .standard, progress: ((TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile { throw Unavailable() }

    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/files/\\(id)\""
    )
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ path: String, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil, as type: Value.Type = Value.self, progress: @escaping (TransferProgress) -> Void
    ) async throws -> Value { throw Unavailable() }

    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/files/\\(id)\""
    )
    @_disfavoredOverload
    public func upload(
        _ path: String, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil, progress: @escaping (TransferProgress) -> Void
    ) async throws { throw Unavailable() }

    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func events(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), lastEventID: String? = nil,
        policy: EventStreamPolicy = .standard, onState: (@Sendable (EventStreamState) -> Void)? = nil
    ) -> EventStream { events(PathTemplate(verbatim: path)) }

    /// Not available: for a whole URL, pass the path template `.url(url)`.
    @available(*, unavailable, message: "write .url(url): a typed call takes a path")
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(_ url: URL, as type: Value.Type = Value.self) async throws -> Value { throw Unavailable() }
}

// MARK: - A query and header fields

extension APIClient {
    /// Not available: to send a value as a query, pass `try URLQuery(encoding: value, coding: client.jsonCoding)`.
    @available(*, unavailable, message: "write query: try URLQuery(encoding: value, coding: client.jsonCoding)")
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value { throw Unavailable() }

    /// Not available: the names of fields have a type of their own. Pass a name such as `.custom("X-Tenant")`.
    @available(*, unavailable, message: "write headers: [.custom(\"X-Tenant\"): value]")
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ path: PathTemplate, headers: [String: String], as type: Value.Type = Value.self
    ) async throws -> Value { throw Unavailable() }
}

// MARK: - A value as a body

extension APIClient {
    /// Not available: to send a value as a body, pass `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value), or .data(data), .text(text) or .file(url)")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: to send a value as a body, pass `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value), or .data(data), .text(text) or .file(url)")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }
}

private struct Unavailable: Error {}
