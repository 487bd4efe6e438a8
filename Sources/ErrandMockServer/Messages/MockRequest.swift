#if MockServer
public import ErrandCore

/// A request as a ``MockServer`` received it.
///
/// Connections are numbered from 0 in the order in which they were accepted, exchanges from 0 on their connection: two requests
/// with the same `connectionIndex` shared a connection.
public struct MockRequest: Sendable, CustomStringConvertible, HidesStorage {
    /// Method, scheme, authority and path, with the fields; `Host` is the authority.
    public let head: HTTPRequest
    /// The bytes of the body that were received, at most the first 16 MiB.
    public internal(set) var body = Data()
    /// The size of the whole body, also beyond what ``body`` keeps.
    public internal(set) var bodyBytes = 0
    /// The trailer fields; `nil` without any.
    public internal(set) var trailers: HTTPFields?
    /// `1.0`, `1.1` or `2`.
    public let httpVersion: String
    /// The number of the connection, from 0.
    public let connectionIndex: Int
    /// The number of the exchange on its connection, from 0.
    public let exchangeIndex: Int
    /// The name that the client asked for in TLS (SNI, [RFC 6066, section 3](https://www.rfc-editor.org/rfc/rfc6066#section-3)); `nil` without TLS, and
    /// for an IP address.
    public let serverName: String?
    /// The protocol that TLS negotiated (ALPN, [RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)): `h2` or `http/1.1`; `nil` without TLS, and if the client
    /// named none.
    public let negotiatedProtocol: String?
    /// Why the request was not received whole; `nil` if it was.
    public internal(set) var failure: String?

    /// The method.
    public var method: HTTPRequest.Method { head.method }
    /// The path, percent-encoded, without the query. `head.path` has both.
    public var path: String { head.pathWithoutQuery }
    /// The header fields.
    public var headers: HTTPFields { head.headerFields }

    /// The body as JSON.
    ///
    /// - Parameters:
    ///   - type: `JSONValue.self` for a body of any shape.
    ///   - coding: ``/ErrandCore/JSONCoding/standard`` by default, as a client has. Pass the client's own if it has another.
    /// - Throws: `DecodingError`.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding = .standard) throws -> Value {
        try coding.decode(type, from: body)
    }

    /// Method, path, version and connection; no field, no query and no body.
    public var description: String {
        "\(method.rawValue) \(path) (HTTP/\(httpVersion), connection \(connectionIndex), exchange \(exchangeIndex))"
            + (failure.map { ": \($0)" } ?? "")
    }
}

/// A request whose head was received, for a dispatcher. Its body may still be in transit.
public struct IncomingRequest: Sendable, CustomStringConvertible, HidesStorage {
    let request: MockRequest
    let incoming: IncomingBody

    /// Method, scheme, authority and path, with the fields; `Host` is the authority.
    public var head: HTTPRequest { request.head }
    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The path, percent-encoded, without the query. `head.path` has both.
    public var path: String { request.path }
    /// The header fields.
    public var headers: HTTPFields { request.headers }
    /// `1.0`, `1.1` or `2`.
    public var httpVersion: String { request.httpVersion }
    /// The number of the connection, from 0.
    public var connectionIndex: Int { request.connectionIndex }
    /// The number of the exchange on its connection, from 0.
    public var exchangeIndex: Int { request.exchangeIndex }
    /// See ``MockRequest/serverName``.
    public var serverName: String? { request.serverName }
    /// See ``MockRequest/negotiatedProtocol``.
    public var negotiatedProtocol: String? { request.negotiatedProtocol }

    /// The body as it is received, to be read once. The first read sends `100 Continue` to a client that waits for it.
    /// The server reads what the dispatcher does not.
    public var source: any BodySource { incoming }

    /// The whole body.
    ///
    /// - Parameter limitBytes: the size above which the body is refused: 16 MiB by default.
    /// - Throws: ``BrokenRequestError`` if the client breaks the body off, or if it is longer than `limitBytes`.
    public func body(upTo limitBytes: Int = 16 * 1024 * 1024) async throws -> Data {
        var all = Data()
        while let chunk = try await incoming.next() {
            all.append(chunk)
            guard all.count <= limitBytes else { throw BrokenRequestError("a body of more than \(limitBytes) bytes") }
        }
        return all
    }

    /// Method, path, version and connection; no field, no query and no body.
    public var description: String { request.description }
}

/// A request that was not received whole.
public struct BrokenRequestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is missing, or over the limit.
    public let description: String
    init(_ description: String) { self.description = description }
}
#endif
