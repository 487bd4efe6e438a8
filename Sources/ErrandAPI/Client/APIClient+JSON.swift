public import ErrandCore

// This file has the calls that return JSON without a declared type.

extension APIClient {
    /// Sends a GET request and returns the body as a JSON value of any shape.
    ///
    /// ```swift
    /// let json = try await client.json("/users/\(id, "id")")
    /// print(json.user.name.stringValue ?? "nobody")
    /// ```
    ///
    /// - Parameters:
    ///   - path: a template; its values are escaped.
    ///   - query: the query of the call. Default: empty.
    ///   - headers: the header fields of the call. Default: none.
    ///   - timeout: the timeout of the whole call; `nil`, the default, keeps the timeout of the stack.
    ///   - options: a closure that changes the options of the call.
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func json(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), timeout: Duration? = nil,
        options: @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async throws -> JSONValue {
        let endpoint = Endpoint<JSONValue>(.get, path, query: query, headers: headers, decoding: Self.anyJSON)
        return try await value(endpoint.with(timeout: timeout, options))
    }

    /// Makes a call and returns a JSON value of any shape: the body, or the data in the client's ``envelope``. The output type of the
    /// endpoint is ignored. For an empty body or missing data, the result is ``/ErrandFormats/JSONValue/null``.
    ///
    /// - Throws: the errors of ``value(_:)``.
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
