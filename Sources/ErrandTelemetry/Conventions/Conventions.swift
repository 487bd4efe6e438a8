#if Telemetry
internal import ErrandCore

/// The names in OpenTelemetry's conventions for HTTP clients, which are the same in logs, spans and metrics.
enum Conventions {
    /// The methods of [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110), and PATCH ([RFC 5789](https://www.rfc-editor.org/rfc/rfc5789)).
    static let knownMethods: Set<HTTPRequest.Method> = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .trace]

    /// `http.request.method`. An unknown method is `_OTHER`, so that the number of values is limited.
    static func method(_ method: HTTPRequest.Method, isKnown: Bool) -> String { isKnown ? method.rawValue : "_OTHER" }

    /// The name of a span: `GET /users/{id}`, or `GET` without a template. Never the path.
    static func spanName(of request: Request, isKnownMethod: Bool) -> String {
        let method = isKnownMethod ? request.method.rawValue : "HTTP"
        guard let template = request.options.urlTemplate, !template.isEmpty else { return method }
        return "\(method) \(template)"
    }

    /// `error.type` of a response: the number of a status that the request's own rule refuses, or of a status from 400 if there is no rule.
    static func errorType(of response: Response, to request: Request) -> String? {
        let status = response.head.status
        return request.accepts(response) ?? (status.code < 400) ? nil : "\(status.code)"
    }

    /// `error.type` of a failure: one of few values, none of which a server can choose.
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

    /// Whether an attempt ended because its caller cancelled it, whatever error the inner layers throw.
    static func isCancellation(_ error: any Error) -> Bool { error is CancellationError || Task.isCancelled }

    /// The request's tags as attributes, without secrets.
    static func tags(of request: Request) -> [(name: String, value: String)] {
        request.shownTags.map { ("errand.tag.\($0.key)", $0.value) }
    }
}

extension ExchangeLifetime.Outcome {
    var isComplete: Bool {
        if case .complete = self { true } else { false }
    }
}

extension Conventions {
    /// The server of a request; `nil` if its authority or its scheme is missing or invalid. Credentials in the authority, which the
    /// transport's boundary refuses, are removed.
    static func server(of request: Request) -> Origin? {
        if let origin = request.origin { return origin }
        guard var bare = request.head.authority, let at = bare.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        bare.removeSubrange(...at)
        return Request(head: HTTPRequest(method: request.method, scheme: request.head.scheme, authority: bare, path: nil)).origin
    }

    /// `server.address`: a name, or an address without brackets.
    static func address(of server: Origin) -> String {
        server.host.utf8.first == UInt8(ascii: "[") ? String(server.host.dropFirst().dropLast()) : server.host
    }
}
#endif
