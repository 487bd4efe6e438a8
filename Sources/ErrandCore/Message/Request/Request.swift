internal import ErrandFormats
internal import Synchronization

/// A request: its head, its body, its deadline, and its options for the stack.
///
/// ```swift
/// var request = try Request(.get, "/users/\(id, "id")", query: ["page": 2])
/// request.headers[.accept] = "application/json"
/// request.headers[.custom("X-Tenant")] = "blue"
/// request.query.set("page", 3)
/// let response = try await stack.send(request)
/// ```
///
/// A request with only a path needs a `server` in the stack, because there is no default authority. Descriptions and mirrors show
/// no secret.
public struct Request: Sendable {
    /// The method, scheme, authority, path and fields, as they will be sent. The transport adds the fields of HTTP/1.1 that frame a
    /// message, such as `Host` and `Content-Length`.
    ///
    /// If you write the scheme, the authority or the path, the head is checked just before the request reaches the transport. An
    /// invalid head throws ``InvalidURLError``.
    public var head: HTTPRequest
    /// The body, which is sent after the head.
    ///
    /// If the head has no `Content-Type`, the head takes the media type of the body, such as the type of a `.json(_:)` body. If the
    /// body is replaced by a body with another type, the head takes the other type. A `Content-Type` that you set stays unchanged.
    public var body: RequestBody { didSet { takeContentType(replacing: oldValue.contentType) } }
    /// The instant by which the whole call must end, including the body of the response; `nil` means no deadline.
    public var deadline: Deadline? { didSet { options.callStamp &+= 1 } }
    /// The options of this request for the middleware and the transport.
    public var options: RequestOptions
    /// The identity of the call: unique in this process, and the same for every attempt.
    public let id: RequestID
    /// The target that was last parsed from the head. If the head was written later, ``target`` is `nil`.
    var knownTarget: RequestTarget?

    /// Creates a request for a path below the base URL that `server` adds.
    ///
    /// ```swift
    /// try Request(.get, "/users/\(id, "id")/posts", query: ["page": 2])
    /// try Request(.get, PathTemplate(verbatim: path))      // a whole path that stands in a variable
    /// ```
    ///
    /// - Parameter path: a path, or a whole URL from ``PathTemplate/url(_:)-(URL)``.
    /// - Throws: ``InvalidURLError`` in the cases of ``PathTemplate/resolved(query:)``, for example if a value leaves its segment empty, or
    ///   if a whole path was interpolated (`"\(path)"`).
    public init(
        _ method: HTTPRequest.Method, _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        if let url = path.urlText {
            try self.init(method, url: url, query: query, headers: headers, body: body)
            return
        }
        let resolved = try path.resolved(query: query)
        self.init(
            head: HTTPRequest(method: method, scheme: nil, authority: nil, path: resolved.target, headerFields: headers), body: body)
        knownTarget = RequestTarget(checkedPath: resolved.target)
        if !path.isVerbatim { options.urlTemplate = resolved.template }
    }

    /// Creates a request for an absolute URL, given as text.
    ///
    /// - Parameter query: appended to the query of `url`.
    /// - Throws: ``InvalidURLError`` in the cases of ``HTTPURL/init(_:)-(String)``, for example if `url` has no scheme, has a fragment, or
    ///   contains characters that must be percent-encoded. ``init(_:pastedURL:query:headers:body:)`` encodes such characters.
    public init(
        _ method: HTTPRequest.Method, url: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        self.init(method, url: try HTTPURL(url), query: query, headers: headers, body: body)
    }

    /// Creates a request for an absolute URL of Foundation. The fragment of the URL is never sent.
    ///
    /// - Parameter query: appended to the query of `url`.
    /// - Throws: ``InvalidURLError`` if `url` is not an absolute `http` or `https` URL, or has credentials.
    public init(
        _ method: HTTPRequest.Method, url: URL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        self.init(method, url: try HTTPURL(url), query: query, headers: headers, body: body)
    }

    /// Creates a request for a URL that a person pasted or typed. The path and the query of the URL are percent-encoded, and the fragment
    /// is dropped.
    ///
    /// ```swift
    /// try Request(.get, pastedURL: "https://a.example/straße?q=ä b")
    /// // GET https://a.example/stra%C3%9Fe?q=%C3%A4%20b
    /// ```
    ///
    /// - Parameters:
    ///   - text: the URL, which ``HTTPURL/init(pasted:)`` parses. A missing scheme is not added.
    ///   - query: appended to the query of the URL.
    /// - Throws: ``InvalidURLError`` in the cases of ``HTTPURL/init(pasted:)``, for example if the text is not an `http` or `https` URL.
    public init(
        _ method: HTTPRequest.Method, pastedURL text: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        self.init(method, url: try HTTPURL(pasted: text), query: query, headers: headers, body: body)
    }

