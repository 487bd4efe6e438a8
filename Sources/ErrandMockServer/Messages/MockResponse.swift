#if MockServer
public import ErrandCore

/// What a ``MockServer`` sends back, right or wrong.
///
/// ```swift
/// MockResponse.json(user)
/// MockResponse.text("as far as here").fault(.reset, at: .responseBody)
/// ```
public struct MockResponse: Sendable {
    /// How the client finds the end of a body ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)). HTTP/2 has a framing of its own.
    public struct Framing: Sendable, Hashable {
        enum Kind: Sendable { case automatic, chunked, untilClose }
        let kind: Kind
        /// `Content-Length` if the length is known and no trailers follow; chunks otherwise.
        public static let automatic = Framing(kind: .automatic)
        /// Chunks, whether the length is known or not.
        public static let chunked = Framing(kind: .chunked)
        /// The end of the connection is the end of the body.
        public static let untilClose = Framing(kind: .untilClose)
    }

    /// The bytes after a head.
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
        /// Bytes whose length is in the head.
        public static func data(_ data: Data) -> Body { Body(kind: .chunks(data.isEmpty ? [] : [data], hasLength: true)) }
        /// Bytes that are sent one part after the other, as chunks.
        public static func chunks(_ chunks: [Data]) -> Body { Body(kind: .chunks(chunks.filter { !$0.isEmpty }, hasLength: false)) }
        /// Bytes that are made while they are sent, followed by the source's trailers. If the source throws, the connection is closed (HTTP/2: the stream
        /// is reset).
        public static func source(_ open: @escaping @Sendable () async throws -> any BodySource) -> Body { Body(kind: .source(open)) }
        /// The request's body as it is received, with its trailers.
        public static let echo = Body(kind: .echo)
        /// The whole message as it goes on the wire, with its head. The connection is closed after it. For HTTP/1.1: on HTTP/2 it breaks the connection.
        public static func raw(_ octets: Data) -> Body { Body(kind: .raw(octets)) }
    }

    /// Status and header fields.
    public var head: HTTPResponse
    /// The bytes after the head.
    public var body: Body
    /// How the client finds the end of the body: ``Framing/automatic`` by default.
    public var framing = Framing.automatic
    /// Responses with a status of 1xx that are sent before the head, in order.
    public var informational: [HTTPResponse] = []
    /// Trailer fields after the body, which is chunked then. `nil`, the default, sends those of the body's source, if it has any.
    public var trailers: HTTPFields?
    /// The wait before the head and before any response of 1xx, on the server's clock: none by default.
    public var headDelay = Duration.zero
    /// The wait before each part of the body, on the server's clock: none by default.
    public var chunkPause = Duration.zero
    /// The number of bytes of the body that are sent in a second. `nil`, the default, sends as fast as the client reads.
    public var bytesPerSecond: Int?
    /// Whether the response is sent when the head of the request was received, before its body: false by default. An echo is always early. A client that
    /// waits for `100 Continue` gets none, and its connection is closed.
    public var isEarly = false
    /// Whether the connection is closed after the response (HTTP/1.1), or takes no further stream (HTTP/2): false by default.
    public var closesConnection = false

    var fault: (fault: Fault, point: FaultPoint)?

    /// A response with this head and body.
    public init(_ head: HTTPResponse, body: Body = .empty) { (self.head, self.body) = (head, body) }

    /// This response, broken by a fault at a point of the exchange.
    public func fault(_ fault: Fault, at point: FaultPoint) -> MockResponse { with { $0.fault = (fault, point) } }

    /// This response, changed: `.text("slow").with { $0.chunkPause = .seconds(1) }`.
    public func with(_ change: (inout MockResponse) -> Void) -> MockResponse {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: - Shorthands

    /// A status alone, or with fields.
    public static func status(_ status: HTTPResponse.Status, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers))
    }

    /// Plain text in UTF-8, with its `Content-Type`.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        data(Data(text.utf8), status: status, headers: headers).typed("text/plain; charset=utf-8")
    }

    /// Bytes, without a `Content-Type`.
    public static func data(_ data: Data, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .data(data))
    }

    /// Bytes that are sent one part after the other, as chunks.
    public static func chunks(_ chunks: [Data], status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .chunks(chunks))
    }

    /// Bytes that are made while they are sent.
    public static func source(
        status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(),
        _ open: @escaping @Sendable () async throws -> any BodySource
    ) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .source(open))
    }

    /// A value as JSON, with its `Content-Type`.
    ///
    /// A value that cannot be encoded is a mistake in the test: the response is a 500 then, with the error as its text.
    ///
    /// - Parameter coding: ``/ErrandCore/JSONCoding/standard`` by default, as a client has: dates are ISO 8601. Pass the client's own if it has another.
    public static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), coding: JSONCoding = .standard
    ) -> MockResponse {
        do {
            return data(try coding.encode(value), status: status, headers: headers).typed("application/json")
        } catch {
            return text("the mock server can't encode this response: \(error)\n", status: .internalServerError)
        }
    }

    /// A redirect to `location`, with the status 302 by default.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: [.location: location]))
    }

    /// The request's body as it is received, with its trailers.
    public static let echo = MockResponse(HTTPResponse(status: .ok), body: .echo)

    /// A message as it goes on the wire. See ``Body/raw(_:)``.
    public static func raw(_ octets: Data) -> MockResponse { MockResponse(HTTPResponse(status: .ok), body: .raw(octets)) }

    /// A message as it goes on the wire, in UTF-8. See ``Body/raw(_:)``.
    public static func raw(_ text: String) -> MockResponse { raw(Data(text.utf8)) }

    private func typed(_ type: String) -> MockResponse {
        with { if $0.head.headerFields[.contentType] == nil { $0.head.headerFields[.contentType] = type } }
    }
}
#endif
