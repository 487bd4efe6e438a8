public import ErrandCore
internal import ErrandMiddleware

/// Typed calls over a stack.
///
/// ```swift
/// let github = APIClient(.default.retry().timeout(.seconds(30)).server("https://api.github.com"))
/// let repositories = try await github.value(Repositories.list(of: "apple"))
/// ```
///
/// Every status but 2xx is an error unless the stack, or the call's options, say otherwise: a stack without `validateStatus`
/// gets one around it, which judges what no conditional `validateStatus` inside has judged. The three steps of a call can be taken one by one: ``request(for:)``, ``send(_:)-(Endpoint<_>)``,
/// ``decode(_:as:)``. Nothing of it runs on the caller's actor.
///
/// Decoding is part of a call: log, spans, metrics, events and the profile show its time, and a failure of it as the failure of the call.
/// A response that is taken step by step ends, for them, when its body has been read, abandoned or has failed.
public struct APIClient: Sendable {
    /// What requests are sent by.
    public let stack: HTTPStack
    public let json: JSONCoding
    /// The most that is taken of a body that is decoded.
    public let bodyLimitBytes: Int
    private let validated: HTTPStack

    /// - Parameters:
    ///   - json: ISO 8601 dates and keys as declared, by default.
    ///   - bodyLimitBytes: 64 MiB by default. A longer body is a ``TransportError`` with the code `bodyTooLarge`.
    public init(
        _ stack: HTTPStack, json: JSONCoding = .standard, bodyLimitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) {
        precondition(bodyLimitBytes >= 0, "bodyLimitBytes must be at least 0 (is \(bodyLimitBytes))")
        (self.stack, self.json, self.bodyLimitBytes) = (stack, json, bodyLimitBytes)
        validated = stack.alwaysPasses(.validateStatus) ? stack : stack.wrapped(by: ValidateStatusMiddleware.unlessJudged)
    }

    /// A client over a sender that is no stack yet, such as a transport.
    public init(
        _ sender: some HTTPSender, json: JSONCoding = .standard, bodyLimitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) {
        self.init(HTTPStack(sender), json: json, bodyLimitBytes: bodyLimitBytes)
    }

    // MARK: Typed calls

    /// The value that the call gives.
    ///
    /// - Throws: `StatusError` for an unwanted status, ``ResponseDecodingError`` for a body that is not what was declared,
    ///   ``TransportError``, `CancellationError`; ``InvalidURLError`` and `EncodingError` before anything is sent.
    @concurrent public func value<Output>(_ endpoint: Endpoint<Output>) async throws -> Output {
        try await response(endpoint).value
    }

    /// The value and the head of the response.
    @concurrent public func response<Output>(_ endpoint: Endpoint<Output>) async throws -> TypedResponse<Output> {
        try await call(endpoint) { response in
            TypedResponse(value: try await decode(response, as: endpoint.decoding), response: response)
        }
    }

    /// The bytes of the body, whatever the call declares.
    @concurrent public func data<Output>(_ endpoint: Endpoint<Output>) async throws -> Data {
        try await call(endpoint) { try await $0.body.collect(upTo: bodyLimitBytes) }
    }

    /// Sends a call and reads its response, and then reports the end of the call to its observers.
    func call<Output, Result>(
        _ endpoint: Endpoint<Output>, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        let request = try request(for: endpoint)
        var decoded = request
        decoded.options.call.awaitsDecoding = true
        var response: Response
        do {
            response = try await validated.send(decoded)
        } catch {
            throw error.restoringCall(of: request)
        }
        response.restoreCall(of: request)
        let end = response.metadata.callEnd
        response.metadata.callEnd = nil
        let result: Result
        do {
            result = try await read(response)
        } catch {
            end?.end(.failed(error))
            throw error
        }
        end?.end(.decoded)
        return result
    }

    // MARK: Step by step

    /// The request that a call makes.
    public func request<Output>(for endpoint: Endpoint<Output>) throws -> Request { try endpoint.request(json: json) }

    /// The response to a call, with its body unread.
    @concurrent public func send<Output>(_ endpoint: Endpoint<Output>) async throws -> Response {
        try await validated.send(try request(for: endpoint))
    }

    /// The response to any request, with its body unread; its status is checked as that of a typed call.
    @concurrent public func send(_ request: Request) async throws -> Response { try await validated.send(request) }

    /// The value of a response. Reads its body.
    ///
    /// - Throws: ``ResponseDecodingError``, and what reading the body throws.
    @concurrent public func decode<Output>(_ response: Response, as decoding: ResponseDecoding<Output>) async throws -> Output {
        let data: Data
        if decoding.wantsBody {
            data = try await response.body.collect(upTo: bodyLimitBytes)
        } else {
            data = try await response.body.drain()
        }
        do {
            return try decoding.value(from: data, head: response.head, json: json)
        } catch {
            throw ResponseDecodingError(Output.self, underlying: error, body: data, of: response)
        }
    }

    /// The value of a response, as JSON. Reads its body.
    @concurrent public func decode<Output: Decodable & Sendable>(_ response: Response, as type: Output.Type) async throws -> Output {
        try await decode(response, as: .json)
    }
}

/// A value, and what came with it.
public struct TypedResponse<Value: Sendable>: Sendable {
    public let value: Value
    /// Status and fields.
    public let head: HTTPResponse
    /// The request as it was finally sent.
    public let request: Request
    public let metadata: ResponseMetadata

    init(value: Value, response: Response) {
        self.value = value
        (head, request, metadata) = (response.head, response.request, response.metadata)
    }

    public var status: HTTPResponse.Status { head.status }
    public var headers: HTTPFields { head.headerFields }
}

extension APIClient: CustomStringConvertible, CustomReflectable {
    /// The layers of the stack; what they hold may be secret.
    public var description: String { "APIClient(\(stack))" }

    public var customMirror: Mirror {
        Mirror(self, children: ["stack": stack.description, "bodyLimitBytes": bodyLimitBytes] as KeyValuePairs<String, Any>)
    }
}

extension TypedResponse: CustomStringConvertible, CustomReflectable {
    /// The value's type, the status and the request, without secrets. The value is the body, and is not shown.
    public var description: String { "\(head.status.code), a value of type \(Value.self), to \(request)" }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "value": "\(Value.self)", "status": head.status.code,
                "headers": request.options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" }, "request": request,
            ] as KeyValuePairs<String, Any>)
    }
}
