internal import ErrandCore
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandURLSession

@Suite struct PEMCertificatesTests {
    @Test(.enabled(if: Programs.find("openssl") != nil, "there is no openssl on this machine"))
    func theCertificatesOfAFileAreThoseOfOpenSSL() async throws {
        let openssl = try #require(Programs.find("openssl"))
        let folder = try TestFolder("certificate")
        let (path, derPath) = (folder.file("a.pem"), folder.file("a.der"))
        _ = try await Programs.run(
            openssl,
            ["req", "-x509", "-nodes", "-subj", "/CN=a.example", "-keyout", folder.file("a.key"), "-out", path, "-newkey", "ed25519"])
        _ = try await Programs.run(openssl, ["x509", "-in", path, "-outform", "DER", "-out", derPath])
        let (pem, der) = (String(decoding: try folder.read("a.pem"), as: UTF8.self), Data(try folder.read("a.der")))
        #expect(PEMCertificates.read(Data("some text\n\(pem)\nmore text\n\(pem)".utf8)) == [der, der])
    }

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
