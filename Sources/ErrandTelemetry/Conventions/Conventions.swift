#if Telemetry
internal import ErrandCore

/// How OpenTelemetry's conventions for HTTP clients name things: the same in logs, spans and metrics.
enum Conventions {
    /// RFC 9110's methods and PATCH (RFC 5789).
    static let knownMethods: Set<HTTPRequest.Method> = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .trace]

    /// `http.request.method`: an unknown one is `_OTHER`, of which there can't be too many.
    static func method(_ method: HTTPRequest.Method, isKnown: Bool) -> String { isKnown ? method.rawValue : "_OTHER" }

    /// A span's name: `GET /users/{id}`, or `GET` where there is no template. Never the path.
    static func spanName(of request: Request, isKnownMethod: Bool) -> String {
        let method = isKnownMethod ? request.method.rawValue : "HTTP"
        guard let template = request.options.urlTemplate, !template.isEmpty else { return method }
        return "\(method) \(template)"
    }

    /// `error.type` of a status: its number from 400 up, for a client.
    static func errorType(of status: HTTPResponse.Status) -> String? { status.code >= 400 ? "\(status.code)" : nil }

    /// `error.type` of a failure: few values, and none that a server can choose.
    static func errorType(of error: any Error) -> String {
        switch error {
        case let error as TransportError where error.code == .timedOut: "timeout"
        case let error as TransportError: snakeCase(error.code.description)
        case let error as StatusError: "\(error.status.code)"
        default: "\(type(of: error))"
        }
    }

    private static func snakeCase(_ text: String) -> String {
        String(text.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }

    /// Whether an attempt ended because its caller left, however the layers below put it.
    static func isCancellation(_ error: any Error) -> Bool { error is CancellationError || Task.isCancelled }

    /// The request's tags as attributes, without secrets.
    static func tags(of request: Request) -> [(name: String, value: String)] {
        request.shownTags.map { ("errand.tag.\($0.key)", $0.value) }
    }
}

/// `server.address` and `server.port`: whom a request is for.
struct ServerAddress {
    /// A name, or an address without brackets.
    let host: String
    /// The one that is named, or the scheme's own; nil where neither is there.
    let port: Int?

    /// Nil where the request has no authority.
    init?(_ head: HTTPRequest) {
        guard let authority = head.authority else { return nil }
        self.init(authority, scheme: head.scheme)
    }

    init(_ authority: String, scheme: String?) {
        // The usual: a name alone.
        guard authority.utf8.contains(where: { ":@[".utf8.contains($0) }) else {
            (host, port) = (authority, Self.port(of: scheme))
            return
        }
        var rest = authority[...]
        // Credentials are none of a host's.
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.utf8.index(after: at)...] }
        let isBracketed = rest.utf8.first == UInt8(ascii: "[")
        let end =
            isBracketed
            ? rest.utf8.firstIndex(of: UInt8(ascii: "]")) ?? rest.endIndex : rest.utf8.lastIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
        host = String(isBracketed ? rest[..<end].dropFirst() : rest[..<end])
        let behind = rest[end...].drop { $0 == "]" }
        let named = behind.utf8.first == UInt8(ascii: ":") ? Int(behind.dropFirst()) : nil
        port = named ?? Self.port(of: scheme)
    }

    private static func port(of scheme: String?) -> Int? {
        switch scheme {
        case "https": 443
        case "http": 80
        default: nil
        }
    }
}
#endif
