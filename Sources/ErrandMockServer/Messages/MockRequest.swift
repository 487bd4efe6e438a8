#if MockServer
public import ErrandCore

/// A request as a ``MockServer`` received it.
///
/// Connections are numbered from 0, in the order in which the server accepted the connections. Exchanges are numbered from 0 on
/// each connection. Two requests with the same `connectionIndex` have shared a connection.
public struct MockRequest: Sendable, CustomStringConvertible, HidesStorage {
    /// The method, scheme, authority, path and fields. The fields do not contain `Host`, because its value is the authority.
    public let head: HTTPRequest
    /// The bytes of the body that were received, at most the first 16 MiB.
    public internal(set) var body = Data()
    /// The size of the whole body, even if ``body`` has only its first part.
    public internal(set) var bodyBytes = 0
    /// The trailer fields; `nil` if there are none.
    public internal(set) var trailers: HTTPFields?
    /// The HTTP version.
    public let httpVersion: HTTPVersion
    /// The number of the connection, from 0.
    public let connectionIndex: Int
    /// The number of the exchange on its connection, from 0.
    public let exchangeIndex: Int
    /// The server name that the client sent in TLS (SNI, [RFC 6066, section 3](https://www.rfc-editor.org/rfc/rfc6066#section-3)).
    /// `nil` if the connection does not use TLS, or if the client connected to an IP address.
    public let serverName: String?
    /// The protocol that TLS negotiated (ALPN, [RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)): `h2` or `http/1.1`. `nil`
    /// if the connection does not use TLS, or if the client named no protocol.
    public let negotiatedProtocol: String?
    /// The reason why the request is incomplete; `nil` if the request was received completely.
    public internal(set) var failure: String?

    /// The method.
    public var method: HTTPRequest.Method { head.method }
    /// The path, percent-encoded, without the query. `head.path` has the path with the query.
    public var path: String { head.pathWithoutQuery }
    /// The header fields.
    public var headers: HTTPFields { head.headerFields }

    /// The body as JSON.
    ///
    /// - Parameters:
    ///   - type: the type of the value. For a body of any shape, pass `JSONValue.self`.
    ///   - coding: the rules for decoding. Pass the coding of the client. Default: ``/ErrandCore/JSONCoding/standard``.
    /// - Throws: `DecodingError`.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: body)
    }

    /// The method, path, version and connection. The fields, the query and the body are not shown.
    public var description: String {
        "\(method.rawValue) \(path) (\(httpVersion), connection \(connectionIndex), exchange \(exchangeIndex))"
            + (failure.map { ": \($0)" } ?? "")
    }
}

/// A request for a dispatcher. The head was received. The body may not be received completely yet.
public struct IncomingRequest: Sendable, CustomStringConvertible, HidesStorage {
    let request: MockRequest
    let incoming: IncomingBody

    /// The method, scheme, authority, path and fields. The fields do not contain `Host`, because its value is the authority.
    public var head: HTTPRequest { request.head }
    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The path, percent-encoded, without the query. `head.path` has the path with the query.
    public var path: String { request.path }
    /// The header fields.
    public var headers: HTTPFields { request.headers }
    /// The HTTP version.
    public var httpVersion: HTTPVersion { request.httpVersion }
    /// The number of the connection, from 0.
    public var connectionIndex: Int { request.connectionIndex }
    /// The number of the exchange on its connection, from 0.
    public var exchangeIndex: Int { request.exchangeIndex }
    /// The server name that the client sent in TLS. See ``MockRequest/serverName``.
    public var serverName: String? { request.serverName }
    /// The protocol that TLS negotiated. See ``MockRequest/negotiatedProtocol``.
    public var negotiatedProtocol: String? { request.negotiatedProtocol }

    /// The body, which is received while it is read. The body can be read only once. If the client waits for `100 Continue`, the first read
    /// sends this response. If the dispatcher does not read the whole body, the server reads the rest.
    public var source: any BodySource { incoming }

    /// Reads and returns the whole body.
    ///
    /// - Parameter limitBytes: the largest size of the body. A larger body is refused. Default: 16 MiB.
    /// - Throws: ``BrokenRequestError`` if the client does not send the whole body, or if the body is longer than `limitBytes`.
    public func body(upTo limitBytes: Int = 16 * 1024 * 1024) async throws -> Data {
        var all = Data()
        while let chunk = try await incoming.next() {
            all.append(chunk)
            guard all.count <= limitBytes else { throw BrokenRequestError("a body of more than \(limitBytes.counted("byte"))") }
        }
        return all
    }

    /// Sends an informational response (1xx) now. ``MockResponse/informational`` sends such a response only after the whole request was
    /// read.
    ///
    /// ```swift
    /// server.dispatch { request in
    ///     try await request.inform(HTTPResponse(status: .init(code: 103, reasonPhrase: "Early Hints")))
    ///     return .data(try await request.body())
    /// }
    /// ```
    ///
    /// - Parameter head: a head whose status is from 100 to 199, but not 101.
    /// - Throws: the error of the connection.
    public func inform(_ head: HTTPResponse) async throws {
        let code = head.status.code
        precondition((100..<200).contains(code) && code != 101, "head must have a status from 100 to 199, but not 101 (is \(code))")
        try await incoming.inform(head)
    }

    /// The method, path, version and connection. The fields, the query and the body are not shown.
    public var description: String { request.description }
}

/// The error for an incomplete request.
public struct BrokenRequestError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The missing part, or the exceeded limit.
    public let description: String
    public var failureNumber: FailureNumber { .brokenRequest }
    /// The missing part, or the exceeded limit.
    public var failureReason: String? { SafeText.sentence(description) }
    init(_ description: String) { self.description = description }
}
#endif
