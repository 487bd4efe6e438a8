public import ErrandCore

// This file has two factories for each method except HEAD and OPTIONS: one returns a JSON value, and the other returns no value.

// MARK: - With a value

// The output is decoded from JSON by default. `decoding` sets another decoding: `.get("/health", decoding:
// .json.withoutEnvelope)`.

extension Endpoint where Output: Decodable {
    /// Gets a value: `.get("/users/\(id, "id")")`, or `.get("/users/7", as: User.self)` if the compiler can't infer the type.
    public static func get(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Output.Type = Output.self,
        decoding: ResponseDecoding<Output> = .json
    ) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: decoding)
    }

    /// An endpoint that posts a body and returns a value.
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

// MARK: - Without a value

extension Endpoint where Output == Void {
    /// Gets a resource and ignores its body.
    public static func get(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: .none)
    }

    /// Gets the head of a resource without its body ([RFC 9110, section 9.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.2)).
    /// See ``APIClient/response(_:)``.
    public static func head(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.head, path, query: query, headers: headers, decoding: .none)
    }

    /// Requests the communication options of a resource
    /// ([RFC 9110, section 9.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.7)). See ``APIClient/response(_:)``.
    public static func options(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.options, path, query: query, headers: headers, decoding: .none)
    }

    /// Posts a body and ignores the body of the response.
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Puts a body and ignores the body of the response.
    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Patches a resource and ignores the body of the response.
    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body, decoding: .none)
    }

    /// Deletes a resource and ignores the body of the response.
    public static func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body, decoding: .none)
    }
}
