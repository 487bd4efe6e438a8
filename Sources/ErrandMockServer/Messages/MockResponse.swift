#if MockServer
public import ErrandCore

/// What a ``MockServer`` sends back, right or wrong.
///
/// ```swift
/// MockResponse.json(user)
/// MockResponse.text("as far as here").fault(.reset, at: .responseBody)
/// ```
public struct MockResponse: Sendable {
    /// How the end of a body is told (RFC 9112, 6.3). On HTTP/2 it makes no difference.
    public struct Framing: Sendable, Hashable {
        enum Kind: Sendable { case automatic, chunked, untilClose }
        let kind: Kind
        /// `Content-Length` where the length is known, chunks where it is not, or where trailers follow.
        public static let automatic = Framing(kind: .automatic)
        public static let chunked = Framing(kind: .chunked)
        /// By the end of the connection.
        public static let untilClose = Framing(kind: .untilClose)
    }

    /// The bytes behind a head.
    public struct Body: Sendable {
        enum Kind: Sendable {
            case chunks([Data], hasLength: Bool)
            case source(@Sendable () async throws -> any BodySource)
            case echo
            case raw(Data)
        }

        let kind: Kind

        public static let empty = Body.data(Data())
        /// Bytes whose length the head tells.
        public static func data(_ data: Data) -> Body { Body(kind: .chunks(data.isEmpty ? [] : [data], hasLength: true)) }
        /// Bytes that are sent part by part, in chunks.
        public static func chunks(_ chunks: [Data]) -> Body { Body(kind: .chunks(chunks.filter { !$0.isEmpty }, hasLength: false)) }
        /// Bytes that are made while they are sent; the source's trailers follow. Where it throws, the connection is closed (HTTP/2:
        /// the stream is reset).
        public static func source(_ open: @escaping @Sendable () async throws -> any BodySource) -> Body { Body(kind: .source(open)) }
        /// The request's body, as it comes, with its trailers.
        public static let echo = Body(kind: .echo)
        /// The whole message as it goes on the wire, with its head; the connection is closed behind it. HTTP/1.1 alone: on HTTP/2 it breaks the
        /// connection.
        public static func raw(_ octets: Data) -> Body { Body(kind: .raw(octets)) }
    }

    public var head: HTTPResponse
    public var body: Body
    public var framing = Framing.automatic
    /// Responses of 1xx that are sent before the head, in order.
    public var informational: [HTTPResponse] = []
    /// Sent behind the body, which is chunked then; nil sends those of the body's source, if it has any.
    public var trailers: HTTPFields?
    /// Waited on the server's clock before the head, and before anything of 1xx: none.
    public var headDelay = Duration.zero
    /// Waited before each part of the body: none.
    public var chunkPause = Duration.zero
    /// The most of the body that is sent in a second; nil sends as fast as the client reads.
    public var bytesPerSecond: Int?
    /// Whether it is sent as soon as the head of the request has come, and the rest of the request read behind it: false, but an
    /// echo does so always. A client that waits for `100 Continue` gets none, and its connection is closed.
    public var isEarly = false
    /// Whether the connection is closed behind it (HTTP/1.1), or takes no further stream (HTTP/2): false.
    public var closesConnection = false

    var fault: (fault: Fault, point: FaultPoint)?

    public init(_ head: HTTPResponse, body: Body = .empty) { (self.head, self.body) = (head, body) }

    /// This response, which breaks in this way at this point.
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

    public static func data(_ data: Data, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: headers), body: .data(data))
    }

    /// Bytes that are sent part by part, in chunks.
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

    /// A value as JSON, with its `Content-Type`. A value that can't be encoded is a mistake in the test: the answer is then a 500 that
    /// says so.
    public static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()
    ) -> MockResponse {
        do {
            return data(try JSONEncoder().encode(value), status: status, headers: headers).typed("application/json")
        } catch {
            return text("the mock server can't encode this answer: \(error)\n", status: .internalServerError)
        }
    }

    /// A `Location`, with 302 unless another status is given.
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> MockResponse {
        MockResponse(HTTPResponse(status: status, headerFields: [.location: location]))
    }

    /// The request's body, as it comes, with its trailers.
    public static let echo = MockResponse(HTTPResponse(status: .ok), body: .echo)

    /// A message as it goes on the wire; see ``Body/raw(_:)``.
    public static func raw(_ octets: Data) -> MockResponse { MockResponse(HTTPResponse(status: .ok), body: .raw(octets)) }

    /// The same, in UTF-8.
    public static func raw(_ text: String) -> MockResponse { raw(Data(text.utf8)) }

    private func typed(_ type: String) -> MockResponse {
        with { if $0.head.headerFields[.contentType] == nil { $0.head.headerFields[.contentType] = type } }
    }
}
#endif
