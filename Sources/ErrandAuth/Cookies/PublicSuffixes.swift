#if Auth
/// The public suffixes, such as `co.uk`, below which anybody can register a domain: <https://publicsuffix.org>.
public enum PublicSuffixes {
    /// Returns the public suffix of a host, such as `co.uk` of `www.example.co.uk`. The rule `*` applies to a host that no rule of the list
    /// matches: its last label is a public suffix.
    ///
    /// - Parameters:
    ///   - host: a host name in lower case and ASCII, as ``/ErrandCore/Origin/host``. A dot at the end is ignored.
    ///   - includesPrivate: whether suffixes of companies, such as `github.io`, also count. Default: true.
    /// - Returns: `nil` for an IP address.
    public static func suffix(of host: some StringProtocol, includesPrivate: Bool = true) -> String? { nil }

    /// Returns the public suffix of a host and the label in front, such as `example.co.uk` of `www.example.co.uk`.
    ///
    /// - Returns: `nil` for an IP address, and for a host that is itself a public suffix.
    public static func registrableDomain(of host: some StringProtocol, includesPrivate: Bool = true) -> String? { nil }

    /// Whether a host is a public suffix.
    public static func contains(_ host: some StringProtocol, includesPrivate: Bool = true) -> Bool { false }
}
#endif
