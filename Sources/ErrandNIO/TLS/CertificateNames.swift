#if NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOSSL

/// The names that a certificate is valid for.
///
/// NIOSSL accepts a certificate for any host if it is valid for the IP address that the connection goes to. Name servers say which address
/// that is, and they must not decide about identity. Therefore a host that is a name must be among the names
/// ([RFC 9525, section 6](https://www.rfc-editor.org/rfc/rfc9525#section-6)).
enum CertificateNames {
    /// Whether a certificate that NIOSSL has accepted is valid for the name of a host.
    static func allow(_ host: String, in certificate: NIOSSLCertificate) -> Bool {
        let names = certificate._subjectAlternativeNames()
        // Without an address in it, NIOSSL has compared the names.
        guard names.contains(where: { $0.nameType == .ipAddress }) else { return true }
        return hosts(in: certificate).contains { matches($0, host) }
    }

    /// Whether a certificate is valid for an address.
    static func allow(_ address: IPAddress, in certificate: NIOSSLCertificate) -> Bool {
        certificate._subjectAlternativeNames().contains { $0.nameType == .ipAddress && Array($0.contents) == address.octets }
    }

    /// The names of hosts in a certificate. Those that are not in ASCII stand for no host; the common name is not among them.
    static func hosts(in certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().compactMap { name in
            guard name.nameType == .dnsName, name.contents.allSatisfy({ $0 < 0x80 }) else { return nil }
            return String(decoding: name.contents, as: UTF8.self)
        }
    }

    /// Whether a name of a certificate stands for a host. `*` stands for exactly one label, the leftmost. As in NIOSSL, it stands for no label of
    /// an internationalized name (`xn--…`).
    static func matches(_ name: String, _ host: String) -> Bool {
        let (name, host) = (comparable(name), comparable(host))
        guard !host.isEmpty, !name.isEmpty else { return false }
        guard name.hasPrefix("*.") else { return name == host }
        let rest = name.dropFirst()
        guard !rest.dropFirst().contains("*"), host.hasSuffix(rest) else { return false }
        let label = host.dropLast(rest.count)
        return !label.isEmpty && !label.contains(".") && !label.hasPrefix("xn--")
    }

    private static func comparable(_ name: String) -> Substring {
        let lowered = name.lowercased()
        return lowered.hasSuffix(".") ? lowered.dropLast() : lowered[...]
    }
}
#endif
