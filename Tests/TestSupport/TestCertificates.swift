internal import Foundation

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
    public func certificate(_ server: Server) -> String { "\(folder)/\(server.rawValue).pem" }
    public func key(_ server: Server) -> String { "\(folder)/\(server.rawValue).key" }
    public func certificate(_ client: Client) -> String { "\(folder)/\(client.rawValue).pem" }
    public func key(_ client: Client) -> String { "\(folder)/\(client.rawValue).key" }

    static let openssl = Programs.find("openssl")

    // Before OpenSSL 3.4, only `openssl ca` can create a certificate with dates in the past. It doesn't need the system's configuration.
    private static let script = """
        set -eu
        openssl=$1
        export OPENSSL_CONF=$PWD/ca.conf
        cat >ca.conf <<END
        [req]
        distinguished_name = name
        [name]
        [ca]
        default_ca = any
        [any]
        database = $PWD/index
        serial = $PWD/serial
        new_certs_dir = $PWD
        default_md = sha256
        policy = anything
        unique_subject = no
        [anything]
        commonName = supplied
        [authority]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        [here]
        subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
        extendedKeyUsage = serverAuth
        [elsewhere]
        subjectAltName = DNS:elsewhere.example
        extendedKeyUsage = serverAuth
        [client]
        extendedKeyUsage = clientAuth
        END
        : >index
        echo 1000 >serial
        key() { $openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; chmod 644 "$1.key"; }
        root() { # name, common name, extensions
            key "$1"
            $openssl req -new -x509 -key "$1.key" -subj "/CN=$2" -days 30 -extensions "$3" -out "$1.pem"
        }
        leaf() { # name, authority, common name, extensions, dates
            key "$1"
            $openssl req -new -key "$1.key" -subj "/CN=$3" -out "$1.csr"
            name=$1; by=$2; extensions=$4; shift 4
            $openssl ca -batch -notext -cert "$by.pem" -keyfile "$by.key" -extensions "$extensions" "$@" -in "$name.csr" -out "$name.pem"
        }
        root authority "Errand test authority" authority
        root other "Another authority" authority
        root selfSigned localhost here
        leaf good authority localhost here -days 30
        leaf wrongHost authority elsewhere.example elsewhere -days 30
        leaf expired authority localhost here -startdate 20200101000000Z -enddate 20200201000000Z
        leaf client authority "test client" client -days 30
        leaf stranger other "test client" client -days 30
        """

    /// Creates the certificates in `folder`, which must exist.
    static func make(in folder: String) async throws -> TestCertificates {
        guard let openssl else { throw CocoaError(.fileNoSuchFile) }
        try await Programs.run("/bin/sh", ["-c", script, "sh", openssl], in: folder)
        return TestCertificates(folder: folder)
    }
}
