import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct IPAddressTests {
    @Test(
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8::0001", "2001:db8::1"),
            // RFC 5952, section 4.2: one zero stays, the longest run is left out, and the first of two.
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("::FFFF:C000:201", "::ffff:192.0.2.1"), ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("fe80::1%2", "fe80::1%2"),
        ] as [(String, String)])
    func anAddressIsShownInItsUsualForm(_ text: String, _ shown: String) throws {
        let address = try IPAddress(text)
        #expect(address.description == shown)
        #expect(try IPAddress(shown) == address)
        #expect(address.isIPv4 == !text.contains(":"))
        #expect(address.octets.count == (address.isIPv4 ? 4 : 16))
        #expect(IPAddress(octets: address.octets, interface: address.interface) == address)
    }

    @Test(
        arguments: [
            "", "localhost", "127.1", "0x7f.0.0.1", "127.0.0.01", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "1.2.3.+4", "[::1]", "::1:", ":::",
            "1:2:3",
            "1::2::3", "12345::", "g::", "::1.2.3", "127.0.0.1:80", "127.0.0.1%1", "fe80::1%", "fe80::1%0", "fe80::1%eth0", "fe80::1%2%3",
            " 127.0.0.1", "127.0.0.1\n", "١٢٧.0.0.1",
        ])
    func anInvalidAddressIsRefused(_ text: String) {
        let error = #expect(throws: InvalidIPAddressError.self) { try IPAddress(text) }
        #expect(error?.description.hasPrefix("invalid IP address '") == true)
    }

    @Test func theOctetsMatchADNSRecord() throws {
        #expect(try IPAddress("192.0.2.1").octets == [192, 0, 2, 1])
        #expect(IPAddress(octets: [UInt8](repeating: 0, count: 15) + [1])?.description == "::1")
        #expect(IPAddress(octets: [1, 2, 3]) == nil)
    }
}
