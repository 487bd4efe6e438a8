internal import Foundation

/// The TLS servers of `stand/badtls.py` in the vectors of ``Suites``, one port for each case, most of them wrong in one way. They end with
/// this process.
///
/// `make_certs.py`, which stands beside it, needs a package of PyPI. Therefore the certificates are made here, by the `openssl`
/// command, with the same names: NAME.pem, NAME.key, and the pin of its public key in NAME.pin.
public final class BadTLSServer: Sendable {
    /// The cases, in the order of their ports.
    public static let cases = [
        "good", "wronghost", "untrusted", "expired", "notyet", "selfsigned", "missing-chain", "chain", "tls10", "tls12only", "tls13only",
        "truncated", "close-handshake", "rst-handshake", "hang-handshake", "plain-on-tls", "mtls",
    ]

    /// Whether `openssl` is installed.
    public static var hasOpenSSL: Bool { OpenSSLCertificate.program != nil }
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
        guard let openssl = OpenSSLCertificate.program, let python = Programs.find("python3"), let suites = Suites.folder else {
            throw ProgramFailure(program: "badtls.py", status: -1, output: "openssl, python3 or the vectors are not here")
        }
        var last = ""
        for _ in 0..<5 {
            let folder = try TestFolder("badtls", removesItself: false).path
            try await OpenSSLCertificate.make(Self.certificates, in: folder)
            try await Programs.run("/bin/sh", ["-c", Self.chainsAndPins, "sh", openssl], in: folder)
            // 17 consecutive ports, below the ports that the system assigns.
            let base = Int.random(in: 10_000..<32_000)
            let child = try ChildServer(
                folder: folder, command: [python, suites.appendingPathComponent("stand/badtls.py").path, folder, "\(base)", "3600"])
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

    private static let certificates: [OpenSSLCertificate] = {
        let here = OpenSSLCertificate.Purpose.server("DNS:localhost, IP:127.0.0.1, IP:::1, DNS:*.test.localhost")
        return [
            OpenSSLCertificate("ca", "Errand test authority", .authority),
            OpenSSLCertificate("other-ca", "Another authority", .authority),
            OpenSSLCertificate("selfsigned", "localhost", here),
            OpenSSLCertificate("good", "localhost", here, by: "ca"),
            OpenSSLCertificate("wronghost", "wrong.example", .server("DNS:wrong.example"), by: "ca"),
            OpenSSLCertificate("untrusted", "localhost", here, by: "other-ca"),
            OpenSSLCertificate("expired", "localhost", here, by: "ca", .expired),
            OpenSSLCertificate("notyet", "localhost", here, by: "ca", .notYetValid),
            OpenSSLCertificate("intermediate", "Errand test intermediate", .authority, by: "ca"),
            OpenSSLCertificate("missing-chain", "localhost", here, by: "intermediate"),
            OpenSSLCertificate("client", "client", .client, by: "ca"),
            OpenSSLCertificate("badclient", "client", .client, by: "other-ca"),
        ]
    }()

    private static let chainsAndPins = """
        set -eu
        openssl=$1
        cat missing-chain.pem intermediate.pem >chain.pem
        cp missing-chain.key chain.key
        for name in ca good wronghost untrusted expired intermediate chain; do
            $openssl x509 -in $name.pem -noout -pubkey | $openssl pkey -pubin -outform DER | $openssl dgst -sha256 -binary |
                $openssl base64 >$name.pin
        done
        """
}
