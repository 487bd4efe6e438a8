/// A response: its head, its body, the request as it was finally sent, and what was learnt on the way.
public struct Response: Sendable {
    /// Status and fields.
    public var head: HTTPResponse
    /// Read it once, or give it up; see ``ResponseBody``.
    public var body: ResponseBody
    /// The request as it left: with the base URL, and after redirects the last one.
    public var request: Request
    /// When the exchange is over on the wire.
    public let exchange: ExchangeLifetime
    /// Attempts, number, timings: what the stack tells.
    public var metadata: ResponseMetadata
    /// The duplex stream, where the server agreed to change the protocol (101, or 2xx to an extended CONNECT).
    package var upgrade: (any DuplexStream)?

    /// A response whose exchange goes on until the transport ends it.
    public init(head: HTTPResponse, body: ResponseBody, request: Request, exchange: ExchangeLifetime) {
        self.init(head: head, body: body, request: request, exchange: exchange, upgrade: nil)
    }

    package init(head: HTTPResponse, body: ResponseBody, request: Request, exchange: ExchangeLifetime, upgrade: (any DuplexStream)?) {
        (self.head, self.body, self.request, self.exchange, self.upgrade) = (head, body, request, exchange, upgrade)
        metadata = ResponseMetadata()
    }

    /// A response that is whole already: from a cache, a stub, a fallback.
    public init(head: HTTPResponse, data: Data = Data(), request: Request) {
        self.init(head: head, body: ResponseBody(data), request: request, exchange: ExchangeLifetime(outcome: .complete))
    }

    public var status: HTTPResponse.Status { head.status }
    public var headers: HTTPFields { head.headerFields }
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, body and request, without secrets.
    public var description: String { "\(head.status.code) (\(body)) to \(request)" }
    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": head.status.code,
                "headers": request.options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" },
                "body": body.description, "request": request,
            ] as KeyValuePairs<String, Any>)
    }
}

extension HTTPSender {
    /// Sends `request`, lends the response to `read`, and releases whatever of the body was not read when `read` is done.
    ///
    /// ```swift
    /// let first = try await stack.withResponse(to: request) { response in
    ///     for try await line in response.body.lines where line.hasPrefix("data:") { return line }
    ///     return nil
    /// }
    /// ```
    public func withResponse<Result>(
        to request: Request, _ read: (Response) async throws -> Result
    ) async throws -> Result {
        let response = try await send(request)
        defer { response.body.abandon() }
        return try await read(response)
    }
}
