/// Which certificates a transport trusts, and which one it presents.
///
/// Servers are always verified, and TLS 1.2 is the oldest version in use (RFC 8996).
public struct TLSSettings: Sendable, Hashable {
    /// Certificate authorities to trust besides those of the system: paths of PEM files with one or more certificates each. Empty by
    /// default.
    public var extraRootsPEMFiles: [String] = []
    /// What is presented to a server that asks for a certificate; nil (the default) presents none.
    public var clientCertificate: ClientCertificate?

    public init() {}

    /// A certificate with its chain, and its private key: paths of PEM files. The files are read when the transport is made.
    public struct ClientCertificate: Sendable, Hashable {
        /// The certificate, followed by those that lead to its authority.
        public var chainPEMFile: String
        /// The private key of the certificate.
        public var keyPEMFile: String

        public init(chainPEMFile: String, keyPEMFile: String) {
            (self.chainPEMFile, self.keyPEMFile) = (chainPEMFile, keyPEMFile)
        }
    }
}
