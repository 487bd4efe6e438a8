/// An absolute `http` or `https` URL, in the form in which it is sent.
///
/// Path and query keep their escapes exactly as written. Scheme and host are in lower case. There are no credentials and no fragment
/// ([RFC 9110, section 4.2](https://www.rfc-editor.org/rfc/rfc9110#section-4.2)).
///
/// ```swift
/// let base = try HTTPURL("https://api.example/v1?key=k")
/// try base.joined(with: "/users?page=2").description   // https://api.example/v1/users?key=k&page=2
/// ```
///
/// Three initializers read a URL: ``init(_:)-(String)`` takes text that is a valid URL already and repairs nothing, ``init(_:)-(URL)`` takes
/// Foundation's `URL`, and ``init(pasted:)`` escapes what a person pasted or typed.
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host and port: what credentials and connections belong to
    /// ([RFC 9110, section 4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
    public let origin: Origin
    /// The path, percent-encoded, with its leading slash; empty only where the text had no path.
    public let path: String
    /// The query, percent-encoded, without its question mark; `nil` if there is none.
    public let query: String?

    /// Reads an absolute URL. Nothing is repaired.
    ///
    /// - Throws: ``InvalidURLError`` for another scheme, a missing host, credentials, a fragment, a port outside 1…65535, an octet that must be
    ///   percent-encoded, and more than 65,535 octets.
    public init(_ text: String) throws(InvalidURLError) {
        if let plain = PlainURL(text) {
            self.init(plain, text)
            return
        }
        let reference = try URLReference(text)
        guard reference.fragment == nil else { throw InvalidURLError(text, .fragment) }
        try self.init(checked: reference, text: text)
    }

    /// Reads an absolute `URL` of Foundation. Its fragment is dropped, as a fragment is never sent.
    ///
    /// Foundation percent-encodes non-ASCII text and spaces when it makes a `URL` of a string; its escapes are kept.
    ///
    /// - Throws: ``InvalidURLError`` as ``init(_:)-(String)`` does, for a file URL or credentials, for example.
    public init(_ url: URL) throws(InvalidURLError) {
        let text = url.absoluteString
        try self.init(String(text[..<(text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)]))
    }

    /// Reads a URL that a person pasted or typed: what a URL may not hold in its path and its query is percent-encoded.
    ///
    /// ```swift
    /// try HTTPURL(pasted: " https://a.example/straße?q=ä b#top ").description
    /// // https://a.example/stra%C3%9Fe?q=%C3%A4%20b
    /// ```
    ///
    /// - White space around the text, and a fragment, are dropped.
    /// - In the path and the query, non-ASCII text is escaped as UTF-8, and so are spaces and the ASCII characters that a URL may not hold, as browsers
    ///   do ([WHATWG URL, section 1.3](https://url.spec.whatwg.org/#percent-encoded-bytes)). Escapes are kept; a `%` without two hexadecimal
    ///   digits becomes `%25`.
    /// - Nothing is added: a URL without a scheme is refused.
    ///
    /// A host in another script is converted to its ASCII form, as ``init(_:)-(String)`` does, or refused.
    ///
    /// - Throws: ``InvalidURLError`` as ``init(_:)-(String)`` does; also for a control character within the text, and for a backslash in the path,
    ///   which browsers take for a slash.
    public init(pasted text: String) throws(InvalidURLError) {
        try self.init(RepairedURL.encoded(text, from: .person))
    }

    /// Makes the URL of an absolute reference. Its fragment is dropped.
    ///
    /// - Throws: ``InvalidURLError``, as ``init(_:)-(String)`` does.
    public init(_ reference: URLReference) throws(InvalidURLError) {
        let text = reference.description
        try self.init(checked: reference, text: text)
        // The components of a reference can be written.
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/") else { throw InvalidURLError(text, .invalidTarget) }
        try RequestTarget.check(path[...], query?[...], of: text)
    }

    /// - Parameters:
    ///   - reference: a reference whose path and query are checked.
    ///   - text: the text that an error shows.
    private init(checked reference: URLReference, text: String) throws(InvalidURLError) {
        guard text.utf8.count <= RequestTarget.limitBytes else { throw InvalidURLError(text, .tooManyOctets) }
        guard let scheme = reference.scheme?.lowercased() else { throw InvalidURLError(text, text.isEmpty ? .empty : .missingScheme) }
        guard scheme.isExactly("http") || scheme.isExactly("https") else { throw InvalidURLError(text, .unsupportedScheme(scheme)) }
        self.origin = try Origin(scheme: scheme, authority: reference.authority ?? "", in: text)
        self.path = reference.path
        self.query = reference.query
    }

    private init(_ plain: PlainURL, _ text: String) {
        let hostStart = plain.schemeBytes + 3
        let origin = Origin(
            scheme: plain.schemeBytes == 5 ? "https" : "http", normalHost: text.slice(hostStart, plain.hostEnd), port: plain.port,
            authority: text.slice(hostStart, plain.pathStart))
        let count = text.utf8.count
        self.init(
            origin: origin, path: text.slice(plain.pathStart, plain.pathEnd),
            query: plain.pathEnd < count ? text.slice(plain.pathEnd + 1, count) : nil)
    }

    init(origin: Origin, path: String, query: String?) {
        (self.origin, self.path, self.query) = (origin, path, query)
    }

    /// `http` or `https`.
    public var scheme: String { origin.scheme }
    /// The host: a name in ASCII, an IPv4 address, or an IPv6 address in brackets.
    public var host: String { origin.host }
    /// The port; `nil` if it is the default port of the scheme (80, 443).
    public var port: Int? { origin.port }
    /// The port to connect to: the one that the URL names, or the default port of the scheme.
    public var effectivePort: Int { origin.effectivePort }

    /// Host and port as a `Host` field has them; the port only where it is not the default port of the scheme.
    public var authority: String { origin.authority }

    /// The target of a request line: the path (`/` where it is empty) and the query
    /// ([RFC 9110, section 7.1](https://www.rfc-editor.org/rfc/rfc9110#section-7.1)).
    public var target: String { (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "") }

    /// The URL as it is sent, with secrets if it holds any.
    public var description: String { "\(scheme)://\(authority)\(target)" }

    /// Returns this base URL with the path of an endpoint below it.
    ///
    /// Exactly one slash stands between the two. A leading slash of `target` keeps the path of the base, and a trailing slash is kept. The query of
    /// the base comes first, then that of `target`. An empty `target` is the base itself.
    ///
    /// - Parameter target: a path, percent-encoded, with or without a query.
    /// - Throws: ``InvalidURLError`` if `target` is an absolute URL, begins with `//`, has a fragment, or holds an octet that must be
    ///   percent-encoded.
    public func joined(with target: String) throws(InvalidURLError) -> HTTPURL {
        try RequestTarget.check(target)
        let joined = joinedTarget(target)
        let (path, query) = RequestTarget.parts(of: joined)
        return HTTPURL(origin: origin, path: String(path), query: query.map(String.init))
    }

    /// Whether the scheme is `https`.
    public var isSecure: Bool { scheme.isExactly("https") }

    /// The path and query of this base URL with `target`, which was checked, below it; empty if neither has a path or a query.
    ///
    /// - Parameter defaults: percent-encoded query items between those of the base URL and those of `target`.
    package func joinedTarget(_ target: String, defaults: String = "") -> String {
        let slash = UInt8(ascii: "/")
        // The usual case: a base URL that is an origin alone.
        if query == nil, defaults.isEmpty, path.utf8.count <= 1, target.utf8.first == slash { return target }
        let (endpoint, query) = RequestTarget.parts(of: target)
        var joined = ""
        joined.reserveCapacity(path.utf8.count + target.utf8.count + (self.query?.utf8.count ?? 0) + defaults.utf8.count + 3)
        joined.append(contentsOf: endpoint.isEmpty || path.utf8.last != slash ? path[...] : path.dropLast())
        if !endpoint.isEmpty, endpoint.utf8.first != slash { joined += "/" }
        joined.append(contentsOf: endpoint)
        let base = defaults.isEmpty ? self.query : RequestTarget.joinedQuery(self.query, defaults)
        if let query = RequestTarget.joinedQuery(base, query.map(String.init)) {
            joined += "?"
            joined += query
        }
        return joined
    }
}

extension HTTPURL: CustomDebugStringConvertible, HidesStorage {
    /// The URL without the values of sensitive query items. ``description`` is the URL itself.
    public var debugDescription: String { Sensitivity.standard.redactedURL(description) }
}