    /// Creates a request for an absolute URL that is already parsed.
    ///
    /// - Parameter query: appended to the query of `url`.
    public init(
        _ method: HTTPRequest.Method, url: HTTPURL, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) {
        let added = query.encoded
        let whole = RequestTarget.joinedQuery(url.query, query.isEmpty ? nil : added)
        let target = (url.path.isEmpty ? "/" : url.path) + (whole.map { "?" + $0 } ?? "")
        self.init(
            head: HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: target, headerFields: headers),
            body: body)
        // A query that the caller has percent-encoded may be invalid. If the query is invalid, the target is checked just before the
        // request reaches the transport.
        if PercentEncoding.firstInvalidByte(in: added, allowing: .query) == nil {
            knownTarget = RequestTarget(url.origin, checkedPath: target)
        }
    }

    /// Not available. If the path is in a variable, write `PathTemplate(verbatim: path)`.
    @available(*, unavailable, message: "write PathTemplate(verbatim: path) for a path in a variable, or url: for a whole URL")
    @_disfavoredOverload
    public init(
        _ method: HTTPRequest.Method, _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        body: RequestBody = .empty
    ) throws(InvalidURLError) {
        try self.init(method, PathTemplate(verbatim: path), query: query, headers: headers, body: body)
    }

    /// Creates a request with your own head. The head is checked just before the request reaches the transport. An invalid head
    /// throws ``InvalidURLError``.
    public init(head: HTTPRequest, body: RequestBody = .empty) {
        self.head = head
        self.body = body
        self.options = RequestOptions()
        self.id = RequestID()
        takeContentType(replacing: nil)
    }

    /// Copies the media type of the body to the head.
    ///
    /// - Parameter old: the type of the earlier body. If the head has another `Content-Type`, the field stays unchanged.
    private mutating func takeContentType(replacing old: String?) {
        guard let type = body.contentType, head.headerFields[.contentType] == old else { return }
        head.headerFields[.contentType] = type
    }

    /// Throws an error if the media type of the body is invalid. The head does not show that the type is invalid: spaces replace the
    /// invalid octets in its `Content-Type`.
    ///
    /// - Throws: ``InvalidFieldError``. If the head has another `Content-Type`, throws no error.
    @inline(never) func checkContentType(_ type: String) throws(InvalidFieldError) {
        guard head.headerFields[.contentType] == HTTPField(name: .contentType, value: type).value else { return }
        try InvalidFieldError.check(type, of: .contentType)
    }

    /// The method of the head.
    public var method: HTTPRequest.Method { head.method }

    /// The header fields of the head.
    public var headers: HTTPFields {
        get { head.headerFields }
        _modify { yield &head.headerFields }
    }

    /// The absolute URL; `nil` while the request has no authority, or if the parts don't form a valid URL. The URL of `OPTIONS *`
    /// has no path.
    public var url: HTTPURL? {
        if let target { return target.url }
        guard let scheme = head.scheme, let authority = head.authority, head.hasTargetOfItsOwn,
            !authority.utf8.contains(where: \.isAuthorityDelimiter)
        else { return nil }
        // `OPTIONS *` asks about the server as a whole, whose URL has no path (RFC 9110, 7.1).
        let target = head.path.isExactly("*") ? "" : head.path ?? ""
        return try? HTTPURL("\(scheme)://\(authority)\(target)")
    }

    /// The scheme, host and port; `nil` while the request has no authority, or if the scheme or the authority is invalid. The
    /// value does not depend on the path.
    public var origin: Origin? {
        if let target { return target.origin }
        guard let scheme = head.scheme, scheme.isExactly("https") || scheme.isExactly("http"), let authority = head.authority,
            !authority.utf8.contains(where: { $0.isSpaceOrControl || $0.isAuthorityDelimiter })
        else { return nil }
        return try? Origin(scheme: scheme, authority: authority, in: "")
    }

    /// The URL without secrets, for logs and messages; only the path while the request has no authority.
    public var redactedURL: String {
        let target = head.path ?? ""
        guard let authority = head.authority else { return options.sensitivity.redactedURL(target) }
        var url = head.scheme ?? "http"
        url.reserveCapacity(url.utf8.count + 3 + authority.utf8.count + target.utf8.count)
        url += "://"
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            url += Sensitivity.userInfoPlaceholder
            url += authority[at...]
        } else {
            url += authority
        }
        // If the target is not a path, it must not look like a part of the host.
        if !target.isEmpty, !head.hasTargetOfItsOwn || target.isExactly("*") { url += "/" }
        url += target
        return options.sensitivity.redactedURL(url)
    }
}

extension HTTPRequest {
    /// Whether the target is clearly separate from the authority: the target is empty, begins with `/` or `?`, or is the `*` of
    /// OPTIONS ([RFC 9112, section 3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)).
    package var hasTargetOfItsOwn: Bool {
        guard let path, let first = path.utf8.first else { return true }
        return first == UInt8(ascii: "/") || first == UInt8(ascii: "?") || (path.isExactly("*") && method == .options)
    }
}

/// A number that no other request of this process has.
public struct RequestID: Sendable, Hashable, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt64

    private static let start = UInt64.random(in: .min ... .max)
    private static let count = Atomic<UInt64>(0)

    /// Creates an identifier that no other request of this process has.
    public init() {
        // With an odd factor, the sequence contains every number once, and successive identifiers look different in a log.
        rawValue = Self.start &+ Self.count.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
    }

    /// Sixteen hexadecimal digits.
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

extension Request: CustomStringConvertible, CustomDebugStringConvertible, HidesStorage {
    /// The method and the URL, without secrets.
    public var description: String { "\(method.rawValue) \(redactedURL)" }
    /// The description.
    public var debugDescription: String { description }

    /// The method, URL, fields, body and deadline, without secrets.
    package var shownFields: KeyValuePairs<String, Any> {
        [
            "method": method.rawValue, "url": redactedURL,
            "headers": options.sensitivity.shown(head.headerFields).map { "\($0.name): \($0.value)" },
            "body": body.description, "deadline": deadline.map(\.description) ?? "none", "id": id.description,
        ]
    }
}
