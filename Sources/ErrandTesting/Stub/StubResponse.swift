public import ErrandCore

/// A response of a stub.
///
/// ```swift
/// StubResponse.json(user).delayed(by: .seconds(1))
/// StubResponse.file(atPath: path, contentType: "image/png").over(.edge)
/// StubResponse.data(bytes).breaking(afterBytes: 100)
/// ```
public struct StubResponse: Sendable {
    package enum Content: Sendable {
        case data(Data)
        case source(any BodySource)
        /// The bytes on the wire, including the head.
        case raw(Data)

        /// Releases the content, which will not be read.
        func abandon() { if case .source(let body) = self { body.abandon() } }
    }

    /// The head and the content, made for each request. The head is empty for ``Content/raw(_:)``.
    package typealias Made = (head: HTTPResponse, content: Content)

    enum Kind: Sendable {
        /// The response is made when the request's body has been read.
        case afterBody(@Sendable (RecordedRequest) async throws -> Made)
        /// The response is made before the request's body is read, and reads the body itself.
        case atOnce(@Sendable (RecordedRequest, any BodySource) async throws -> Made)
        case passThrough(any HTTPSender)
    }

    let kind: Kind
    var delay = Duration.zero
    var conditions: NetworkConditions?
    var breaking: (afterBytes: Int, failure: any Error)?
    var trailers: HTTPFields?
    var informational: [HTTPResponse] = []

    private init(_ kind: Kind) { self.kind = kind }

    private init(_ make: @escaping @Sendable (RecordedRequest) async throws -> Made) { kind = .afterBody(make) }

    // MARK: Responses

    /// Responds with a status, and with a text if `text` is not empty.
    public static func status(_ status: HTTPResponse.Status, headers: HTTPFields = HTTPFields(), text: String = "") -> StubResponse {
        data(Data(text.utf8), status: status, headers: headers)
    }

