#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The public suffixes, such as `co.uk`, below which anybody can register a domain ([publicsuffix.org](https://publicsuffix.org)).
///
/// ```swift
/// PublicSuffixes.suffix(of: "www.example.co.uk")             // co.uk
/// PublicSuffixes.registrableDomain(of: "www.example.co.uk")  // example.co.uk
/// ```
///
/// The program contains the rules of the list in the version of ``date``, and reads no file. A lookup takes time in proportion to the
/// length of the host.
///
/// A host may have upper case letters, and a dot at the end. The results are in lower case, without this dot. A host in another script,
/// such as `公司.cn`, is converted to ASCII ([UTS 46](https://www.unicode.org/reports/tr46/)). A host whose last label is a number is treated
/// as an IP address.
///
/// The license of the list is the [Mozilla Public License 2.0](https://mozilla.org/MPL/2.0/). The file `NOTICE` of this package has the
/// details.
public enum PublicSuffixes {
    /// Returns the public suffix of a host, such as `co.uk` of `www.example.co.uk`. If no rule of the list matches a host, the last label
    /// of the host is its public suffix.
    ///
    /// - Parameters:
    ///   - host: a host name, as ``/ErrandCore/Origin/host``.
    ///   - includesPrivate: whether suffixes of companies, such as `github.io`, are also public suffixes. Default: true.
    /// - Returns: `nil` for an IP address, and for a text that is not a host name.
    @inlinable public static func suffix(of host: some StringProtocol, includesPrivate: Bool = true) -> String? {
        suffix(String(host), includesPrivate)
    }

    /// Returns the registrable domain of a host: the public suffix and the label before the suffix. For `www.example.co.uk`, the domain is
    /// `example.co.uk`.
    ///
    /// - Parameters:
    ///   - host: a host name, as ``/ErrandCore/Origin/host``.
    ///   - includesPrivate: whether suffixes of companies, such as `github.io`, are also public suffixes. Default: true.
    /// - Returns: `nil` for an IP address, for a text that is not a host name, and for a host that is itself a public suffix.
    @inlinable public static func registrableDomain(of host: some StringProtocol, includesPrivate: Bool = true) -> String? {
        registrableDomain(String(host), includesPrivate)
    }

    /// Returns whether a host is a public suffix. A host of one label is always a public suffix.
    ///
    /// - Parameters:
    ///   - host: a host name, as ``/ErrandCore/Origin/host``.
    ///   - includesPrivate: whether suffixes of companies, such as `github.io`, are also public suffixes. Default: true.
    /// - Returns: `false` for an IP address, and for a text that is not a host name.
    @inlinable public static func contains(_ host: some StringProtocol, includesPrivate: Bool = true) -> Bool {
        isSuffix(String(host), includesPrivate)
    }

    @usableFromInline static func suffix(_ host: String, _ includesPrivate: Bool) -> String? {
        reading(host, includesPrivate) { octets, match in text(of: octets[match.suffixStart..<match.end]) }
    }

    @usableFromInline static func registrableDomain(_ host: String, _ includesPrivate: Bool) -> String? {
        reading(host, includesPrivate) { octets, match in match.registrableStart.map { text(of: octets[$0..<match.end]) } } ?? nil
    }

    @usableFromInline static func isSuffix(_ host: String, _ includesPrivate: Bool) -> Bool {
        reading(host, includesPrivate) { _, match in match.registrableStart == nil } ?? false
    }

    private static func reading<Result>(
        _ host: String, _ includesPrivate: Bool,
        _ body: (UnsafeBufferPointer<UInt8>, PublicSuffixAutomaton.Match) -> Result
    ) -> Result? {
        let included: PublicSuffixAutomaton.Kinds = includesPrivate ? [.registry, .company] : .registry
        func result(_ octets: UnsafeBufferPointer<UInt8>) -> Result? {
            table.match(octets, including: included).map { body(octets, $0) }
        }
        if host.withUTF8Bytes({ octets in octets.allSatisfy { $0 < 0x80 } }) { return host.withUTF8Bytes(result) }
        return asciiForm(of: host)?.withUTF8Bytes(result)
    }

    private static func text(of octets: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        let text = String(decoding: octets, as: UTF8.self)
        return octets.allSatisfy { $0 == $0.asciiLowercased } ? text : text.lowercased()
    }

    /// Returns the ASCII form of a host in another script; `nil` if the host has no such form.
    private static func asciiForm(of host: String) -> String? {
        // The text must be only a host: another character, such as `/`, would begin another part of the URL.
        guard host.utf8.allSatisfy({ $0 >= 0x80 || $0.isHostNameOctet }) else { return nil }
        return (try? HTTPURL("https://\(host)/"))?.origin.host
    }
}
#endif
