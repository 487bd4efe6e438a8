public import ErrandCore

// One factory for each method and kind of output: a value in JSON, or nothing.

// MARK: - A value is returned

// The output is decoded from JSON, unless `decoding` says otherwise: `.get("/health", decoding: .json.withoutEnvelope)`.

extension Endpoint where Output: Decodable {
    /// Gets a value: `.get("/users/\(id, "id")")`, or `.get("/users/7", as: User.self)` where the type is not known from its context.
    public static func get(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Output.Type = Output.self,
        decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: decoding)
    }

    /// Posts a body and returns a value.
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self, decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body, decoding: decoding)
    }

    /// Puts a body and returns a value.
    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self, decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body, decoding: decoding)
    }

    /// Patches a resource and returns a value.
    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self, decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body, decoding: decoding)
    }

    /// Deletes a resource and returns a value.
    public static func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self, decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body, decoding: decoding)
    }
}

// MARK: - Nothing is returned

extension Endpoint where Output == Void {
    /// Gets a resource whose body is of no interest.
    public static func get(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: .none)
    }

    /// Asks for the head of a resource ([RFC 9110, section 9.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2)). See ``APIClient/response(_:)``.
    public static func head(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.head, path, query: query, headers: headers, decoding: .none)
    }

    /// Asks what a resource allows ([RFC 9110, section 9.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.7)). See ``APIClient/response(_:)``.
    public static func options(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.options, path, query: query, headers: headers, decoding: .none)
    }

    /// Posts a body. The response's body is of no interest.
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Puts a body. The response's body is of no interest.
    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Patches a resource. The response's body is of no interest.
    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Deletes a resource. The response's body is of no interest.
    public static func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body, decoding: .none)
    }
}
