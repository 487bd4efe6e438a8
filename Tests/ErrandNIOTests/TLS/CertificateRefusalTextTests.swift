#if SWIFT_NIO
import ErrandCore
import Testing

@testable import ErrandNIO

/// Why a certificate is refused, in words.
@Suite(.timeLimit(.minutes(5))) struct CertificateRefusalTextTests {
    @Test(arguments: [
        (1_000, 2_000, 2_001, "the certificate has expired: it was valid until Thu, 01 Jan 1970 00:33:20 GMT"),
        (
            1_000, 2_000, 999,
            "the certificate is not valid yet: it is valid from Thu, 01 Jan 1970 00:16:40 GMT; check the clock of this computer"
        ),
        (1_000, 2_000, 1_000, "the certificate is signed by an unknown authority, or by itself"),
        (1_000, 2_000, 2_000, "the certificate is signed by an unknown authority, or by itself"),
    ])
    func aRefusedCertificateIsDescribedInWords(from start: Int64, to end: Int64, at now: Int64, words: String) {
        let text = certificateRefusalText(
            validFrom: HTTPDate(secondsSinceEpoch: start), until: HTTPDate(secondsSinceEpoch: end), now: HTTPDate(secondsSinceEpoch: now))
        #expect(text.hasPrefix(words))
    }
}
#endif
