internal import Foundation

/// The TLS servers of `stand/badtls.py` in the vectors of ``Suites``, one port for each case, most of them wrong in one way. They end with
/// this process.
///
/// `make_certs.py`, which stands beside it, needs a package of PyPI. Therefore the certificates are made here, by the `openssl` command, with
/// the same names: NAME.pem, NAME.key, and the pin of its public key in NAME.pin.
public final class BadTLSServer: Sendable {
    /// The cases, in the order of their ports.
    public static let cases = [
        "good", "wronghost", "untrusted", "expired", "notyet", "selfsigned", "missing-chain", "chain", "tls10", "tls12only", "tls13only",
        "truncated", "close-handshake", "rst-handshake", "hang-handshake", "plain-on-tls", "mtls",
    ]

    /// Whether `openssl` is installed.
    public static var hasOpenSSL: Bool { TestCertificates.openssl != nil }
    /// Whether `python3` is installed.
    public static var hasPython: Bool { Programs.find("python3") != nil }

    private static let starting = Task { try await BadTLSServer() }

    /// Returns the servers, which are started at the first call.
    ///
    /// - Throws: the error of starting them, at each call.
    public static func shared() async throws -> BadTLSServer { try await starting.value }

    private let folder: String
    private let base: Int
    private let child: ChildServer

    private init() async throws {
        guard let openssl = TestCertificates.openssl, let python = Programs.find("python3"), let suites = Suites.folder else {
            throw ProgramFailure(program: "badtls.py", status: -1, output: "openssl, python3 or the vectors are not here")
        }
        var last = ""
        for _ in 0..<5 {
            let folder = try TestFolder("badtls", removesItself: false).path
            try await Programs.run("/bin/sh", ["-c", Self.script, "sh", openssl], in: folder)
            // 17 ports in a row, below those that the system gives away.
            let base = Int.random(in: 10_000..<32_000)
            let child = try ChildServer(
                folder: folder, command: [python, suites.appendingPathComponent("stand/badtls.py").path, folder, "\(base)", "600"])
            // It lists the port of the first case last.
            let end = ContinuousClock.now.advanced(by: .seconds(10))
            while ContinuousClock.now < end, !child.log.contains("Error") {
                if child.log.contains("\(base) good\n") {
                    (self.folder, self.base, self.child) = (folder, base, child)
                    return
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            last = child.log
            child.stop()
        }
        throw ProgramFailure(program: "badtls.py", status: -1, output: last)
    }

    /// Returns a URL of a case.
    public func url(_ name: String, host: String = "localhost") -> String {
        "https://\(host):\(base + (Self.cases.firstIndex(of: name) ?? 0))/"
    }

    /// Returns the path of a file: `ca.pem`, which signs most of the certificates, `intermediate.pem`, `client.key`.
    public func file(_ name: String) -> String { "\(folder)/\(name)" }

    /// Returns the pin of a certificate, as the `openssl` command calculates it.
    public func pin(_ name: String) throws -> String {
        let text = try String(contentsOfFile: file("\(name).pin"), encoding: .utf8)
        return "sha256/" + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    // Before OpenSSL 3.4, only `openssl ca` can create a certificate with dates of one's own.
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
        subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1, DNS:*.test.localhost
        extendedKeyUsage = serverAuth
        [elsewhere]
        subjectAltName = DNS:wrong.example
        extendedKeyUsage = serverAuth
        [client]
        extendedKeyUsage = clientAuth
        END
        : >index
        echo 1000 >serial
        key() { $openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }
        root() { # name, common name, extensions
            key "$1"
            $openssl req -new -x509 -key "$1.key" -subj "/CN=$2" -days 30 -extensions "$3" -out "$1.pem"
        }
        signed() { # name, authority, common name, extensions, dates
            key "$1"
            $openssl req -new -key "$1.key" -subj "/CN=$3" -out "$1.csr"
            name=$1; by=$2; extensions=$4; shift 4
            $openssl ca -batch -notext -cert "$by.pem" -keyfile "$by.key" -extensions "$extensions" "$@" -in "$name.csr" -out "$name.pem"
        }
        root ca "Errand test authority" authority
        root other-ca "Another authority" authority
        root selfsigned localhost here
        signed good ca localhost here -days 30
        signed wronghost ca wrong.example elsewhere -days 30
        signed untrusted other-ca localhost here -days 30
        signed expired ca localhost here -startdate 20200101000000Z -enddate 20200201000000Z
        signed notyet ca localhost here -startdate 20450101000000Z -enddate 20450201000000Z
        signed intermediate ca "Errand test intermediate" authority -days 30
        signed missing-chain intermediate localhost here -days 30
        signed client ca client client -days 30
        signed badclient other-ca client client -days 30
        cat missing-chain.pem intermediate.pem >chain.pem
        cp missing-chain.key chain.key
        for name in ca good untrusted expired intermediate chain; do
            $openssl x509 -in $name.pem -noout -pubkey | $openssl pkey -pubin -outform DER | $openssl dgst -sha256 -binary |
                $openssl base64 >$name.pin
        done
        """
}
