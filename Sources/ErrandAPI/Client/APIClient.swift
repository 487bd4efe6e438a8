public import ErrandCore

/// Makes typed calls through a stack.
///
/// ```swift
/// let github = APIClient(.default.retry().timeout(.seconds(30)).server("https://api.github.com"))
/// let repositories = try await github.value(Repositories.list(of: "apple"))
/// let user: User = try await github.get("/users/\(name, "name")")
/// ```
///
/// Every status except 2xx is an error, unless the stack or the options of the call accept other statuses. If a stack has no
/// `validateStatus`, the client adds this layer. The added layer checks only responses that no inner, conditional `validateStatus` has
/// checked.
///
/// ## Errors of the API
///
/// If the API describes its failures, convert the failures to your own error when you create the client. The client throws your error
/// instead of the `StatusError`. Log, metrics and spans still show the call with its status:
///
/// ```swift
/// struct APIProblem: LocalizedError, Decodable {
///     var reason: String
///     var errorDescription: String? { reason }
/// }
///
/// let client = APIClient(stack) { refused in try refused.json(as: APIProblem.self) }
/// do {
///     try await client.post("/orders", body: .json(order))
/// } catch let problem as APIProblem {
///     show(problem.reason)
/// }
/// ```
///
/// Each of the three steps of a call is also available alone: ``request(for:)``, ``send(_:)-(Endpoint<_>)``, ``decode(_:as:)``. No step
/// runs on the caller's actor.
///
/// Decoding is part of a call: log, spans, metrics, events and the profile include the time for decoding. If decoding fails, these
/// observers report the failure as the failure of the call. If you make a call step by step, the observers see the end of the call after
/// the body of the response has ended.
public struct APIClient: Sendable {
    /// The stack that sends the requests.
    public let stack: HTTPStack
    /// The JSON coding of calls. If the app later decodes a response, or the body of an error, the JSON coding of the client applies too.
    public let jsonCoding: JSONCoding
    /// The largest size in bytes of a body to decode. A larger body is refused.
    public let bodyLimitBytes: Int
    /// The wrapper around each JSON body; `nil` if the back end uses no wrapper.
    public let envelope: (any ResponseEnvelope.Type)?
    private let mapError: (@Sendable (StatusError) throws -> any Error)?
    private let validated: HTTPStack
    /// Reads the envelope of each call that has no JSON coding of its own; `nil` if the client has no envelope.
    let envelopeReader: EnvelopeReader?

    /// Creates a client that sends requests through a stack.
    ///
    /// - Parameters:
    ///   - stack: a stack whose `server` sets a base URL, because an endpoint has only a path.
    ///   - json: the JSON coding of bodies. Default: ``/ErrandCore/JSONCoding/standard``, with ISO 8601 dates, and with the
    ///     property names as member names.
    ///   - envelope: the wrapper that the back end puts around each JSON body: ``ResponseEnvelope``. Default: `nil`, no wrapper.
    ///   - bodyLimitBytes: the largest size of a body to decode, in bytes, at least 0. Default: 64 MiB. For a larger body, a call throws a
    ///     ``/ErrandCore/TransportError`` with the code `bodyTooLarge`.
    ///   - mapError: a closure that returns the error to throw for a refused response, such as an error decoded from the body. If you need
    ///     the status later, keep the `StatusError` in your error. If the closure throws, the client throws the `StatusError`. With `nil`,
    ///     the default, the client throws the `StatusError`. The closure is not called for a response whose body is an envelope with an
    ///     error.
    public init(
        _ stack: HTTPStack, json: JSONCoding = .standard, envelope: (any ResponseEnvelope.Type)? = nil,
        bodyLimitBytes: Int = ResponseBody.defaultCollectLimitBytes,
        mapError: (@Sendable (_ refused: StatusError) throws -> any Error)? = nil
    ) {
        precondition(bodyLimitBytes >= 0, "bodyLimitBytes must be at least 0 (is \(bodyLimitBytes))")
        self.stack = stack
        jsonCoding = json
        self.envelope = envelope
        self.bodyLimitBytes = bodyLimitBytes
        self.mapError = mapError
        envelopeReader = envelope.map { EnvelopeReader(envelope: $0, coding: json) }
        validated = stack.validatingStatus
    }

