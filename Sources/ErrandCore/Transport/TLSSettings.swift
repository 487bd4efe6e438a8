/// The certificates that a transport trusts, and the one that it presents.
///
/// Servers are always verified, and TLS 1.2 is the oldest version that is used ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)).
public struct TLSSettings: Sendable, Hashable {
    /// The certificate authorities to trust in addition to those of the system: paths of PEM files with one or more certificates each.
    /// Empty by default.
    public var extraRootsPEMFiles: [String] = []
    /// The certificate to present to a server that asks for one; `nil`, the default, presents none.
    public var clientCertificate: ClientCertificate?

    /// Creates settings that trust the system's authorities and present no certificate.
    public init() {}

    /// A certificate with its chain, and its private key: paths of PEM files. The files are read when the transport is created.
    public struct ClientCertificate: Sendable, Hashable {
        /// The path of the certificate, followed by those that lead to its authority.
        public var chainPEMFile: String
        /// The private key of the certificate.
        public var keyPEMFile: String

        /// Creates a certificate from the paths of its PEM files.
        public init(chainPEMFile: String, keyPEMFile: String) {
            (self.chainPEMFile, self.keyPEMFile) = (chainPEMFile, keyPEMFile)
        }
    }
}
