#if MockServer
public import ErrandCore

/// A response of a ``MockServer``, valid or invalid.
///
/// ```swift
/// MockResponse.json(user)
/// MockResponse.text("as far as here").fault(.reset, at: .responseBody)
/// ```
public struct MockResponse: Sendable {
    /// The way in which the client finds the end of a body ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)). A
    /// `Content-Length` or `Transfer-Encoding` in the response's own header fields replaces ``automatic`` and ``chunked``. HTTP/2 has its
    /// own framing, and ignores this value.
    public struct Framing: Sendable, Hashable {
        enum Kind: Sendable { case automatic, chunked, untilClose }
        let kind: Kind
        /// A body in memory (``Body/data(_:)``) without trailers is sent with `Content-Length`. All other bodies are sent in chunks
        /// (HTTP/1.0: until the end of the connection).
        public static let automatic = Framing(kind: .automatic)
        /// The body is always sent in chunks, even if its length is known.
        public static let chunked = Framing(kind: .chunked)
        /// The end of the connection is the end of the body.
        public static let untilClose = Framing(kind: .untilClose)
    }

    /// The body of a response.
    public struct Body: Sendable {
        enum Kind: Sendable {
            case chunks([Data], hasLength: Bool)
            case source(@Sendable () async throws -> any BodySource)
            case echo
            case raw(Data)
        }

        let kind: Kind

        /// No bytes.
        public static let empty = Body.data(Data())
        /// A body in memory, sent with `Content-Length` by default.
        public static func data(_ data: Data) -> Body { Body(kind: .chunks(data.isEmpty ? [] : [data], hasLength: true)) }
        /// Several parts of a body, which are sent one after the other as chunks.
        public static func chunks(_ chunks: [Data]) -> Body { Body(kind: .chunks(chunks.filter { !$0.isEmpty }, hasLength: false)) }
        /// The bytes of a source, and then the source's trailers. The source is read while the bytes are sent. If the source
        /// throws, the connection is closed (HTTP/2: the stream is reset).
        public static func source(_ open: @escaping @Sendable () async throws -> any BodySource) -> Body { Body(kind: .source(open)) }
        /// The request's body as it is received, with its trailers.
        public static let echo = Body(kind: .echo)
        /// The octets of a whole message, including its head. The server sends the octets unchanged. After the octets, the server closes
        /// the connection. Use this body only with HTTP/1.1, because the octets break an HTTP/2 connection.
        public static func raw(_ octets: Data) -> Body { Body(kind: .raw(octets)) }
    }

    /// The status and the header fields.
    public var head: HTTPResponse
    /// The body.
    public var body: Body
    /// The way in which the client finds the end of the body: ``Framing/automatic`` by default.
    public var framing = Framing.automatic
    /// Responses with a status of 1xx that are sent before the head, in order.
    public var informational: [HTTPResponse] = []
    /// The trailer fields after the body. With trailer fields, ``Framing/automatic`` sends the body in chunks. `nil`, the default: the
    /// server sends the trailer fields of the body's source, if the source has any.
    public var trailers: HTTPFields?
    /// The wait before the first informational response (1xx), or before the head if there is no informational response: zero by default.
    /// The server's clock measures the wait.
    public var headDelay = Duration.zero
    /// The wait before each part of the body, on the server's clock: zero by default.
    public var chunkPause = Duration.zero
    /// The rate at which the body is sent, in bytes per second. `nil`, the default: the server sends as fast as the client
    /// reads.
    public var bytesPerSecond: Int?
    /// Whether the response is sent after the head of the request, without waiting for the request's body: false by default. An echo is
    /// always early. If a client waits for `100 Continue`, an early response other than an echo replaces the `100 Continue`. Then, on
    /// HTTP/1.1, the connection is closed.
    public var isEarly = false
    /// Whether the connection is closed after the response (HTTP/1.1), or takes no further stream (HTTP/2): false by default.
    public var closesConnection = false

    var fault: (fault: Fault, point: FaultPoint)?

    /// Creates a response with a head and a body.
    public init(_ head: HTTPResponse, body: Body = .empty) { (self.head, self.body) = (head, body) }

    /// Returns this response, broken by a fault at a point of the exchange.
    public func fault(_ fault: Fault, at point: FaultPoint) -> MockResponse { with { $0.fault = (fault, point) } }

    /// Returns a changed copy of this response: `.text("slow").with { $0.chunkPause = .seconds(1) }`.
    public func with(_ change: (inout MockResponse) -> Void) -> MockResponse {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: - Shorthands

    /// Responds with a status and fields, without a body.
    public static func status(_ status: HTTPResponse.Status, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers))
    }

    /// Responds with plain text in UTF-8, with its `Content-Type`.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        data(Data(text.utf8), status: status, headers: headers).typed("text/plain; charset=utf-8")
    }

    /// Responds with bytes, without a `Content-Type`.
    public static func data(_ data: Data, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .data(data))
    }

    /// Responds with several parts of a body, which are sent one after the other as chunks.
    public static func chunks(_ chunks: [Data], status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .chunks(chunks))
    }

    /// Responds with the bytes of a source, which is read while the bytes are sent.
    public static func source(
        status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(),
        _ open: @escaping @Sendable () async throws -> any BodySource
    ) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .source(open))
    }

    /// Responds with a value as JSON, with its `Content-Type`.
    ///
    /// A value that can't be encoded is a fault of the test: the response has the status 500, and its text is the error.
    ///
    /// - Parameter coding: the rules for encoding. Pass the coding of the client. Default: ``/ErrandCore/JSONCoding/standard``,
    ///   with dates in ISO 8601.
    public static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), coding: JSONCoding = .standard
    ) -> MockResponse {
        do {
            return data(try coding.encode(value), status: status, headers: headers).typed("application/json")
        } catch {
            return text("the mock server can't encode this response: \(error)\n", status: .internalServerError)
        }
    }

    /// Responds with a redirect to `location`, with the status 302 by default.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: [.location: location]))
    }

    /// Responds with the request's body as the body is received, with its trailers.
    public static let echo = MockResponse(HTTPResponse(status: .ok), body: .echo)

    /// Responds with the octets of a whole message. See ``Body/raw(_:)``.
    public static func raw(_ octets: Data) -> MockResponse { MockResponse(HTTPResponse(status: .ok), body: .raw(octets)) }

    /// Responds with a whole message, in UTF-8. See ``Body/raw(_:)``.
    public static func raw(_ text: String) -> MockResponse { raw(Data(text.utf8)) }

    private func typed(_ type: String) -> MockResponse {
        with { if $0.head.headerFields[.contentType] == nil { $0.head.headerFields[.contentType] = type } }
    }
}
#endif
