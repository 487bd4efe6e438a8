import ErrandCore
import Foundation
import Testing

@Suite struct ServerTrustTests {
    @Test(arguments: [
        (ServerTrust.Verdict.trusted, 3, "a.example:443, 3 certificates, trusted"),
        (.untrusted(reason: "has\nexpired"), 1, "a.example:443, 1 certificate, not trusted: has\\u{a}expired"),
        (.unchecked, 0, "a.example:443, 0 certificates, not checked"),
    ])
    func theDescriptionIsOneLine(verdict: ServerTrust.Verdict, count: Int, text: String) {
        let certificates = [Data](repeating: Data([0x30, 0x00]), count: count)
        let server = ServerTrust(host: "a.example", port: 443, certificates: certificates, verdict: verdict)
        #expect(server.description == text)
    }
}
