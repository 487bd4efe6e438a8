#if Telemetry
internal import ErrandCore

/// The names that OpenTelemetry's conventions for HTTP clients define for logs, spans and metrics.
enum Conventions {
    /// The methods of [RFC 9110, section 9](https://www.rfc-editor.org/rfc/rfc9110#section-9), and PATCH
    /// ([RFC 5789](https://www.rfc-editor.org/rfc/rfc5789)).
    static let knownMethods: Set<HTTPRequest.Method> = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .trace]

    /// Returns the value of `http.request.method`. For an unknown method, the value is `_OTHER`, which limits the number of values.
    static func method(_ method: HTTPRequest.Method, isKnown: Bool) -> String { isKnown ? method.rawValue : "_OTHER" }

    /// Returns a span's name: `GET /users/{id}`, or `GET` without a template. For an unknown method, the name has `HTTP` in place of the
    /// method. The name never contains the path.
    static func spanName(of request: Request, isKnownMethod: Bool) -> String {
        let method = isKnownMethod ? request.method.rawValue : "HTTP"
        guard let template = request.options.urlTemplate, !template.isEmpty else { return method }
        return "\(method) \(template)"
    }

    /// Returns `error.type` of a call: the type of its failure, or the status code of a refused response. `nil` if the call succeeded or
    /// was cancelled.
    static func errorType(of outcome: CallOutcome) -> String? {
        if let failure = outcome.failure, !outcome.isCancelled { return errorType(of: failure) }
        return outcome.refusal == nil ? nil : outcome.response.map { "\($0.head.status.code)" }
    }

    /// Returns `error.type` of a failure. The number of values is small, and a server can't choose a value.
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

    /// Returns the request's tags as attributes, without secrets.
    static func tags(of request: Request) -> [(name: String, value: String)] {
        request.shownTags.map { ("errand.tag.\($0.key)", $0.value) }
    }
}

extension Conventions {
    /// Returns the server of a request; `nil` if the authority or the scheme of the request is missing or invalid. This function ignores
    /// credentials in the authority. The transport's boundary rejects a request with credentials in its authority.
    static func server(of request: Request) -> Origin? {
        if let origin = request.origin { return origin }
        guard var bare = request.head.authority, let at = bare.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        bare.removeSubrange(...at)
        return Request(head: HTTPRequest(method: request.method, scheme: request.head.scheme, authority: bare, path: nil)).origin
    }

    /// The value of `server.address`: a host name, or an IP address without brackets.
    static func address(of server: Origin) -> String {
        server.host.utf8.first == UInt8(ascii: "[") ? String(server.host.dropFirst().dropLast()) : server.host
    }
}
#endif
