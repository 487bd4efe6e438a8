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
    /// - Throws: ``InvalidURL``: another scheme, no host, credentials, a fragment, a port outside 1 to 65535, an octet that
    ///   must be escaped. Nothing is repaired.
    public init(_ text: String) throws(InvalidURL) {
        let reference = try URLReference(text)
        guard reference.fragment == nil else { throw InvalidURL(text, .fragment) }
        try self.init(reference)
    }

    /// The URL of an absolute reference; its fragment is dropped.
    ///
    /// - Throws: ``InvalidURL``, as ``init(_:)`` does.
    public init(_ reference: URLReference) throws(InvalidURL) {
        let text = reference.description
        guard text.utf8.count <= 65_535 else { throw InvalidURL(text, .tooManyOctets) }
        guard let scheme = reference.scheme?.lowercased() else { throw InvalidURL(text, .missingScheme) }
        guard scheme == "http" || scheme == "https" else { throw InvalidURL(text, .unsupportedScheme(scheme)) }
        self.origin = try Origin(scheme: scheme, authority: reference.authority ?? "", in: text)
        self.path = reference.path
        self.query = reference.query
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
    /// - Throws: ``InvalidURL`` if `target` is an absolute URL, begins with `//`, has a fragment, or holds an octet that must
    ///   be escaped.
    public func joined(with target: String) throws(InvalidURL) -> HTTPURL {
        let (endpoint, query) = try RequestTarget.split(target)
        let joinedPath: String
        if endpoint.isEmpty {
            joinedPath = path
        } else {
            joinedPath = (path.hasSuffix("/") ? path.dropLast() : path[...]) + (endpoint.hasPrefix("/") ? "" : "/") + endpoint
        }
        return HTTPURL(
            origin: origin, path: joinedPath,
            query: RequestTarget.joinedQuery(self.query, query))
    }
}

/// A path and a query as they stand in a request line, before a base URL is known.
package enum RequestTarget {
    /// Checks `text` and parts it at its first question mark.
    ///
    /// - Throws: ``InvalidURL`` if it names an authority, has a fragment, or holds an octet that must be escaped.
    package static func split(_ text: String) throws(InvalidURL) -> (path: String, query: String?) {
        guard text.utf8.count <= 65_535 else { throw InvalidURL(text, .tooManyOctets) }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw InvalidURL(text, .fragment) }
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = String(text[..<(mark ?? text.endIndex)])
        let query = mark.map { String(text[text.utf8.index(after: $0)...]) }
        guard !path.utf8.starts(with: "//".utf8) else { throw InvalidURL(text, .absolute) }
        if let colon = path.utf8.firstRange(of: "://".utf8), path.utf8[..<colon.lowerBound].allSatisfy(\.isASCIILetter) {
            throw InvalidURL(text, .absolute)
        }
        if let bad = PercentEncoding.firstInvalidByte(in: path, allowing: .path) {
            throw InvalidURL(text, .invalidOctet(bad.byte, component: "path"))
        }
        if let query, let bad = PercentEncoding.firstInvalidByte(in: query, allowing: .query) {
            throw InvalidURL(text, .invalidOctet(bad.byte, component: "query"))
        }
        return (path, query)
    }

    /// Two queries in order; nil if there is neither.
    package static func joinedQuery(_ first: String?, _ second: String?) -> String? {
        guard let first, !first.isEmpty else { return second ?? first }
        guard let second, !second.isEmpty else { return first }
        return first + "&" + second
    }
}

extension HTTPURL: CustomDebugStringConvertible, CustomReflectable {
    /// The URL without the values of sensitive query items. ``description`` is the URL itself.
    public var debugDescription: String { Sensitivity.standard.redactedURL(description) }
    public var customMirror: Mirror { Mirror(self, children: ["url": debugDescription]) }
}

extension HTTPURL {
    /// This URL with more query items behind its own.
    package func addingQuery(_ more: Query) -> HTTPURL {
        guard !more.isEmpty else { return self }
        return HTTPURL(origin: origin, path: path, query: RequestTarget.joinedQuery(query, more.encoded))
    }
}
