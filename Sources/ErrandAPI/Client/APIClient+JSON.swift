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
        let endpoint = Endpoint<JSONValue>(.get, path, query: query, headers: headers, decoding: Self.anyJSON)
        return try await value(endpoint.with(timeout: timeout, options))
    }

    /// Makes a call, and returns any JSON value, whatever output the call declares: the body, or what is in the client's ``envelope``. What is empty or missing is
    /// ``/ErrandFormats/JSONValue/null``.
    ///
    /// - Throws: what ``value(_:)`` throws.
    @concurrent public func json<Output>(_ endpoint: Endpoint<Output>) async throws -> JSONValue {
        let decoding = Self.anyJSON.withSettings(of: endpoint.decoding)
        return try await call(endpoint) { try await decode($0, as: decoding) }
    }

    private static let anyJSON = ResponseDecoding<JSONValue>(
        accept: "application/json", wantsBody: true,
        { data, _, json in data.isEmpty ? .null : try json.decode(JSONValue.self, from: data) },
        unwrap: { data, _, json, envelope, isWhole in
            data.isEmpty ? .null : try envelope.unwrapped(JSONValue?.self, from: data, json, isWhole: isWhole) ?? .null
        })
}
