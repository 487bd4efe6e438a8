/// Certificates for servers on the loopback interface and for their clients, created by the `openssl` command.
public struct TestCertificates: Sendable {
    /// The certificates of servers, each with its key.
    public enum Server: String, Sendable, CaseIterable {
        /// Valid for `localhost`, `127.0.0.1` and `::1`, signed by the authority.
        case good
        /// Signed by the authority, for another host.
        case wrongHost
        /// Signed by the authority, for the right host, but expired.
        case expired
        /// For the right host, self-signed.
        case selfSigned
        /// Signed by the authority, for the right host, with only the extended key usage of clients.
        case clientsOnly
        /// For the right host, signed by ``TestCertificates/constrainedAuthority``, whose name constraints permit only `inside.example`.
        case outside
    }

    /// The certificates of clients, each with its key.
    public enum Client: String, Sendable, CaseIterable {
        /// Signed by the authority.
        case client
        /// Signed by another authority, which no server knows.
        case stranger
    }

    let folder: String

    /// The path of the authority's certificate: the only one to trust.
    public var authority: String { "\(folder)/authority.pem" }
    /// The path of the certificate of an authority with name constraints.
    public var constrainedAuthority: String { "\(folder)/constrained.pem" }
    public func certificate(_ server: Server) -> String { "\(folder)/\(server.rawValue).pem" }
    public func key(_ server: Server) -> String { "\(folder)/\(server.rawValue).key" }
    public func certificate(_ client: Client) -> String { "\(folder)/\(client.rawValue).pem" }
    public func key(_ client: Client) -> String { "\(folder)/\(client.rawValue).key" }

    /// Creates the certificates in `folder`, which must exist.
    public static func make(in folder: String) async throws -> TestCertificates {
        let here = OpenSSLCertificate.Purpose.server("DNS:localhost, DNS:*.localhost, IP:127.0.0.1, IP:::1")
        try await OpenSSLCertificate.make(
            [
                OpenSSLCertificate("authority", "Errand test authority", .authority),
                OpenSSLCertificate("other", "Another authority", .authority),
                OpenSSLCertificate("constrained", "A constrained authority", .constrainedAuthority("permitted;DNS:inside.example")),
                OpenSSLCertificate("selfSigned", "localhost", here),
                OpenSSLCertificate("good", "localhost", here, by: "authority"),
                OpenSSLCertificate("wrongHost", "elsewhere.example", .server("DNS:elsewhere.example"), by: "authority"),
                OpenSSLCertificate("expired", "localhost", here, by: "authority", .expired),
                OpenSSLCertificate("clientsOnly", "localhost", .serverForClients("DNS:localhost"), by: "authority"),
                OpenSSLCertificate("outside", "localhost", .server("DNS:inside.example, DNS:localhost"), by: "constrained"),
                OpenSSLCertificate("client", "test client", .client, by: "authority"),
                OpenSSLCertificate("stranger", "test client", .client, by: "other"),
            ], in: folder)
        return TestCertificates(folder: folder)
    }
}
