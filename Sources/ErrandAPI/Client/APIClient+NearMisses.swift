public import ErrandCore

// Spellings that a newcomer tries first: the compiler says what to write. None of them can be called.

// MARK: - A path in a variable

extension APIClient {
    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func get(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func post(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func put(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func patch(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func delete<Value: Decodable & Sendable>(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func delete(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    @discardableResult public func head(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    @discardableResult public func options(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func download(
        _ path: String, to url: URL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: FileWriteOptions = .standard, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ path: String, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil, as type: Value.Type = Value.self,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public func upload(
        _ path: String, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Duration? = nil,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws { throw Unavailable() }
}

// MARK: - A timeout without a unit

extension APIClient {
    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func get<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Double,
        as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func get(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Double,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func delete<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Double, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    @discardableResult public func head(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Double,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    @discardableResult public func options(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Double,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func download(
        _ path: PathTemplate, to url: URL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Double,
        options: FileWriteOptions = .standard, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Double, as type: Value.Type = Value.self,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a timeout is a `Duration`, `.seconds(5)`.
    @available(*, unavailable, message: "write timeout: .seconds(5): a timeout is a Duration")
    @_disfavoredOverload
    public func upload(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody, timeout: Double,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws { throw Unavailable() }
}

// MARK: - A value as a body

extension APIClient {
    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func upload<Value: Decodable & Sendable>(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: some Encodable, timeout: Duration? = nil, as type: Value.Type = Value.self,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public func upload(
        _ path: PathTemplate, method: HTTPRequest.Method = .post, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: some Encodable, timeout: Duration? = nil,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws { throw Unavailable() }
}

// MARK: - Bytes, text or a file as a body

extension APIClient {
    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: bytes as a body are `.data(data)`.
    @available(*, unavailable, message: "write body: .data(data)")
    @_disfavoredOverload
    public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: Data,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: text as a body is `.text(text)`.
    @available(*, unavailable, message: "write body: .text(text)")
    @_disfavoredOverload
    public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: String,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, as type: Value.Type = Value.self, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value { throw Unavailable() }

    /// Not available: a file as a body is `.file(url)`.
    @available(*, unavailable, message: "write body: .file(url)")
    @_disfavoredOverload
    public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: URL,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws { throw Unavailable() }
}

// MARK: - An endpoint, and a server

extension APIClient {
    /// Not available: an endpoint has its method, and is sent by `value`.
    @available(*, unavailable, message: "write value(endpoint), or response(endpoint) for status and fields too")
    @_disfavoredOverload
    public func get<Output>(_ endpoint: Endpoint<Output>) async throws -> Output { throw Unavailable() }

    /// Not available: a client needs a stack that ends in a transport, `APIClient(.default.server("https://api.example.com"))`.
    @available(
        *, unavailable, message: "write APIClient(.default.server(\"https://api.example.com\")): a client needs a stack with a transport"
    )
    public init(_ server: String, json: JSONCoding = .standard) { self.init(NoTransport(), json: json) }

    /// Not available: a client needs a stack that ends in a transport, `APIClient(.default.server(url))`.
    @available(*, unavailable, message: "write APIClient(.default.server(url)): a client needs a stack with a transport")
    public init(_ server: URL, json: JSONCoding = .standard) { self.init(NoTransport(), json: json) }
}

private struct Unavailable: Error {}

private struct NoTransport: HTTPSender {
    func send(_ request: Request) async throws -> Response { throw Unavailable() }
}

// MARK: - A path in place of an endpoint

extension APIClient {
    /// Not available: a list is read by an ``Endpoint``.
    @available(*, unavailable, message: "write client.pages(.get(\"/items\", as: ItemPage.self), next: …)")
    @_disfavoredOverload
    public func pages<Output>(_ path: PathTemplate, next: NextPage<Output>) -> Pages<Output> {
        pages(Endpoint(.get, path, decoding: .undecodable), next: next)
    }

    /// Not available: a call is polled by its ``Endpoint``.
    @available(*, unavailable, message: "write client.poll(.get(\"/jobs/7\", as: Job.self)) { … }")
    @_disfavoredOverload
    public func poll<Output>(
        _ path: PathTemplate, until isDone: @escaping @Sendable (TypedResponse<Output>) async throws -> Bool = { _ in true }
    ) async throws -> TypedResponse<Output> { throw Unavailable() }
}
