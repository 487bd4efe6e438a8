internal import ErrandCore
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

/// Certificates that `openssl` has made.
@Suite(.enabled(if: Programs.find("openssl") != nil, "there is no openssl on this machine"))
struct CertificateTests {
    private func openssl(_ arguments: String...) async throws -> String {
        try await Programs.run(try #require(Programs.find("openssl")), arguments)
    }

    /// Returns a new self-signed certificate in PEM, and its public key in base64.
    private func make(_ key: [String]) async throws -> (pem: String, key: String) {
        let folder = try TestFolder("certificate")
        let (path, keyPath) = (folder.file("a.pem"), folder.file("a.key"))
        _ = try await Programs.run(
            try #require(Programs.find("openssl")),
            ["req", "-x509", "-nodes", "-subj", "/CN=a.example", "-keyout", keyPath, "-out", path, "-newkey"] + key)
        let publicKey = try await openssl("x509", "-in", path, "-pubkey", "-noout")
        let lines = publicKey.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        return (String(decoding: try folder.read("a.pem"), as: UTF8.self), lines.joined())
    }

    static let keys: [[String]] = [
        ["rsa:2048"], ["rsa:4096"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        ["ed25519"],
    ]

    @Test(arguments: keys) func thePublicKeyIsThatOfOpenSSL(key: [String]) async throws {
        let (pem, expected) = try await make(key)
        let certificates = try #require(PEMCertificates.read(Data("some text\n\(pem)\nmore text\n\(pem)".utf8)))
        #expect(certificates.count == 2)
        for certificate in certificates {
            #expect(PublicKeyInfo.bytes(ofCertificate: certificate)?.base64EncodedString() == expected)
        }
    }

    @Test func aDamagedCertificateHasNoPublicKey() async throws {
        let pem = try await make(["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]).pem
        let certificate = try #require(PEMCertificates.read(Data(pem.utf8))?.first)
        for count in 0..<certificate.count { #expect(PublicKeyInfo.bytes(ofCertificate: certificate.prefix(count)) == nil) }
        // No octet makes the reader trap.
        for index in certificate.indices {
            var damaged = certificate
            for octet in [0x00, 0x7F, 0x80, 0x83, 0xFF] as [UInt8] {
                damaged[index] = octet
                _ = PublicKeyInfo.bytes(ofCertificate: damaged)
            }
        }
    }
}

@Suite struct PEMCertificatesTests {
    @Test(arguments: [
        "", "some text", "-----BEGIN CERTIFICATE-----\nAAAA\n", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ])
    func aFileWithoutACompleteCertificateIsRefused(text: String) { #expect(PEMCertificates.read(Data(text.utf8)) == nil) }

    @Test func linesMayEndWithCRLFAndBlanks() {
        let text = "-----BEGIN CERTIFICATE----- \r\nAA \r\n AA\r\n-----END CERTIFICATE-----\r\n"
        #expect(PEMCertificates.read(Data(text.utf8)) == [Data([0, 0, 0])])
    }
}
