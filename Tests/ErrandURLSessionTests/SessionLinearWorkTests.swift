import Foundation
import TestSupport
import Testing

@testable import ErrandURLSession

/// Text from a server, and a file of certificates, are read in time in proportion to their bytes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SessionLinearWorkTests {
    @Test(arguments: ["a=b, ", ", ", ", a", "a", "=", ", =", "\u{301}"])
    func joinedCookiesAreSeparatedInLinearTime(_ piece: String) {
        let growth = growth(of: 8_000, making: { String(repeating: piece, count: $0) }) { _ = SetCookieFields.separated($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test(arguments: [
        "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n", "a", "\n", "a\n", " ", "-----BEGIN CERTIFICATE-----\n",
    ])
    func aFileOfCertificatesIsReadInLinearTime(_ piece: String) {
        let growth = growth(of: 1_000, making: { Data(String(repeating: piece, count: $0).utf8) }) { _ = PEMCertificates.read($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func aLongCertificateIsReadInLinearTime() {
        func file(_ count: Int) -> Data {
            let lines = String(repeating: String(repeating: "A", count: 64) + "\n", count: count)
            return Data("-----BEGIN CERTIFICATE-----\n\(lines)-----END CERTIFICATE-----\n".utf8)
        }
        let growth = growth(of: 500, making: file) { _ = PEMCertificates.read($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }
}
