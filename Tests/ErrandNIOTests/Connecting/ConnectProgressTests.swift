#if NIO
@testable import ErrandNIO
import ErrandCore
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectProgressTests {
    private func address(_ text: String, _ port: Int = 443) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: port) }

    @Test func eachStepIsNamedWithWhatIsKnown() throws {
        var progress = ConnectProgress()
        #expect(progress.text == "")
        (progress.step, progress.host) = (.dns, "a.example")
        #expect(progress.text == ", during the lookup of 'a.example'")
        progress.isLoading = true
        #expect(progress.text == ", while the trusted certificates of the system were read")
        (progress.step, progress.isLoading) = (.connect, false)
        #expect(progress.text == ", during the TCP connect")
        progress.addresses.begin(try address("2001:db8::1"))
        progress.addresses.begin(try address("192.0.2.1"))
        #expect(progress.text == ", during the TCP connect to [2001:db8::1]:443, 192.0.2.1:443")
        progress.addresses.fail(try address("2001:db8::1"), ChannelError.eof)
        #expect(progress.text == ", during the TCP connect to [2001:db8::1]:443: connection closed by the server, 192.0.2.1:443")
        progress.step = .tls
        #expect(progress.text == ", during the TLS handshake")
        progress.peer = try address("2001:db8::1", 8443)
        #expect(progress.text == ", during the TLS handshake with [2001:db8::1]:8443")
    }

    @Test func aUnixSocketIsShownByItsPath() throws {
        var progress = ConnectProgress()
        progress.step = .connect
        progress.addresses.begin(try SocketAddress(unixDomainSocketPath: "/tmp/s"))
        #expect(progress.text == ", during the connect to '/tmp/s'")
    }

    @Test(arguments: [(4, "192.0.2.0:443, 192.0.2.1:443, 192.0.2.2:443, 192.0.2.3:443"), (6, "192.0.2.3:443, and 2 more")])
    func atMostFourAddressesAreShown(count: Int, end: String) throws {
        var addresses = TriedAddresses()
        for number in 0..<count { addresses.begin(try address("192.0.2.\(number)")) }
        #expect("\(addresses)".hasSuffix(end))
        #expect("\(addresses)".hasPrefix("192.0.2.0:443, "))
        #expect(!"\(addresses)".contains("192.0.2.4"))
    }
}
#endif
