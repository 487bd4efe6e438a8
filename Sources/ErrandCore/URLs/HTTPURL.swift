/// An absolute `http` or `https` URL, in the form in which it is sent.
///
/// The path and the query keep their escapes exactly as written. The scheme and the host are in lower case. There are no
/// credentials and no fragment ([RFC 9110, section 4.2](https://www.rfc-editor.org/rfc/rfc9110#section-4.2)).
///
/// ```swift
/// let base = try HTTPURL("https://api.example/v1?key=k")
/// try base.joined(with: "/users?page=2").description   // https://api.example/v1/users?key=k&page=2
/// ```
///
/// There are three initializers:
/// - ``init(_:)-(String)`` takes text that is already a valid URL, and repairs nothing.
/// - ``init(_:)-(URL)`` takes Foundation's `URL`.
/// - ``init(pasted:)`` percent-encodes text that a person pasted or typed.
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, host and port, to which credentials and connections belong
    /// ([RFC 9110, section 4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
    public let origin: Origin
    /// The path, percent-encoded, with its leading slash. The path is empty only if the text had no path.
    public let path: String
    /// The query, percent-encoded, without its question mark; `nil` if there is no query.
    public let query: String?

    /// Creates a URL from text. Nothing is repaired.
    ///
    /// - Throws: ``InvalidURLError`` in these cases:
    ///   - The scheme is not `http` or `https`, or the host is missing or invalid.
    ///   - The text contains credentials or a fragment.
    ///   - The port is not in 1…65535.
    ///   - The text contains an octet that must be percent-encoded.
    ///   - The text is longer than 65,535 octets.
    public init(_ text: String) throws(InvalidURLError) {
        if let plain = PlainURL(text) {
            self.init(plain, text)
            return
        }
        let reference = try URLReference(text)
        guard reference.fragment == nil else { throw InvalidURLError(text, .fragment) }
        try self.init(checked: reference, text: text)
    }

    /// Creates a URL from an absolute `URL` of Foundation. The fragment is dropped, because a fragment is never sent.
    ///
    /// When Foundation creates a `URL` from a string, Foundation percent-encodes non-ASCII text and spaces. This initializer keeps these
    /// escapes.
    ///
    /// - Throws: ``InvalidURLError`` in the cases of ``init(_:)-(String)``, for example for a file URL or for credentials.
    public init(_ url: URL) throws(InvalidURLError) {
        let text = url.absoluteString
        try self.init(String(text[..<(text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)]))
    }

    /// Creates a URL from text that a person pasted or typed. Characters that a URL must not contain are percent-encoded in the
    /// path and the query.
    ///
    /// ```swift
    /// try HTTPURL(pasted: " https://a.example/straße?q=ä b#top ").description
    /// // https://a.example/stra%C3%9Fe?q=%C3%A4%20b
    /// ```
    ///
    /// - White space around the text is dropped. The fragment is dropped too.
    /// - In the path and the query, non-ASCII text is percent-encoded as UTF-8. Spaces and the ASCII characters that a URL must
    ///   not contain are percent-encoded too, as in browsers
    ///   ([WHATWG URL, section 1.3](https://url.spec.whatwg.org/#percent-encoded-bytes)). Escapes are kept. A `%` without two
    ///   hexadecimal digits becomes `%25`.
    /// - The initializer refuses text without a scheme, and does not add the scheme.
    ///
    /// A host in another script is converted to its ASCII form, as in ``init(_:)-(String)``. If the host has no ASCII form, it is
    /// refused.
    ///
    /// - Throws: ``InvalidURLError`` in the cases of ``init(_:)-(String)``. ``InvalidURLError`` is also thrown for a control character
    ///   within the text, and for a backslash in the path, because browsers read a backslash as a slash.
    public init(pasted text: String) throws(InvalidURLError) {
        try self.init(RepairedURL.encoded(text, from: .person))
    }

    /// Creates a URL from an absolute reference. The fragment is dropped.
    ///
    /// - Throws: ``InvalidURLError`` in the cases of ``init(_:)-(String)``.
    public init(_ reference: URLReference) throws(InvalidURLError) {
        let text = reference.description
        try self.init(checked: reference, text: text)
        // The path and the query are checked, because the caller may have changed the components of the reference.
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/") else { throw InvalidURLError(text, .invalidTarget) }
        try RequestTarget.check(path[...], query?[...], of: text)
    }

    /// Creates a URL from a reference whose path and query are checked.
    ///
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
    /// The port for connections: the port of the URL, or the default port of the scheme.
    public var effectivePort: Int { origin.effectivePort }

    /// The host and the port in the form of a `Host` field. The default port of the scheme is left out.
    public var authority: String { origin.authority }

    /// The target of a request line: the path (`/` if the path is empty) and the query
    /// ([RFC 9110, section 7.1](https://www.rfc-editor.org/rfc/rfc9110#section-7.1)).
    public var target: String { (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "") }

    /// The URL as it is sent, including any secrets.
    public var description: String { "\(scheme)://\(authority)\(target)" }

    /// Returns this base URL, followed by the path of an endpoint.
    ///
    /// There is exactly one slash between the two paths. The path of the base stays, even if `target` has a leading slash. A
    /// trailing slash of `target` is kept. The query of the base comes first, then the query of `target`. If `target` is empty,
    /// the result is the base itself.
    ///
    /// - Parameter target: a path, percent-encoded, with or without a query.
    /// - Throws: ``InvalidURLError`` if `target` is an absolute URL, begins with `//`, has a fragment, contains an octet that must be
    ///   percent-encoded, or is longer than 65,535 octets.
    public func joined(with target: String) throws(InvalidURLError) -> HTTPURL {
        try RequestTarget.check(target)
        let joined = joinedTarget(target)
        let (path, query) = RequestTarget.parts(of: joined)
        return HTTPURL(origin: origin, path: String(path), query: query.map(String.init))
    }

    /// Whether the scheme is `https`.
    public var isSecure: Bool { scheme.isExactly("https") }

    /// Returns the path and query of this base URL, joined with `target`; empty if neither has a path or a query. The caller has
    /// already checked `target`.
    ///
    /// - Parameter defaults: percent-encoded query items, placed between the items of the base URL and the items of `target`.
    package func joinedTarget(_ target: String, defaults: String = "") -> String {
        let slash = UInt8(ascii: "/")
        // In the usual case, the base URL is only an origin.
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
    /// The URL, in which the values of sensitive query items are replaced. ``description`` is the URL itself.
    public var debugDescription: String { Sensitivity.standard.redactedURL(description) }
}