    /// Creates a client that sends requests through a transport, or through any other sender that is not a stack.
    ///
    /// - Parameters:
    ///   - sender: the sender of the requests.
    ///   - json: the JSON coding of bodies. Default: ``/ErrandCore/JSONCoding/standard``, with ISO 8601 dates, and with the
    ///     property names as member names.
    ///   - envelope: the wrapper that the back end puts around each JSON body: ``ResponseEnvelope``. Default: `nil`, no wrapper.
    ///   - bodyLimitBytes: the largest size of a body to decode, in bytes, at least 0. Default: 64 MiB. For a larger body, a call throws a
    ///     ``/ErrandCore/TransportError`` with the code `bodyTooLarge`.
    ///   - mapError: a closure that returns the error to throw for a refused response. Default: `nil`.
    public init(
        _ sender: some HTTPSender, json: JSONCoding = .standard, envelope: (any ResponseEnvelope.Type)? = nil,
        bodyLimitBytes: Int = ResponseBody.defaultCollectLimitBytes,
        mapError: (@Sendable (_ refused: StatusError) throws -> any Error)? = nil
    ) {
        self.init(HTTPStack(sender), json: json, envelope: envelope, bodyLimitBytes: bodyLimitBytes, mapError: mapError)
    }

    // MARK: Typed calls

    /// Makes a call and returns its value.
    ///
    /// - Throws: `StatusError`, or the error of `mapError`, for any status but 2xx; ``ResponseDecodingError`` for a body that does not
    ///   have the declared type; the error of your own decoding; ``/ErrandCore/TransportError`` and the failures of middleware;
    ///   `CancellationError`. Before the request is sent: ``/ErrandCore/InvalidURLError``; ``RequestEncodingError``;
    ///   ``/ErrandCore/FileReadError`` if the file of a body can't be opened; ``/ErrandCore/UnsupportedOptionError`` for an option whose
    ///   middleware is not in the stack.
    @concurrent public func value<Output>(_ endpoint: Endpoint<Output>) async throws -> Output {
        try await response(endpoint).value
    }

    /// Makes a call and returns its value with the status, header fields and metadata of the response.
    ///
    /// ```swift
    /// let response = try await client.response(.get("/users/7", as: User.self))
    /// print(response.value.name, response.headers[.eTag] ?? "")
    /// ```
    ///
    /// - Throws: the errors of ``value(_:)``.
    @concurrent public func response<Output>(_ endpoint: Endpoint<Output>) async throws -> TypedResponse<Output> {
        try await call(endpoint) { response in
            TypedResponse(value: try await decode(response, as: endpoint.decoding), response: response)
        }
    }

    /// Makes a call and returns the bytes of the body. The output type of the endpoint is ignored.
    ///
    /// - Throws: the errors of ``value(_:)`` except decoding errors. If the ``envelope`` in the body describes an error, throws
    ///   ``/ErrandCore/ServiceError``. Only JSON bodies of at most 64 KiB are searched for an envelope.
    @concurrent public func data<Output>(_ endpoint: Endpoint<Output>) async throws -> Data {
        try await call(endpoint) { response in
            let data = try await response.body.collect(upTo: bodyLimitBytes)
            if let failure = envelopeReader(for: endpoint)?.failure(inOutput: data, response.head) { throw failure.completed(by: response) }
            return data
        }
    }

    /// Returns the reader for the envelope of a call; `nil` if the call has no envelope.
    func envelopeReader<Output>(for endpoint: Endpoint<Output>) -> EnvelopeReader? {
        guard let envelope, !endpoint.decoding.ignoresEnvelope else { return nil }
        return endpoint.decoding.coding.map { EnvelopeReader(envelope: envelope, coding: $0) } ?? envelopeReader
    }

    /// Sends a call, reads its response, and then reports the end of the call to its observers.
    func call<Output, Result>(
        _ endpoint: Endpoint<Output>, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        try await mappedCall(try request(for: endpoint), in: envelopeReader(for: endpoint), read)
    }

    /// Makes a call. The closure `mapError` converts the error of a refused response.
    func mappedCall<Result>(
        _ request: Request, in envelope: EnvelopeReader?, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        do {
            // This code does not call `unmappedCall`, because each further async function costs time in every call.
            return try await validated.value(of: request, serviceErrors: envelope?.forObservers, by: read)
        } catch {
            throw mapped(error, of: request)
        }
    }

    /// Makes a call without `mapError`. The error of a refused response is a `StatusError`.
    func unmappedCall<Result>(
        _ request: Request, in envelope: EnvelopeReader?, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        try await validated.value(of: request, serviceErrors: envelope?.forObservers, by: read)
    }

    // MARK: Step by step

    /// Returns the request of a call, without the base URL.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError``, ``RequestEncodingError``, or the errors of opening a file.
    public func request<Output>(for endpoint: Endpoint<Output>) throws -> Request { try endpoint.request(json: jsonCoding) }

