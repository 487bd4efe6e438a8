/// A certificate that the `openssl` command creates: NAME.pem, and its key NAME.key.
struct OpenSSLCertificate: Sendable {
    enum Purpose: Sendable {
        /// Signs other certificates.
        case authority
        /// Signs other certificates, with name constraints as `openssl` writes them: `permitted;DNS:a.example`.
        case constrainedAuthority(String)
        /// The certificate of a server with these alternative names, whose extended key usage is that of clients.
        case serverForClients(String)
        /// The certificate of a server with these alternative names, in the form of `openssl`: `DNS:localhost, IP:127.0.0.1`.
        case server(String)
        case client
    }

    enum Dates: Sendable {
        /// From now on, for 30 days.
        case valid
        /// January 2020.
        case expired
        /// January 2045.
        case notYetValid
    }

    let name: String
    let commonName: String
    let purpose: Purpose
    /// The name of the certificate that signs it, which comes before it; `nil` for a self-signed one.
    let signer: String?
    let dates: Dates

    init(_ name: String, _ commonName: String, _ purpose: Purpose, by signer: String? = nil, _ dates: Dates = .valid) {
        (self.name, self.commonName, self.purpose, self.signer, self.dates) = (name, commonName, purpose, signer, dates)
    }

    /// The path of the `openssl` command; `nil` if it is not installed.
    static let program = Programs.find("openssl")

    /// Creates certificates in `folder`, which must exist.
    ///
    /// - Throws: ``ProgramFailure`` with the output of the command.
    static func make(_ certificates: [OpenSSLCertificate], in folder: String) async throws {
        guard let program else { throw ProgramFailure(program: "openssl", status: -1, output: "not here") }
        let script =
            header + certificates.map(\.section).joined() + "END\n" + functions + certificates.map(\.command).joined(separator: "\n")
        try await Programs.run("/bin/sh", ["-c", script, "sh", program], in: folder)
    }

    private var section: String {
        let authority = "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign\nsubjectKeyIdentifier = hash"
        let extensions =
            switch purpose {
            case .authority: authority
            case .constrainedAuthority(let constraints): authority + "\nnameConstraints = critical, \(constraints)"
            case .serverForClients(let names): "subjectAltName = \(names)\nextendedKeyUsage = clientAuth"
            case .server(let names): "subjectAltName = \(names)\nextendedKeyUsage = serverAuth"
            case .client: "extendedKeyUsage = clientAuth"
            }
        return "[extensions-\(name)]\n\(extensions)\n"
    }

    private var command: String {
        guard let signer else { return "root \(name) '\(commonName)'" }
        let dates =
            switch dates {
            case .valid: "-days 30"
            case .expired: "-startdate 20200101000000Z -enddate 20200201000000Z"
            case .notYetValid: "-startdate 20450101000000Z -enddate 20450201000000Z"
            }
        return "signed \(name) '\(commonName)' \(signer) \(dates)"
    }

    // Before OpenSSL 3.4, only `openssl ca` can create a certificate with dates of one's own. It doesn't need the system's configuration.
    private static let header = """
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

        """

    private static let functions = """
        : >index
        echo 1000 >serial
        key() { $openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; chmod 644 "$1.key"; }
        root() { # name, common name
            key "$1"
            $openssl req -new -x509 -key "$1.key" -subj "/CN=$2" -days 30 -extensions "extensions-$1" -out "$1.pem"
        }
        signed() { # name, common name, signer, dates
            key "$1"
            $openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
            name=$1; by=$3; shift 3
            $openssl ca -batch -notext -cert "$by.pem" -keyfile "$by.key" -extensions "extensions-$name" "$@" -in "$name.csr" \\
                -out "$name.pem"
        }

        """
}
