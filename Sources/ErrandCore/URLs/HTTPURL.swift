/// An absolute `http` or `https` URL, in the form in which it goes out.
///
/// Path and query keep their escapes exactly as written; host and scheme are lower case; there are no credentials and no
/// fragment (RFC 9110, 4.2).
///
/// ```swift
/// let base = try HTTPURL("https://api.example/v1?key=k")
/// try base.joined(with: "/users?page=2").description   // https://api.example/v1/users?key=k&page=2
/// ```
public struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host and port: what credentials and connections belong to (RFC 9110, 4.3.1).
    public let origin: Origin
    /// Percent-encoded, with its leading slash; empty only where the text had no path.
    public let path: String
    /// Percent-encoded, without its question mark; nil if there is none.
    public let query: String?

    /// Reads an absolute URL.
    ///
    /// - Throws: ``InvalidURLError``: another scheme, no host, credentials, a fragment, a port outside 1 to 65535, an octet that
    ///   must be escaped. Nothing is repaired.
    public init(_ text: String) throws(InvalidURLError) {
        if let plain = PlainURL(text) {
            self.init(plain, text)
            return
        }
        let reference = try URLReference(text)
        guard reference.fragment == nil else { throw InvalidURLError(text, .fragment) }
        try self.init(checked: reference, text: text)
    }

    /// The URL of an absolute reference; its fragment is dropped.
    ///
    /// - Throws: ``InvalidURLError``, as ``init(_:)`` does.
    public init(_ reference: URLReference) throws(InvalidURLError) {
        let text = reference.description
        try self.init(checked: reference, text: text)
        // The components of a reference can be written.
        guard path.isEmpty || path.utf8.first == UInt8(ascii: "/") else { throw InvalidURLError(text, .invalidTarget) }
        try RequestTarget.check(path[...], query?[...], of: text)
    }

    /// - Parameters:
    ///   - reference: whose path and query are checked.
    ///   - text: what an error shows.
    private init(checked reference: URLReference, text: String) throws(InvalidURLError) {
        guard text.utf8.count <= RequestTarget.limitBytes else { throw InvalidURLError(text, .tooManyOctets) }
        guard let scheme = reference.scheme?.lowercased() else { throw InvalidURLError(text, .missingScheme) }
        guard scheme == "http" || scheme == "https" else { throw InvalidURLError(text, .unsupportedScheme(scheme)) }
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
    /// A name in ASCII, an IPv4 address, or an IPv6 address in brackets.
    public var host: String { origin.host }
    /// Nil where it is the scheme's own (80, 443).
    public var port: Int? { origin.port }
    /// The port that is connected to: the one named, or the scheme's own.
    public var effectivePort: Int { origin.effectivePort }

    /// Host and port as a `Host` field has them; the port only where it is not the scheme's own.
    public var authority: String { origin.authority }

    /// What a request line asks for: the path (`/` where it is empty) and the query (RFC 9110, 7.1).
    public var target: String { (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "") }

    public var description: String { "\(scheme)://\(authority)\(target)" }

    /// This base URL with an endpoint's path below it.
    ///
    /// Exactly one slash stands between the two; a trailing slash is kept; a leading one does not drop the base's prefix; the
    /// base's query comes first, then the endpoint's; an empty path is the base itself.
    ///
    /// - Parameter target: a path, percent-encoded, with a query if it has one.
    /// - Throws: ``InvalidURLError`` if `target` is an absolute URL, begins with `//`, has a fragment, or holds an octet that must
    ///   be escaped.
    public func joined(with target: String) throws(InvalidURLError) -> HTTPURL {
        try RequestTarget.check(target)
        let joined = joinedTarget(target)
        let (path, query) = RequestTarget.parts(of: joined)
        return HTTPURL(origin: origin, path: String(path), query: query.map(String.init))
    }

    /// Path and query of this base URL with `target`, which was checked, below it; empty where neither has a path or a query.
    ///
    /// - Parameter defaults: percent-encoded query items between those of the base URL and those of `target`.
    package func joinedTarget(_ target: String, defaults: String = "") -> String {
        let slash = UInt8(ascii: "/")
        // The usual: a base URL that is an origin alone.
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

extension HTTPURL: CustomDebugStringConvertible, CustomReflectable {
    /// The URL without the values of sensitive query items. ``description`` is the URL itself.
    public var debugDescription: String { Sensitivity.standard.redactedURL(description) }
    public var customMirror: Mirror { Mirror(self, children: ["url": debugDescription]) }
}