    /// Responds with bytes.
    public static func data(_ data: Data, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> StubResponse {
        StubResponse { _ in (HTTPResponse(status: status, headerFields: headers), .data(data)) }
    }

    /// Responds with a value as JSON, and sets `Content-Type`.
    ///
    /// ```swift
    /// Stub(.get, "/users/{id}").responds(.json(User(id: 7, joined: Date(timeIntervalSince1970: 0))))
    /// ```
    ///
    /// If the value can't be encoded, the request fails with the `EncodingError`.
    ///
    /// - Parameter coding: the rules for encoding. Pass the coding of the client. Default: ``/ErrandCore/JSONCoding/standard``,
    ///   with dates in ISO 8601.
    public static func json(
        _ value: some Encodable & Sendable, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(),
        coding: JSONCoding = .standard
    ) -> StubResponse { encoded(value, status, headers, coding) }

    /// Responds with JSON that is written as a literal, and sets `Content-Type`: `.json(["id": 7, "name": "Ada"])`.
    public static func json(
        _ value: JSONValue, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()
    ) -> StubResponse { encoded(value, status, headers, .standard) }

    private static func encoded(
        _ value: some Encodable & Sendable, _ status: HTTPResponse.Status, _ headers: HTTPFields, _ coding: JSONCoding
    ) -> StubResponse {
        StubResponse { _ in
            var head = HTTPResponse(status: status, headerFields: headers)
            if head.headerFields[.contentType] == nil { head.headerFields[.contentType] = "application/json" }
            return (head, .data(try coding.encode(value)))
        }
    }

    /// Responds with the bytes of a file. The file is read while the caller reads the body. If the file can't be opened, the
    /// request fails with a ``/ErrandCore/FileReadError``.
    public static func file(
        atPath path: String, contentType: String? = nil, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()
    ) -> StubResponse {
        StubResponse { _ in
            let body = try RequestBody.file(atPath: path)
            var head = HTTPResponse(status: status, headerFields: headers)
            if let contentType { head.headerFields[.contentType] = contentType }
            if let length = body.length { head.headerFields[.contentLength] = "\(length)" }
            return (head, .source(try await body.open()))
        }
    }

    /// Responds with a body in chunks. Each chunk is sent when the body is read. If `failure` is set, the body fails with that
    /// error after the last chunk.
    public static func stream(
        _ chunks: [Data], status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields(), failure: (any Error)? = nil
    ) -> StubResponse {
        StubResponse { _ in
            let source = ChunksBodySource(chunks, then: failure.map { .failure($0) } ?? .complete)
            return (HTTPResponse(status: status, headerFields: headers), .source(source))
        }
    }

    // MARK: Failures of the network

    /// Fails with the code `notConnected`, as if there were no network. The request is not sent.
    public static let offline = failing(.notConnected, phase: .connect, "no network (simulated by the stub)", .notSent)
    /// Fails with the code `cannotFindHost`, as if the host name were unknown. The request is not sent.
    public static let hostNotFound = failing(.cannotFindHost, phase: .connect, "no such host (simulated by the stub)", .notSent)
    /// Fails with the code `cannotConnect`, as if the server refused the connection. The request is not sent.
    public static let connectionRefused = failing(.cannotConnect, phase: .connect, "connection refused (simulated by the stub)", .notSent)
    /// Fails with the code `connectionLost`, as if the connection broke off before the response. The request may have been sent.
    ///
    /// For a connection that breaks off within the body, see ``breaking(afterBytes:with:)``.
    public static let connectionLost = failing(.connectionLost, phase: .response, "broken off by the stub", .unknown)
    /// Fails immediately with the code `timedOut`, as if a timeout had passed. The request may have been sent. For a request
    /// that really waits, see ``never``.
    public static let timedOut = failing(.timedOut, phase: .response, "by the stub", .unknown)
    /// Fails with the code `tls`, as if the server's certificate were not trusted. The request is not sent.
    public static let untrustedCertificate = failing(
        .tls, phase: .connect, "the certificate is not trusted (simulated by the stub)", .notSent)

    private static func failing(
        _ code: TransportError.Code, phase: ExchangePhase, _ message: String, _ delivery: Delivery
    ) -> StubResponse {
        StubResponse { throw TransportError(code, phase: phase, message: message, request: $0.request, delivery: delivery) }
    }

    /// Throws an error instead of a response. For failures of the network, see the responses from ``offline`` to
    /// ``untrustedCertificate``.
    public static func failure(_ error: any Error) -> StubResponse { StubResponse { _ in throw error } }

    /// Responds with a redirect to `location`, a URL or a relative reference
    /// ([RFC 9110, section 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)).
    public static func redirect(to location: String, status: HTTPResponse.Status = .found) -> StubResponse {
        .status(status, headers: [.location: location])
    }

    /// Responds with the request's body, `Content-Type` and trailers. Each chunk is returned when the chunk has arrived.
    public static let echo = streaming { request, body in
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = request.headers[.contentType]
        return (head, body)
    }

    /// Sends no response: the request waits until the caller is cancelled or the deadline passes.
    public static let never = StubResponse { _ in
        try await untilCancelled()
    }

    /// Responds with a head and a body that a closure makes from the request.
    public static func custom(
        _ respond: @escaping @Sendable (RecordedRequest) async throws -> (head: HTTPResponse, body: Data)
    ) -> StubResponse {
        StubResponse { request in
            let (head, body) = try await respond(request)
            return (head, .data(body))
        }
    }

    /// Responds with a head and a body from a closure. The closure can read the request's body while that body arrives.
    ///
    /// The request and the response can be open at the same time. The closure is called before the request's body is read. The returned
    /// source may read the source of the request's body. When the response's body is read to its end or abandoned, both sources are
    /// released.
    public static func streaming(
        _ respond: @escaping @Sendable (RecordedRequest, any BodySource) async throws -> (head: HTTPResponse, body: any BodySource)
    ) -> StubResponse {
        StubResponse(
            .atOnce { request, incoming in
                let (head, body) = try await respond(request, incoming)
                return (head, .source(body))
            })
    }

    /// Passes the request to another sender, such as a real transport, and returns that sender's response.
    public static func passThrough(to sender: some HTTPSender) -> StubResponse { StubResponse(.passThrough(sender)) }

    /// Writes these bytes to the connection, including the status line, and then closes the connection. Use this response only with a mock
    /// server. With a ``StubTransport``, which has no connection, the request fails with the code `unsupported`.
    public static func raw(_ bytes: Data) -> StubResponse { StubResponse { _ in (HTTPResponse(status: .ok), .raw(bytes)) } }

    /// Writes this text to the connection. See ``raw(_:)-(Data)``.
    public static func raw(_ text: String) -> StubResponse { raw(Data(text.utf8)) }

    // MARK: Changes of a response

    /// Returns this response with a delay before its head. The delay must be at least zero. Several delays add up.
    public func delayed(by delay: Duration) -> StubResponse {
        precondition(delay >= .zero, "delay must be at least zero (is \(delay.inWords))")
        return changed { $0.delay = $0.delay.cappedSum(delay) }
    }

    /// Returns this response over a simulated network. The latency is added to the delay.
    public func over(_ conditions: NetworkConditions) -> StubResponse { changed { $0.conditions = conditions } }

    /// Returns this response with a body that fails after its first `count` bytes. `count` must be at least 0.
    ///
    /// - Parameter failure: the error of the body. `nil`, the default, means a ``/ErrandCore/TransportError`` with the code
    ///   `connectionLost`. If the error is a ``/ErrandCore/RequestFailure`` without a request, the request is added to the error.
    public func breaking(afterBytes count: Int, with failure: (any Error)? = nil) -> StubResponse {
        precondition(count >= 0, "afterBytes must be at least 0 (is \(count))")
        let failure =
            failure ?? TransportError(.connectionLost, phase: .body, message: "broken off by the stub", request: nil, delivery: .sent)
        return changed { $0.breaking = (count, failure) }
    }

    /// Returns this response with trailer fields after its body
    /// ([RFC 9110, section 6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public func trailers(_ trailers: HTTPFields) -> StubResponse { changed { $0.trailers = trailers } }

    /// Returns this response, preceded by informational responses (1xx,
    /// [RFC 9110, section 15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)). The informational responses are reported as events.
    public func informing(_ heads: HTTPResponse...) -> StubResponse { changed { $0.informational += heads } }

    private func changed(_ change: (inout StubResponse) -> Void) -> StubResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
