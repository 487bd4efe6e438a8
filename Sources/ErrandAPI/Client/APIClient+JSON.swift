public import ErrandCore

// Calls whose result has no type of its own.

extension APIClient {
    /// Makes a GET, and returns any JSON value.
    ///
    /// ```swift
    /// let json = try await client.json("/users/\(id, "id")")
    /// print(json.user.name.stringValue ?? "nobody")
    /// ```
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - query: none by default.
    ///   - headers: fields of this call; none by default.
    ///   - timeout: of the whole call; `nil`, the default, leaves it to the stack.
    ///   - options: changes the options of the call.
    /// - Throws: what ``value(_:)`` throws.
    @concurrent public func json(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> JSONValue {
        try await get(path, query: query, headers: headers, timeout: timeout, as: JSONValue.self, options: options)
    }

    /// Makes a call, and returns its body as any JSON value, whatever output the call declares. An empty body is ``/ErrandFormats/JSONValue/null``.
    ///
    /// - Throws: what ``value(_:)`` throws.
    @concurrent public func json<Output>(_ endpoint: Endpoint<Output>) async throws -> JSONValue {
        let decoding = ResponseDecoding<JSONValue> { data, _, json in data.isEmpty ? .null : try json.decode(JSONValue.self, from: data) }
        return try await call(endpoint) { try await decode($0, as: decoding) }
    }
}
