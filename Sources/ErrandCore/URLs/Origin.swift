/// The scheme, host and port of a URL, to which credentials, connections and limits belong
/// ([RFC 6454](https://www.rfc-editor.org/rfc/rfc6454);
/// [RFC 9110, section 4.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-4.3.1)).
///
/// The host is in its ASCII form and lower case, and the default port of the scheme is left out. So `https://A.example`,
/// `https://a.example:443` and `https://a.example` are the same origin.
///
/// ```swift
/// let origin = try Origin("https://a.example:443")
/// origin.description                                  // https://a.example
/// breaker.isolate(origin)
/// ```
///
/// The origin of a request is ``Request/origin``. The origin of a URL is ``HTTPURL/origin``.
public struct Origin: Sendable {
    /// The storage is a class, because an origin is a part of every request. Copying an origin changes only one reference count.
    private final class Parts: Sendable {
        let scheme: String
        let host: String
        let port: Int?
        let authority: String

        init(scheme: String, host: String, port: Int?, authority: String) {
            self.scheme = scheme
            self.host = host
            self.port = port
            self.authority = authority
        }
    }

    private let parts: Parts

    /// Creates an origin from text such as `https://a.example:8443`.
    ///
    /// - Throws: ``InvalidURLError`` if `text` is anything except a scheme and a host, with or without a port. A path is refused, even a
    ///   single slash. For the origin of a URL, use ``HTTPURL/origin``.
    public init(_ text: String) throws(InvalidURLError) {
        let url = try HTTPURL(text)
        guard url.path.isEmpty, url.query == nil else { throw InvalidURLError(text, .notAnOrigin) }
        self = url.origin
    }

    /// Creates an origin from a scheme and an authority.
    ///
    /// - Parameters:
    ///   - scheme: `http` or `https`.
    ///   - authority: the host and the port, as written.
    ///   - text: the text that an error shows.
    /// - Throws: ``InvalidURLError`` if `authority` is empty, has credentials, or its host or port is invalid.
    init(scheme: String, authority: String, in text: String) throws(InvalidURLError) {
        guard !authority.isEmpty else { throw InvalidURLError(text, .missingHost) }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw InvalidURLError(text, .credentials) }
        let (written, number) = try Self.split(authority, in: text)
        let host = try Host.normalized(written, in: text)
        let port = number == Self.defaultPort(of: scheme) ? nil : number
        parts = Parts(scheme: scheme, host: host, port: port, authority: port.map { "\(host):\($0)" } ?? host)
    }

    /// Whether the host is meant to be this machine, which can be reached without a network: a loopback address, `localhost`, or a name
    /// under `localhost`.
    package var isLoopback: Bool { Host.isLoopback(Host.comparable(host)) }

    /// Whether the host is this machine itself: a loopback address, or `localhost`. Secrets may then be sent without TLS. Names under
    /// `localhost` do not count, because some resolvers look up such names in the network.
    package var isThisMachine: Bool { Host.isThisMachine(Host.comparable(host)) }

    /// Whether the host is an IP address, or ends in a number. Only addresses, and parts of addresses, end in a number.
    package var isAddress: Bool { Self.isAddress(host: host) }

    /// Returns whether a host in its normal form is an address, or ends in a number. Allocates nothing.
    package static func isAddress(host: String) -> Bool { Host.isAddress(host) }

    /// The same host with `https`. Port 80 becomes port 443, and any other port is kept ([RFC 6797, section
    /// 8.3](https://www.rfc-editor.org/rfc/rfc6797#section-8.3)). An origin with `https` stays unchanged.
    package var withHTTPS: Origin {
        if scheme.isExactly("https") { return self }
        return Origin(scheme: "https", normalHost: host, port: port, authority: authority)
    }

    /// Creates an origin from checked parts.
    ///
    /// - Parameters:
    ///   - host: the host in its normal form.
    ///   - authority: the host and the port; evaluated only if the port is not the default port of the scheme.
    init(scheme: String, normalHost host: String, port: Int?, authority: @autoclosure () -> String) {
        let port = port == Self.defaultPort(of: scheme) ? nil : port
        parts = Parts(scheme: scheme, host: host, port: port, authority: port == nil ? host : authority())
    }

    private static func split(_ authority: String, in text: String) throws(InvalidURLError) -> (Substring, Int?) {
        guard authority.utf8.count <= Host.limitBytes + 6 else { throw InvalidURLError(text, .invalidHost("it is longer than 253 octets")) }
        let afterBracket = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        guard let colon = authority.utf8[afterBracket...].firstIndex(of: UInt8(ascii: ":")) else { return (authority[...], nil) }
        let digits = authority[authority.utf8.index(after: colon)...]
        if digits.isEmpty { return (authority[..<colon], nil) }  // RFC 3986, section 3.2.3: an empty port counts as missing
        guard let port = Int(portDigits: digits.utf8) else {
            // If the port is not a number, the text may be a part of a password that contains an unescaped slash.
            throw InvalidURLError(text, .invalidPort(digits.utf8.allSatisfy(\.isASCIIDigit) ? String(digits.prefix(20)) : "…"))
        }
        return (authority[..<colon], port)
    }

    private static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }  // octets: http or https

    /// The scheme: `http` or `https`.
    public var scheme: String { parts.scheme }
    /// The host: a name in ASCII, an IPv4 address, or an IPv6 address in brackets.
    public var host: String { parts.host }
    /// The port; `nil` if it is the default port of the scheme (80, 443).
    public var port: Int? { parts.port }
    /// The port for connections: the port of the origin, or the default port of the scheme.
    public var effectivePort: Int { port ?? Self.defaultPort(of: scheme) }
    /// The host and the port in the form of a `Host` field. The default port of the scheme is left out.
    public var authority: String { parts.authority }
}

extension Origin: Hashable {
    /// Returns whether scheme, host and port are equal.
    public static func == (first: Origin, second: Origin) -> Bool {
        first.parts === second.parts
            || first.parts.port == second.parts.port && first.parts.host == second.parts.host && first.parts.scheme == second.parts.scheme
    }

    /// Hashes scheme, host and port.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
    }
}

extension Origin: CustomStringConvertible, HidesStorage {
    /// The origin in the form of ``init(_:)``: `https://a.example`.
    public var description: String { "\(scheme)://\(authority)" }
}