    /// Returns the request of a call as the stack would send it: with the base URL and all changes of the layers. Sends nothing.
    ///
    /// ```swift
    /// print(try await client.prepared(.get("/search", query: ["q": text], as: SearchResults.self)).curl())
    /// ```
    ///
    /// - Throws: the errors of ``request(for:)`` and ``/ErrandCore/HTTPStack/prepared(_:)``.
    @concurrent public func prepared<Output>(_ endpoint: Endpoint<Output>) async throws -> Request {
        try await stack.prepared(try request(for: endpoint))
    }

    /// Sends a call and returns the response with an unread body. To read the body, use ``decode(_:as:)``, `json(as:)` or
    /// `body`.
    ///
    /// - Throws: the errors of ``value(_:)`` except decoding errors.
    @concurrent public func send<Output>(_ endpoint: Endpoint<Output>) async throws -> Response {
        try await send(try request(for: endpoint), in: envelopeReader(for: endpoint))
    }

    /// Sends any request and returns the response with an unread body. The status is checked as in a typed call.
    ///
    /// - Throws: `StatusError`, or the error of `mapError`, for any status but 2xx, and the other errors of the stack.
    @concurrent public func send(_ request: Request) async throws -> Response {
        try await send(request, in: envelopeReader)
    }

    @concurrent private func send(_ request: Request, in envelope: EnvelopeReader?) async throws -> Response {
        do {
            return try await unmappedResponse(to: request, in: envelope)
        } catch {
            throw mapped(error, of: request)
        }
    }

    /// Sends any request and returns the response, without `mapError`. The error of a refused response is a `StatusError`.
    @concurrent func unmappedResponse(to request: Request, in envelope: EnvelopeReader?) async throws -> Response {
        var request = request
        request.options.call.json = jsonCoding
        request.options.call.serviceErrors = envelope?.forObservers
        return try await validated.send(request)
    }

    /// Returns the error to throw for a refused response: the error of the back end, or the error of the app. If a middleware or a
    /// validator has sent an additional request, the error of that request is not changed.
    func mapped(_ error: any Error, of request: Request) -> any Error {
        guard let refused = error as? StatusError, refused.request?.id == request.id else { return error }
        // `serviceError` uses the envelope's reader, which the request of the call carries.
        return refused.serviceError ?? (try? mapError?(refused)) ?? error
    }

    /// Reads the body of a response and returns its value, with the coding and the size limit of this client. For JSON,
    /// `response.json(as: User.self)` is shorter and uses the coding of the client that sent the request.
    ///
    /// - Throws: ``ResponseDecodingError``; any other error of the decoding, unchanged; the errors of reading the body.
    @concurrent public func decode<Output>(_ response: Response, as decoding: ResponseDecoding<Output>) async throws -> Output {
        try await response.decoded(as: decoding, in: envelope, coding: jsonCoding, upTo: bodyLimitBytes)
    }
}

/// A value with the head and the metadata of its response.
public struct TypedResponse<Value: Sendable>: Sendable {
    /// The decoded body.
    public let value: Value
    /// The status and the header fields.
    public let head: HTTPResponse
    /// The request that was sent, with the base URL. After redirects, this is the last request.
    public let request: Request
    /// The attempts, redirects, timings and other metadata of the response.
    public let metadata: ResponseMetadata

    init(value: Value, response: Response) {
        self.value = value
        (head, request, metadata) = (response.head, response.request, response.metadata)
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }
    /// The header fields.
    public var headers: HTTPFields { head.headerFields }
}

extension APIClient: CustomStringConvertible, HidesStorage {
    /// The layers of the stack, outermost first, with secrets replaced: `APIClient(server(https://a.example/) > retry(…) > …)`.
    public var description: String { "APIClient(\(stack))" }

    /// The layers of the stack, the JSON coding and the limit.
    package var shownFields: KeyValuePairs<String, Any> {
        [
            "stack": stack.description, "json": jsonCoding.description, "envelope": envelope.map { typeName($0) } ?? "none",
            "bodyLimitBytes": bodyLimitBytes,
        ]
    }
}

extension TypedResponse: CustomStringConvertible, HidesStorage {
    /// The status, the type of the value and the request, with secrets replaced: `200, User, to GET https://a.example/users/7`.
    ///
    /// The value is not shown, because it is the content of the body.
    public var description: String { "\(head.status.code), \(typeName(Value.self)), to \(request)" }

    /// The parts of the description and the header fields, with secrets replaced.
    package var shownFields: KeyValuePairs<String, Any> {
        [
            "value": typeName(Value.self), "status": head.status.code,
            "headers": request.options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" }, "request": request,
        ]
    }
}
