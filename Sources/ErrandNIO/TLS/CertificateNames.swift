#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOSSL

/// The names that a certificate is valid for ([RFC 9525, section 6](https://www.rfc-editor.org/rfc/rfc9525#section-6)).
///
/// BoringSSL validates the chain. The names are compared only here, because NIOSSL's comparison differs from RFC 9525:
///
/// - NIOSSL accepts a certificate for any host if the certificate is valid for the IP address of the connection. Name servers choose this
///   address, and must not decide about identity.
/// - NIOSSL accepts wildcards within a label, and the common name.
/// - NIOSSL refuses names with an underscore, and `xn--` labels under a wildcard.
enum CertificateNames {
    /// Returns whether a certificate is valid for the name of a host.
    static func allow(_ host: String, in certificate: NIOSSLCertificate) -> Bool {
        hosts(in: certificate).contains { matches($0, host) }
    }

    /// Returns whether a certificate is valid for an address.
    static func allow(_ address: IPAddress, in certificate: NIOSSLCertificate) -> Bool {
        certificate._subjectAlternativeNames().contains { $0.nameType == .ipAddress && Array($0.contents) == address.octets }
    }

    /// Returns the host names in a certificate. Names that are not ASCII match no host. The common name is not used.
    static func hosts(in certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().compactMap { name in
            guard name.nameType == .dnsName, name.contents.allSatisfy({ $0 < 0x80 }) else { return nil }
            return String(decoding: name.contents, as: UTF8.self)
        }
    }

    /// Returns the addresses in a certificate.
    static func addresses(in certificate: NIOSSLCertificate) -> [AlternativeName] {
        certificate._subjectAlternativeNames().compactMap { $0.nameType == .ipAddress ? .address(Array($0.contents)) : nil }
    }

    /// Returns whether a name of a certificate matches a host. `*` matches exactly the whole leftmost label. The label that `*` matches may
    /// contain an underscore, or may be internationalized (`xn--…`). A dot at the end of either name is ignored.
    static func matches(_ name: String, _ host: String) -> Bool {
        let (name, host) = (withoutTrailingDot(name), withoutTrailingDot(host))
        guard !host.isEmpty, !name.isEmpty else { return false }
        guard name.hasOctetPrefix("*.") else { return name.isExactlyIgnoringCase(host) }
        let rest = name.utf8.dropFirst(2)
        guard !rest.isEmpty, !rest.contains(UInt8(ascii: "*")), let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
        return dot > host.startIndex && host[host.utf8.index(after: dot)...].isExactlyIgnoringCase(Substring(rest))
    }

    /// Returns a name without a dot at its end, as in certificates and in SNI ([RFC 6066, section
    /// 3](https://www.rfc-editor.org/rfc/rfc6066#section-3)).
    static func withoutTrailingDot(_ name: String) -> Substring { name.hasOctetSuffix(".") ? name.dropLast() : name[...] }
}
#endif
