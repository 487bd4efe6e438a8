/// A response: its head, its body, the request that was sent last, and metadata from the stack.
public struct Response: Sendable {
    /// The status and the header fields.
    public var head: HTTPResponse
    /// The body. Read the body once, or abandon it: see ``ResponseBody``.
    public var body: ResponseBody
    /// The request as it was sent, with the base URL. After redirects, the value is the last request.
    public var request: Request
    /// The lifetime of the exchange on the wire.
    public let exchange: ExchangeLifetime
    /// Information from the stack, such as the attempts, the number of the request, and the timings.
    public var metadata: ResponseMetadata
    /// The duplex stream, if the server has changed the protocol (101, or 2xx to an extended CONNECT).
    package var upgrade: (any DuplexStream)?

    /// Creates a response whose exchange continues until the transport ends the exchange. For transports.
    ///
    /// A middleware that responds itself uses ``init(head:data:request:)``.
    public init(head: HTTPResponse, body: ResponseBody, request: Request, exchange: ExchangeLifetime) {
        self.init(head: head, body: body, request: request, exchange: exchange, upgrade: nil)
    }

    package init(head: HTTPResponse, body: ResponseBody, request: Request, exchange: ExchangeLifetime, upgrade: (any DuplexStream)?) {
        self.head = head
        self.body = body
        self.request = request
        self.exchange = exchange
        self.upgrade = upgrade
        metadata = ResponseMetadata()
    }

    /// Creates a response that is already complete, such as a response from a cache, a stub, a fallback or a middleware that responds
    /// without sending the request.
    ///
    /// ```swift
    /// let response = Response(head: HTTPResponse(status: .serviceUnavailable), data: Data("closed".utf8), request: request)
    /// ```
    ///
    /// - Parameters:
    ///   - head: the status and the header fields.
    ///   - data: the bytes of the body. Default: no bytes.
    ///   - request: the request that the response belongs to.
    public init(head: HTTPResponse, data: Data = Data(), request: Request) {
        self.init(head: head, body: ResponseBody(data), request: request, exchange: ExchangeLifetime(outcome: .complete))
    }

    /// Returns another response to the same request, with the exchange and the metadata of this response. This response is discarded.
    package func replaced(by head: HTTPResponse, body: ResponseBody) -> Response {
        var response = Response(head: head, body: body, request: request, exchange: exchange)
        response.metadata = metadata
        response.metadata.callEnd = nil
        discard()
        return response
    }

    /// The status of the head.
    public var status: HTTPResponse.Status { head.status }
    /// The header fields of the head.
    public var headers: HTTPFields { head.headerFields }
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible, HidesStorage {
    /// The status, body and request, without secrets.
    public var description: String { "\(head.status.code) (\(body)) to \(request)" }
    public var debugDescription: String { description }

    package var shownFields: KeyValuePairs<String, Any> {
        [
            "status": head.status.code, "headers": request.options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" },
            "body": body.description, "request": request,
        ]
    }
}

extension HTTPSender {
    /// Sends `request`, passes the response to `read`, and releases the unread rest of the body when `read` returns or throws.
    ///
    /// ```swift
    /// let first: String? = try await stack.withResponse(to: request) { response in
    ///     for try await line in response.body.lines where line.hasPrefix("data:") { return line }
    ///     return nil
    /// }
    /// ```
    ///
    /// - Throws: any error of sending the request, and any error that `read` throws.
    public func withResponse<Result>(
        to request: Request, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        let response = try await send(request)
        defer { response.body.abandon() }
        return try await read(response)
    }
}
