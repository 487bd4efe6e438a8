/// The certificates that a transport trusts, the certificate that the transport presents, and the versions of TLS that the
/// transport uses.
///
/// ```swift
/// var tls = TLSSettings()
/// tls.minimumVersion = .tls13
/// tls.extraRootsPEMFiles = ["/etc/my-company/authority.pem"]
/// tls.pins = try CertificatePins([
///     "**.a.example": [
///         "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
///     ]
/// ])
/// ```
///
/// By default, the certificates of all servers are verified: the chain of certificates, the dates and the name of the host. With
/// ``/ErrandNIO/NIOTransport``, the name is compared as [RFC 9525](https://www.rfc-editor.org/rfc/rfc9525#section-6) requires: `*` in a
/// certificate matches one whole label, and the common name is ignored. The only servers without verification are the hosts of
/// ``uncheckedHostsForTesting``, and servers that a request accepts (``RequestOptions/onServerTrust``). If a transport does not support one
/// of the settings, creating the transport throws ``TLSSettingsError``. Descriptions and mirrors show neither private keys nor the paths of
/// their files.
public struct TLSSettings: Sendable, Hashable {
    /// The certificate authorities to trust in addition to the authorities of the system: paths of PEM files with one or more
    /// certificates each. Empty by default. The files are read when the transport is created.
    public var extraRootsPEMFiles: [String] = []
    /// The certificate to present to each server that asks for a certificate. With `nil`, the default, no certificate is
    /// presented.
    ///
    /// The certificate belongs to the transport, not to an origin. If a redirect leads to another origin, that server gets the
    /// certificate too. To present the certificate to one server only, give this server a transport of its own, without `redirect`.
    public var clientCertificate: ClientCertificate?
    /// The oldest allowed version of TLS: ``Version/tls12`` by default.
    public var minimumVersion = Version.tls12
    /// The public keys that hosts must have, in addition to a valid certificate. With `nil`, the default, the keys are not
    /// checked.
    public var pins: CertificatePins?
    /// The hosts whose certificates are not checked; no hosts by default. **Only for tests.**
    ///
    /// For an unchecked host, anybody on the network path can present any certificate, read every request with its credentials, and change
    /// every response. Expired certificates, certificates of an unknown authority, and certificates for another host are all accepted.
    ///
    /// The hosts of this computer are ``UncheckedHosts/loopback``. List any other host by its full name, with
    /// ``UncheckedHosts/hosts(_:)``. There is no wildcard. After a redirect to another host, the certificate is checked as usual.
    ///
    /// If ``pins`` match an unchecked host, the pins are still compared with the server's own certificate. The rest of the chain is not
    /// compared, because its signatures are not verified.
    public var uncheckedHostsForTesting = UncheckedHosts.none

    /// Creates settings that trust the system's authorities and present no certificate.
    public init() {}

    /// A version of TLS. Later versions may be added. Versions before 1.2 are not available, because they must not be used ([RFC
    /// 8996](https://www.rfc-editor.org/rfc/rfc8996)).
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        /// TLS 1.2 ([RFC 5246](https://www.rfc-editor.org/rfc/rfc5246)).
        public static let tls12 = Version(description: "TLS 1.2")
        /// TLS 1.3 ([RFC 8446](https://www.rfc-editor.org/rfc/rfc8446)).
        public static let tls13 = Version(description: "TLS 1.3")

        /// The name of the version: `TLS 1.2`.
        public let description: String
    }

    /// A certificate with its chain, and its private key: paths of PEM files. The files are read when the transport is created.
    public struct ClientCertificate: Sendable, Hashable {
        /// The path of a PEM file with the certificate, followed by the certificates that lead to its authority.
        public var chainPEMFile: String
        /// The path of a PEM file with the private key of the certificate.
        public var keyPEMFile: String

        /// Creates a certificate from the paths of its PEM files.
        public init(chainPEMFile: String, keyPEMFile: String) {
            (self.chainPEMFile, self.keyPEMFile) = (chainPEMFile, keyPEMFile)
        }
    }
}

extension TLSSettings: CustomStringConvertible, HidesStorage {
    /// The oldest allowed version, and the other settings that differ from the default: `TLS 1.2 or later, 1 file of extra roots, a client
    /// certificate`.
    public var description: String {
        var parts = ["\(minimumVersion) or later"]
        if !extraRootsPEMFiles.isEmpty {
            parts.append("\(extraRootsPEMFiles.count.counted("file")) of extra roots")
        }
        if clientCertificate != nil { parts.append("a client certificate") }
        if let pins { parts.append("\(pins)") }
        if uncheckedHostsForTesting != .none { parts.append("ANY CERTIFICATE of \(uncheckedHostsForTesting)") }
        return parts.joined(separator: ", ")
    }
}

extension TLSSettings.ClientCertificate: CustomStringConvertible, HidesStorage {
    /// The path of the certificate, without the path of its key.
    public var description: String { "the client certificate in \(chainPEMFile.shownSafely())" }
}
