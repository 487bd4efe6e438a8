import ErrandCore
import Foundation
import TestSupport
import Testing

/// Certificates that `openssl` has made.
@Suite(.enabled(if: Programs.find("openssl") != nil, "there is no openssl on this machine"))
struct CertificatePartsTests {
    /// Returns a new self-signed certificate in DER, and its public key in base64.
    private func make(_ key: [String]) async throws -> (certificate: [UInt8], key: String) {
        let folder = try TestFolder("certificate")
        let (path, keyPath) = (folder.file("a.der"), folder.file("a.key"))
        let openssl = try #require(Programs.find("openssl"))
        _ = try await Programs.run(
            openssl,
            ["req", "-x509", "-nodes", "-subj", "/CN=a.example", "-keyout", keyPath, "-outform", "DER", "-out", path, "-newkey"] + key)
        let publicKey = try await Programs.run(openssl, ["x509", "-inform", "DER", "-in", path, "-pubkey", "-noout"])
        let lines = publicKey.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return (Array(try folder.read("a.der")), lines.joined())
    }

    static let keys: [[String]] = [
        ["rsa:2048"], ["rsa:4096"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        ["ed25519"],
    ]

    @Test(arguments: keys) func thePublicKeyIsThatOfOpenSSL(key: [String]) async throws {
        let (certificate, expected) = try await make(key)
        let parts = try #require(CertificateParts(certificate[...]))
        #expect(Data(parts.publicKeyInfo).base64EncodedString() == expected)
        #expect(parts.issuer == parts.subject && !parts.issuer.isEmpty)
    }

    @Test func aDamagedCertificateHasNoParts() async throws {
        let certificate = try await make(["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]).certificate
        for count in certificate.indices { #expect(CertificateParts(certificate[..<count]) == nil) }
        // No octet makes the reader trap.
        for index in certificate.indices {
            var damaged = certificate
            for octet in [0x00, 0x7F, 0x80, 0x83, 0xFF] as [UInt8] {
                damaged[index] = octet
                _ = CertificateParts(damaged[...])
            }
        }
    }
}
