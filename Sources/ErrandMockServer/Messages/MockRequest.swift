#if MockServer
public import ErrandCore

/// A request as a ``MockServer`` received it.
///
/// Connections are numbered from 0 in the order in which they were accepted, exchanges from 0 on their connection: two requests
/// with the same `connectionIndex` shared a connection.
public struct MockRequest: Sendable, CustomStringConvertible {
    /// Method, scheme, authority and path, with the fields; `Host` is the authority.
    public let head: HTTPRequest
    /// The body, as far as it came; at most the first 16 MiB of it.
    public internal(set) var body = Data()
    /// Of the whole body, also beyond what ``body`` keeps.
    public internal(set) var bodyBytes = 0
    /// Nil where there were none.
    public internal(set) var trailers: HTTPFields?
    /// `1.0`, `1.1` or `2`.
    public let httpVersion: String
    public let connectionIndex: Int
    public let exchangeIndex: Int
    /// The name that the client asked for in TLS (SNI, RFC 6066, 3); nil without TLS, and for addresses.
    public let serverName: String?
    /// What TLS agreed on (ALPN, RFC 7301): `h2` or `http/1.1`; nil without TLS, and where the client named none.
    public let negotiatedProtocol: String?
    /// Why it was not received whole; nil if it was.
    public internal(set) var failure: String?

    public var method: HTTPRequest.Method { head.method }
    /// The path, percent-encoded, without the query.
    public var path: String { String((head.path ?? "").prefix { $0 != "?" }) }
    public var headers: HTTPFields { head.headerFields }

    /// The body as JSON.
    public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value { try JSONDecoder().decode(type, from: body) }

    /// Method, path and place; no field, no query and no body.
    public var description: String {
        "\(method.rawValue) \(path) (HTTP/\(httpVersion), connection \(connectionIndex), exchange \(exchangeIndex))"
            + (failure.map { ": \($0)" } ?? "")
    }
}

extension MockRequest: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// A request whose head has come, as a dispatcher sees it; its body may still be on its way.
public struct IncomingRequest: Sendable, CustomStringConvertible {
    let request: MockRequest
    let incoming: IncomingBody

    public var head: HTTPRequest { request.head }
    public var method: HTTPRequest.Method { request.method }
    /// The path, percent-encoded, without the query.
    public var path: String { request.path }
    public var headers: HTTPFields { request.headers }
    public var httpVersion: String { request.httpVersion }
    public var connectionIndex: Int { request.connectionIndex }
    public var exchangeIndex: Int { request.exchangeIndex }
    public var serverName: String? { request.serverName }
    public var negotiatedProtocol: String? { request.negotiatedProtocol }

    /// The body as it comes, to be read once; a client that waits for `100 Continue` is sent one when it is first read.
    /// What is not read here is read by the server.
    public var source: any BodySource { incoming }

    /// The whole body.
    ///
    /// - Throws: ``BrokenRequestError`` where the client breaks it off, or where it is longer than `limitBytes`.
    public func body(upTo limitBytes: Int = 16 * 1024 * 1024) async throws -> Data {
        var all = Data()
        while let chunk = try await incoming.next() {
            all.append(chunk)
            guard all.count <= limitBytes else { throw BrokenRequestError("a body of more than \(limitBytes) bytes") }
        }
        return all
    }

    public var description: String { request.description }
}

extension IncomingRequest: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// A request did not come whole.
public struct BrokenRequestError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
#endif
