public import ErrandCore

// This file has the calls that take a path instead of an endpoint. Each verb except HEAD and OPTIONS has two functions: one returns a
// value, and the other ignores the body.
//
// `timeout` is a parameter because single calls need this option most often. `options` sets all other options.

extension APIClient {
    // MARK: - With a value

    /// Gets a value.
    ///
    /// ```swift
    /// let user: User = try await client.get("/users/\(id, "id")")
    /// let page = try await client.get("/search", query: ["q": text], timeout: .seconds(2), as: SearchResults.self) { $0.retry = .off }
    /// ```
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped. For a path in a `String` variable, pass `PathTemplate(verbatim:)`.
    ///   - query: the query of the call. Default: empty.
    ///   - headers: the header fields of the call. These fields replace fields of the same name from `server`. Default: none.
    ///   - timeout: the timeout of the whole call, including the body; `nil`, the default, keeps the timeout of the stack.
    ///   - type: the type of the value. Pass the type only if the compiler cannot infer it.
    ///   - decoding: the decoding of the body, such as `.json.withoutEnvelope` or `.propertyList`. Default: `.json`.
    ///   - options: a closure that sets further options of this call, such as `{ $0.retry = .off }`.
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func get<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        as type: Value.Type = Value.self, decoding: ResponseDecoding<Value> = .json,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value {
        try await value(Endpoint<Value>.get(path, query: query, headers: headers, decoding: decoding).with(timeout: timeout, options))
    }

    /// Posts a body and returns the value of the response.
    ///
    /// ```swift
    /// let order = try await client.post("/orders", body: .json(cart), as: Order.self) { $0.idempotencyKey = .attached }
    /// ```
    ///
    /// For the other parameters, see ``get(_:query:headers:timeout:as:decoding:options:)``.
    ///
    /// - Parameter body: the body of the request. Default: empty.
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, decoding: ResponseDecoding<Value> = .json,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value {
        try await value(
            Endpoint<Value>.post(path, query: query, headers: headers, body: body, decoding: decoding).with(timeout: timeout, options))
    }

    /// Puts a body and returns the value of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, decoding: ResponseDecoding<Value> = .json,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value {
        try await value(
            Endpoint<Value>.put(path, query: query, headers: headers, body: body, decoding: decoding).with(timeout: timeout, options))
    }

    /// Patches a resource and returns the value of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, decoding: ResponseDecoding<Value> = .json,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value {
        try await value(
            Endpoint<Value>.patch(path, query: query, headers: headers, body: body, decoding: decoding).with(timeout: timeout, options))
    }

    /// Deletes a resource and returns the value of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func delete<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, as type: Value.Type = Value.self, decoding: ResponseDecoding<Value> = .json,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Value {
        try await value(
            Endpoint<Value>.delete(path, query: query, headers: headers, body: body, decoding: decoding).with(timeout: timeout, options))
    }

    // MARK: - Without a value

    /// Gets a resource and ignores its body: `try await client.get("/ping")`.
    ///
    /// For the parameters, see ``get(_:query:headers:timeout:as:decoding:options:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent public func get(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws {
        try await value(Endpoint<Void>.get(path, query: query, headers: headers).with(timeout: timeout, options))
    }

    /// Gets the head of a resource without its body ([RFC 9110, section 9.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2)).
    ///
    /// ```swift
    /// let length = try await client.head("/files/\(name, "name")").headers[.contentLength]
    /// ```
    ///
    /// For the parameters, see ``get(_:query:headers:timeout:as:decoding:options:)``.
    ///
    /// - Returns: the status and the header fields.
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent @discardableResult public func head(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> {
        try await response(Endpoint<Void>.head(path, query: query, headers: headers).with(timeout: timeout, options))
    }

    /// Requests the communication options of a resource by the method OPTIONS
    /// ([RFC 9110, section 9.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.7)).
    ///
    /// ```swift
    /// let methods = try await client.sendOptions("/orders").headers[.allow]
    /// ```
    ///
    /// For the parameters, see ``get(_:query:headers:timeout:as:decoding:options:)``.
    ///
    /// - Returns: the status and the header fields.
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent @discardableResult public func sendOptions(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> TypedResponse<Void> {
        try await response(Endpoint<Void>.options(path, query: query, headers: headers).with(timeout: timeout, options))
    }

    /// Posts a body and ignores the body of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws {
        try await value(Endpoint<Void>.post(path, query: query, headers: headers, body: body).with(timeout: timeout, options))
    }

    /// Puts a body and ignores the body of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws {
        try await value(Endpoint<Void>.put(path, query: query, headers: headers, body: body).with(timeout: timeout, options))
    }

    /// Patches a resource and ignores the body of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws {
        try await value(Endpoint<Void>.patch(path, query: query, headers: headers, body: body).with(timeout: timeout, options))
    }

    /// Deletes a resource and ignores the body of the response. For the parameters, see
    /// ``post(_:query:headers:body:timeout:as:decoding:options:)``.
    ///
    /// - Throws: `StatusError` for any status but 2xx, and the other errors of ``value(_:)``.
    @concurrent public func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        timeout: Duration? = nil, options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws {
        try await value(Endpoint<Void>.delete(path, query: query, headers: headers, body: body).with(timeout: timeout, options))
    }
}
