public import ErrandCore

/// A call, described as a value: method, path, query, fields, body, and what comes back.
///
/// ```swift
/// enum Repositories {
///     static func list(of owner: String, page: Int = 1) -> Endpoint<[Repository]> {
///         .get("/orgs/\(owner, "owner")/repos", query: ["page": page])
///     }
///     static func delete(_ name: String, of owner: String) -> Endpoint<Void> {
///         .delete("/repos/\(owner, "owner")/\(name, "name")")
///     }
/// }
///
/// let repositories = try await client.value(Repositories.list(of: "apple"))
/// ```
///
/// Keep endpoints in namespaces, as above. Two bare `extension Endpoint` with a factory of the same name and different outputs
/// compile, and the compiler picks one of them silently.
public struct Endpoint<Output: Sendable>: Sendable {
    public var method: HTTPRequest.Method
    public var path: PathTemplate
    public var query: URLQuery
    public var headers: HTTPFields
    public var body: EndpointBody
    public var decoding: ResponseDecoding<Output>
    /// What the call asks of the middleware: its timeout, no retry, and so on.
    public var options = RequestOptions()

    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody = .none, decoding: ResponseDecoding<Output>
    ) {
        (self.method, self.path, self.query, self.headers) = (method, path, query, headers)
        (self.body, self.decoding) = (body, decoding)
    }

    /// The same call with another option: `.list(of: "apple").with(\.timeout, .use(.seconds(2)))`.
    public func with<Value>(_ option: WritableKeyPath<RequestOptions, Value>, _ value: Value) -> Self {
        var copy = self
        copy.options[keyPath: option] = value
        return copy
    }

    /// The request, without a base URL.
    ///
    /// - Throws: ``InvalidURLError``, `EncodingError`, or what opening a file throws.
    public func request(json: JSONCoding = .standard) throws -> Request {
        var request = try Request(method, path, query: query, headers: headers, body: try body.requestBody(json))
        let template = request.options.urlTemplate
        request.options = options
        request.options.urlTemplate = options.urlTemplate ?? template
        if let type = body.contentType, request.head.headerFields[.contentType] == nil {
            request.head.headerFields[.contentType] = type
        }
        if let accept = decoding.accept, request.options.fallbackHeaders[.accept] == nil {
            request.options.fallbackHeaders[.accept] = accept
        }
        return request
    }
}

extension Endpoint: CustomStringConvertible, CustomReflectable {
    /// Method, template and query, without secrets.
    public var description: String {
        let target = path.description + (query.isEmpty ? "" : (path.description.contains("?") ? "&" : "?") + query.encoded)
        return "\(method.rawValue) \(options.sensitivity.redactedURL(target))"
    }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "call": description, "headers": options.sensitivity.shown(headers).map { "\($0.name): \($0.value)" },
                "output": "\(Output.self)", "options": options.description,
            ] as KeyValuePairs<String, Any>)
    }
}

// MARK: - A value comes back

extension Endpoint where Output: Decodable {
    public static func get(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: .json)
    }

    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body, decoding: .json)
    }

    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body, decoding: .json)
    }

    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body, decoding: .json)
    }

    public static func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body, decoding: .json)
    }
}

// MARK: - Nothing comes back

extension Endpoint where Output == Void {
    public static func get(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.get, path, query: query, headers: headers, decoding: .none)
    }

    public static func head(_ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()) -> Self {
        Self(.head, path, query: query, headers: headers, decoding: .none)
    }

    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body, decoding: .none)
    }

    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body, decoding: .none)
    }

    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body, decoding: .none)
    }

    public static func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body, decoding: .none)
    }
}
