#if SWIFT_NIO
import ErrandCore
import NIOCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct KnownAddressesTests {
    @Test(
        arguments: [
            ("::1", "::1"), ("1.1.1.1 2.2.2.2", "1.1.1.1 2.2.2.2"), ("::1 ::2 1.1.1.1 2.2.2.2 3.3.3.3", "::1 1.1.1.1 ::2 2.2.2.2 3.3.3.3"),
            ("1.1.1.1 2.2.2.2 ::1", "1.1.1.1 ::1 2.2.2.2"), ("1.1.1.1 ::1 ::2 ::3", "1.1.1.1 ::1 ::2 ::3"),
        ] as [(String, String)])
    func addressKindsAlternateFromTheFirst(_ given: String, _ ordered: String) throws {
        let addresses = try given.split(separator: " ").map { try IPAddress(String($0)) }
        let shown = KnownAddresses.alternating(addresses).map(\.description).joined(separator: " ")
        #expect(shown == ordered)
    }

    @Test func anAddressBecomesASocketAddress() throws {
        for text in ["127.0.0.1", "2001:db8::1", "::1%1"] {
            let address = try IPAddress(text).socketAddress(port: 443)
            #expect(address.port == 443)
            #expect(address.ipAddress?.hasPrefix(text.prefix(3)) == true)
        }
    }
}
#endif
