internal import Foundation

/// Certificates for servers on the loopback interface and for their clients, made on the spot by the `openssl` command.
public struct TestCertificates: Sendable {
    /// Certificates of a server, each with its key.
    public enum Server: String, Sendable, CaseIterable {
        /// For `localhost`, `127.0.0.1` and `::1`, by the authority.
        case good
        /// By the authority, for another host.
        case wrongHost
        /// By the authority, for the right host; its time is over.
        case expired
        /// For the right host, by itself.
        case selfSigned
    }

    public enum Client: String, Sendable, CaseIterable {
        /// By the authority.
        case client
        /// By another authority, which nobody knows.
        case stranger
    }

    let folder: String

    /// The authority's certificate: the only one to trust.
    public var authority: String { "\(folder)/authority.pem" }
    public func certificate(_ server: Server) -> String { "\(folder)/\(server.rawValue).pem" }
    public func key(_ server: Server) -> String { "\(folder)/\(server.rawValue).key" }
    public func certificate(_ client: Client) -> String { "\(folder)/\(client.rawValue).pem" }
    public func key(_ client: Client) -> String { "\(folder)/\(client.rawValue).key" }

    static let openssl = Programs.find("openssl")

    // `openssl ca` alone can date a certificate back before OpenSSL 3.4, and it works without a configuration of the system's.
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

    /// Makes them in `folder`, which must exist.
    static func make(in folder: String) async throws -> TestCertificates {
        guard let openssl else { throw CocoaError(.fileNoSuchFile) }
        try await Programs.run("/bin/sh", ["-c", script, "sh", openssl], in: folder)
        return TestCertificates(folder: folder)
    }
}
