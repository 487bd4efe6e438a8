#if Auth
public import ErrandCore
public import ErrandFormats

/// A host that demands `https`, as ``HSTSList`` keeps it ([RFC 6797](https://www.rfc-editor.org/rfc/rfc6797)).
public struct HSTSHost: Sendable, Hashable {
    /// The name in lower case and ASCII, without a dot at the end.
    public let name: String
    /// Whether the subdomains of the host demand `https` too.
    public let includesSubdomains: Bool
    /// The instant from which the host no longer demands `https`; `nil` if the host always demands `https`.
    public let expires: HTTPDate?
    /// The time of the response with the field `Strict-Transport-Security`. If two entries have the same host, the later entry applies.
    public let noted: HTTPDate

    /// Creates a host. By default, the host always demands `https`, like the hosts that an app passes to ``HSTSList``.
    ///
    /// ```swift
    /// let hosts = HSTSList(preloaded: [try HSTSHost("a.example")])
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the host, such as `a.example`, in upper or lower case, with or without a dot at the end.
    ///   - includesSubdomains: whether the subdomains demand `https` too. Default: `true`.
    ///   - expires: the instant from which the host no longer demands `https`. Default: `nil`, never. If the instant is not later than
    ///     `noted`, the entry removes the host.
    ///   - noted: the time of the entry. Default: 1970.
    /// - Throws: ``/ErrandCore/InvalidURLError`` if `name` is not the name of a host, has a port or a wildcard, or is an IP address.
    public init(
        _ name: String, includesSubdomains: Bool = true, expires: HTTPDate? = nil, noted: HTTPDate = HTTPDate(secondsSinceEpoch: 0)
    ) throws(InvalidURLError) {
        if name.containsOctet(UInt8(ascii: "*")) {
            throw InvalidURLError(name, .invalidHost("a wildcard is not a host; includesSubdomains includes the subdomains"))
        }
        let origin = try Origin("https://" + name)
        if origin.isAddress { throw InvalidURLError(name, .invalidHost("HSTS does not apply to an IP address")) }
        if origin.port != nil { throw InvalidURLError(name, .invalidHost("it must have no port, because HSTS applies to all ports")) }
        self.init(checked: Self.name(of: origin), includesSubdomains: includesSubdomains, expires: expires, noted: noted)
    }

    init(checked name: String, includesSubdomains: Bool, expires: HTTPDate?, noted: HTTPDate) {
        (self.name, self.includesSubdomains, self.expires, self.noted) = (name, includesSubdomains, expires, noted)
    }

    /// Whether this entry removes the host from the list. Stores keep such an entry for an hour. If another
    /// process reads this entry, and still has an older entry, that process removes the host too.
    public var isRemoved: Bool { expires.map { $0 <= noted } ?? false }

    /// Returns the name of an origin's host, without the dot at the end.
    static func name(of origin: Origin) -> String {
        origin.host.hasOctetSuffix(".") ? String(origin.host.dropLast()) : origin.host
    }

    /// Returns whether the host demands `https` at an instant.
    func isKnown(at now: HTTPDate) -> Bool { expires.map { $0 > now } ?? true }
}

extension HSTSHost: CustomStringConvertible, HidesStorage {
    /// The name and the attributes: `a.example and its subdomains, until Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        name + (includesSubdomains ? " and its subdomains" : "") + (expires.map { ", until \($0)" } ?? "")
    }
}
#endif
