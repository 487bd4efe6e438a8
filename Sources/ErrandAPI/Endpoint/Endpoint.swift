public import ErrandCore
internal import ErrandFormats

/// A call as a value: method, path, query, header fields, body, and the type of the returned value.
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
/// Keep endpoints in namespaces, such as the enum `Repositories` of this example. If two extensions of `Endpoint` have a factory of the
/// same name with different outputs, the compiler selects one of the factories without a warning.
///
/// ## Modules whose default isolation is the main actor
///
/// In an app that was created with Xcode 26, all code runs on the main actor by default. The library decodes bodies outside of the main
/// actor. Therefore mark models `nonisolated`:
///
/// ```swift
/// nonisolated struct Repository: Decodable, Sendable { var name: String }
/// ```
///
/// Without `nonisolated`, the compiler reports this error:
///
/// ```
/// main actor-isolated conformance of 'Repository' to 'Decodable' cannot satisfy conformance requirement for a 'Sendable' type parameter
/// ```
///
/// If the `options` closure of a verb sets your own option, the compiler may report this error: *main actor-isolated property 'tenant'
/// can not be mutated from a Sendable closure*. To fix this error, declare the option in a `nonisolated extension RequestOptions { … }`.
///
/// Namespaces of endpoints, clients that consist of closures, middleware and validators need no annotation. Mark a namespace
/// `nonisolated` if code outside of the main actor uses it without `await`.
public struct Endpoint<Output: Sendable>: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The path with its values.
    public var path: PathTemplate
    /// The query.
    public var query: URLQuery
    /// The header fields of the call. These fields replace fields of the same name that the body, the decoding or `server`
    /// sets.
    public var headers: HTTPFields
    /// The body.
    public var body: EndpointBody
    /// The decoding of the body of the response.
    public var decoding: ResponseDecoding<Output>
    /// The options for the middleware, such as a timeout or no retry.
    public var options = RequestOptions()

    /// Creates a call with any method and any decoding.
    ///
    /// - Parameters:
    ///   - method: the method of the request, such as `.get`.
    ///   - path: a template; its values are escaped. For a path in a `String` variable, pass `PathTemplate(verbatim:)`.
    ///   - query: the query of the call. Default: empty.
    ///   - headers: the header fields of the call. Default: none.
    ///   - body: the body of the request. Default: empty.
    ///   - decoding: the decoding of the response's body: `.json`, `.none` for an output of `Void`, or your own decoding.
    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: EndpointBody = .none, decoding: ResponseDecoding<Output>
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        (self.body, self.decoding) = (body, decoding)
    }

    /// Returns the call with one changed option: `.list(of: "apple").with(\.timeout, .seconds(2))`. To change several options, pass a
    /// closure.
    public func with<Value>(_ option: WritableKeyPath<RequestOptions, Value>, _ value: Value) -> Self {
        with { $0[keyPath: option] = value }
    }

    /// Returns the call with several changed options: `.list(of: "apple").with { $0.timeout = .seconds(2); $0.retry = .off }`.
    public func with(_ change: (inout RequestOptions) -> Void) -> Self {
        var copy = self
        change(&copy.options)
        return copy
    }

    /// Returns the call with the timeout and the other options of a verb. The closure can change the timeout.
    func with(timeout: Duration?, _ change: (inout RequestOptions) -> Void) -> Self {
        with { options in
            if let timeout { options.timeout = .use(timeout) }
            change(&options)
        }
    }

    /// Returns the call with its output converted, for example from the model of the server to a model of the app.
    ///
    /// ```swift
    /// static func user(_ id: Int) -> Endpoint<User> {
    ///     Endpoint<UserDTO>.get("/users/\(id, "id")").map { User($0) }
    /// }
    /// ```
    ///
    /// - Parameter transform: a closure that runs after the decoding, as a part of the call. An error of the closure fails the call and
    ///   reaches the caller unchanged; a `DecodingError` becomes a ``ResponseDecodingError``.
    public func map<Value: Sendable>(_ transform: @escaping @Sendable (Output) throws -> Value) -> Endpoint<Value> {
        var endpoint = Endpoint<Value>(method, path, query: query, headers: headers, body: body, decoding: decoding.map(transform))
        endpoint.options = options
        return endpoint
    }

    /// Returns the request, without a base URL.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError``, ``RequestEncodingError``, or the errors of opening a file. An
    ///   ``/ErrandCore/InvalidFieldError`` if the media type of the body or of the decoding can't be sent.
    public func request(json: JSONCoding = .standard) throws -> Request {
        var request = try Request(method, path, query: query, headers: headers)
        let template = request.options.urlTemplate
        request.options = options
        request.options.call.json = json
        request.options.urlTemplate = options.urlTemplate ?? template
        if let type = body.contentType, request.head.headerFields[.contentType] == nil {
            try request.head.headerFields.set(.contentType, type)
        }
        if let accept = decoding.accept, request.options.fallbackHeaders[.accept] == nil {
            try request.options.fallbackHeaders.set(.accept, accept)
        }
        do {
            if let boundary = body.boundary, let type = request.headers[.contentType], MediaType(type)?[parameter: "boundary"] != boundary {
                throw RequestEncodingError.foreignBoundary
            }
            request.body = try body.requestBody(json)
        } catch let error as EncodingError {
            throw RequestEncodingError(body.typeName ?? "the body", underlying: error, request: request)
        } catch let error as FileReadError {
            throw error.naming(request)
        }
        return request
    }
}

extension Endpoint: CustomStringConvertible, HidesStorage {
    /// Method, template and query, without secrets: `GET /orgs/{owner}/repos?page=1`.
    public var description: String {
        let separator = path.description.containsOctet(UInt8(ascii: "?")) ? "&" : "?"
        let target = path.description + (query.isEmpty ? "" : separator + query.encoded)
        return "\(method.rawValue) \(options.sensitivity.redactedURL(target))"
    }

    /// The description, the header fields without secrets, the output's type and the options.
    package var shownFields: KeyValuePairs<String, Any> {
        [
            "call": description, "headers": options.sensitivity.shown(headers).map { "\($0.name): \($0.value)" },
            "output": typeName(Output.self), "options": options.description,
        ]
    }
}
