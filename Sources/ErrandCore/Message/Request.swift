internal import Synchronization

/// A request: its head, its body, by when it must be over, and what it asks of the stack.
///
/// ```swift
/// var request = try Request(.get, "/users/\(id, "id")", query: ["page": 2])
/// request.headers[.accept] = "application/json"
/// let response = try await stack.send(request)
/// ```
///
/// A request with a path alone needs a `server` in the stack; there is no default authority. Descriptions and mirrors show
/// no secret.
public struct Request: Sendable {
    /// Method, scheme, authority, path and fields, as they will be sent. A `Host` and a `Content-Length` are the transport's work.
    ///
    /// Scheme, authority and path that you write are checked at the transport's boundary, which throws ``InvalidURLError``.
    public var head: HTTPRequest
    /// What is sent after the head.
    public var body: RequestBody
    /// By when the whole exchange must be over; nil means never.
    public var deadline: Deadline?
    /// What this one request asks of the middleware.
    public var options: RequestOptions
    /// Told apart from every other request of this process; the same for every attempt of one call.
    public let id: RequestID
    /// What was read of the head; see ``target``, which is `nil` where the head was written since.
    var knownTarget: RequestTarget?

    /// A request for a path below the base URL that `server` will add.
    ///
    /// - Throws: ``InvalidURLError`` if the path can't be sent as it stands, or a value empties its segment.
    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        let resolved = try path.resolved(query: query)
        self.init(
            head: HTTPRequest(method: method, scheme: nil, authority: nil, path: resolved.target, headerFields: headers), body: body)
        knownTarget = RequestTarget(checkedPath: resolved.target)
        if !path.isVerbatim { options.urlTemplate = resolved.template }
    }

    /// A request for an absolute URL.
    ///
    /// - Throws: ``InvalidURLError`` if `url` is no absolute `http` or `https` URL, or holds what must be escaped. A fragment is refused.
    public init(
        _ method: HTTPRequest.Method, url: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        self.init(method, url: try HTTPURL(url), query: query, headers: headers, body: body)
    }

    /// A request for an absolute URL.
    public init(
        _ method: HTTPRequest.Method, url: HTTPURL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) {
        let whole = RequestTarget.joinedQuery(url.query, query.isEmpty ? nil : query.encoded)
        let target = (url.path.isEmpty ? "/" : url.path) + (whole.map { "?" + $0 } ?? "")
        self.init(
            head: HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: target, headerFields: headers),
            body: body)
        knownTarget = RequestTarget(url.origin, checkedPath: target)
    }

    /// A request with a head of your own; nothing is checked before it reaches the transport's boundary.
    public init(head: HTTPRequest, body: RequestBody = .empty) {
        self.head = head
        self.body = body
        self.options = RequestOptions()
        self.id = RequestID()
    }

    public var method: HTTPRequest.Method { head.method }

    /// The header fields of the head.
    public var headers: HTTPFields {
        get { head.headerFields }
        _modify { yield &head.headerFields }
    }

    /// The absolute URL; nil while the request has no authority, or where its parts make no URL. That of `OPTIONS *` has no path.
    public var url: HTTPURL? {
        if let target { return target.url }
        guard let scheme = head.scheme, let authority = head.authority, head.hasTargetOfItsOwn,
            !authority.utf8.contains(where: AuthorityOctets.isDelimiter)
        else { return nil }
        // `OPTIONS *` asks about the server as a whole, whose URL has no path (RFC 9110, 7.1).
        let target = head.path == "*" ? "" : head.path ?? ""
        return try? HTTPURL("\(scheme)://\(authority)\(target)")
    }

    /// Scheme, host and port; `nil` while the request has no authority, or where scheme and authority are invalid. The target does not matter.
    public var origin: Origin? {
        if let target { return target.origin }
        guard let scheme = head.scheme, scheme == "https" || scheme == "http", let authority = head.authority,
            !authority.utf8.contains(where: { AuthorityOctets.isControl($0) || AuthorityOctets.isDelimiter($0) })
        else { return nil }
        return try? Origin(scheme: scheme, authority: authority, in: "")
    }

    /// The URL, or the path where there is no authority yet, without secrets: for logs and messages.
    public var redactedURL: String {
        let target = head.path ?? ""
        guard let authority = head.authority else { return options.sensitivity.redactedURL(target) }
        var url = head.scheme ?? "http"
        url.reserveCapacity(url.utf8.count + 3 + authority.utf8.count + target.utf8.count)
        url += "://"
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            url += "\(Sensitivity.urlPlaceholder):\(Sensitivity.urlPlaceholder)"
            url += authority[at...]
        } else {
            url += authority
        }
        // What is no path is not shown as a part of the host.
        if !target.isEmpty, !head.hasTargetOfItsOwn || target == "*" { url += "/" }
        url += target
        return options.sensitivity.redactedURL(url)
    }
}

extension HTTPRequest {
    /// Whether the target can't be taken for a part of the authority: it is empty, begins with `/` or `?`, or is the `*` of OPTIONS
    /// (RFC 9112, 3.2).
    package var hasTargetOfItsOwn: Bool {
        guard let path, let first = path.utf8.first else { return true }
        return first == UInt8(ascii: "/") || first == UInt8(ascii: "?") || (path == "*" && method == .options)
    }
}

/// A number that no other request of this process has; sixteen hexadecimal digits as text.
public struct RequestID: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt64

    private static let start = UInt64.random(in: .min ... .max)
    private static let count = Atomic<UInt64>(0)

    /// The next one.
    public init() {
        // An odd factor visits every number once, so that two neighbours look nothing alike in a log.
        rawValue = Self.start &+ Self.count.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
    }

    public var description: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: rawValue >> UInt64(60 - 4 * index)) & 15
                digits[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            return 16
        }
    }
}

extension Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL, without secrets.
    public var description: String { "\(method.rawValue) \(redactedURL)" }
    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "method": method.rawValue, "url": redactedURL,
                "headers": options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" },
                "body": body.description, "deadline": deadline.map(\.description) ?? "none", "id": id.description,
            ] as KeyValuePairs<String, Any>)
    }
}
