#if SWIFT_NIO
@testable import ErrandNIO
import ErrandCore
import Foundation
import NIOCore
import NIOEmbedded
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectProgressTests {
    private func address(_ text: String, _ port: Int = 443) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: port) }

    @Test func eachStepIsNamedWithItsHostOrAddress() throws {
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
        #expect(progress.text == ", during the TCP connect to [2001:db8::1]:443 and 192.0.2.1:443")
        progress.addresses.fail(try address("2001:db8::1"), ChannelError.eof)
        #expect(
            progress.text == ", during the TCP connect to [2001:db8::1]:443: connection closed by the server; 192.0.2.1:443: no response")
        progress.step = .tls
        #expect(progress.text == ", during the TLS handshake")
        progress.peer = try address("2001:db8::1", 8443)
        #expect(progress.text == ", during the TLS handshake with [2001:db8::1]:8443")
    }

    /// The proxy has closed the connection after its challenge.
    @Test func aSecondConnectionToAProxyRestartsTheProgress() throws {
        let loop = EmbeddedEventLoop()
        let attempt = ConnectAttempt(loop.makePromise(), for: nil)
        defer { attempt.cancel() }
        for _ in 0..<2 {
            attempt.enter(.connect)
            attempt.recordTry(of: try address("192.0.2.1", 3128))
            #expect(attempt.progress == ", during the TCP connect to 192.0.2.1:3128")
            attempt.recordPeer(try address("192.0.2.1", 3128))
            attempt.enterProxyTLS()
            #expect(attempt.progress == ", during the TLS handshake with 192.0.2.1:3128")
            attempt.enterTunnel(through: "the proxy p.example:3128")
            attempt.recordProxyResponse()
            #expect(attempt.progress == ", while the proxy p.example:3128 opened a tunnel")
            attempt.forgetTunnel()
            #expect(attempt.progress == ", during the TCP connect")
        }
        attempt.leaveTunnel(.tls)
        #expect(attempt.progress == ", during the TLS handshake")
    }

    @Test func theProxyIsNamedUntilTheTunnelIsOpen() throws {
        var progress = ConnectProgress()
        progress.proxy = ProxyAddress(.socks5(host: "p.example"))
        #expect(progress.text == "")
        (progress.step, progress.host) = (.dns, "p.example")
        #expect(progress.text == ", during the lookup of 'p.example' (the SOCKS 5 proxy p.example:1080)")
        #expect(progress.withoutProxy == ", during the lookup of 'p.example'")
        progress.tunnel = "the SOCKS 5 proxy p.example:1080"
        let asking = ", while the SOCKS 5 proxy p.example:1080 opened a tunnel"
        #expect(progress.text == asking + "; the proxy sent nothing: check that it is a SOCKS 5 proxy")
        #expect(progress.slowProxy == progress.proxy)
        progress.proxyResponds = true
        #expect(progress.text == asking && progress.slowProxy == nil)
        (progress.tunnel, progress.proxy, progress.step) = (nil, nil, .tls)
        #expect(progress.text == ", during the TLS handshake")
    }

    @Test func aUnixSocketIsShownByItsPath() throws {
        var progress = ConnectProgress()
        progress.step = .connect
        progress.unixSocketPath = "/tmp/s"
        #expect(progress.text == ", during the connect to '/tmp/s'")
        progress.addresses.begin(try SocketAddress(unixDomainSocketPath: "/tmp/s"))
        #expect(progress.text == ", during the connect to '/tmp/s'")
        (progress.step, progress.peer) = (.tls, try SocketAddress(unixDomainSocketPath: "/tmp/s"))
        #expect(progress.text == ", during the TLS handshake with '/tmp/s'")
    }

    /// Each letter is an address: `c` has failed as closed, `u` as unreachable, `.` has not failed.
    @Test(
        arguments: [
            ("", ""), ("c", "0: closed"), (".", "0"), ("..", "0 and 1"), ("...", "0, 1 and 2"), ("....", "0, 1 and 2 more"),
            ("c.", "0: closed; 1: no response"), ("cc.", "0 and 1: closed; 2: no response"), ("cuc", "0 and 2: closed; 1: unreachable"),
            ("ccc", "0, 1 and 2: closed"), ("cccc", "0, 1 and 2 more: closed"), ("ccccc", "0, 1 and 3 more: closed"),
            (".cu", "0: no response; 1: closed; 2: unreachable"), ("cutpaa", "0: closed; 1: unreachable; 2: late; 3: ended; and 2 more"),
        ] as [(String, String)])
    func addressesWithTheSameReasonAreGrouped(_ outcomes: String, _ expected: String) throws {
        let errors: [Character: (error: ChannelError, text: String)] = [
            "c": (.eof, "closed"), "u": (.writeHostUnreachable, "unreachable"), "t": (.connectTimeout(.seconds(1)), "late"),
            "p": (.alreadyClosed, "ended"), "a": (.badMulticastGroupAddressFamily, "other"),
        ]
        var addresses = TriedAddresses()
        for (number, letter) in outcomes.enumerated() {
            let address = try address("192.0.2.\(number)")
            addresses.begin(address)
            if let error = errors[letter]?.error { addresses.fail(address, error) }
        }
        var text = "\(addresses)".replacing("192.0.2.", with: "").replacing(":443", with: "")
        for (error, short) in errors.values { text = text.replacing(FailureText.of(error), with: short) }
        #expect(text == expected)
    }

    /// Each address with its error: `d` for ENETDOWN, `n` for ENETUNREACH, `h` for EHOSTUNREACH, `r` for ECONNREFUSED, `.` for no error.
    @Test(
        arguments: [
            ("", false), ("4n", true), ("4d", true), ("4n6n", true), ("6n4d", true), ("4h", false), ("4r", false), ("4.", false),
            ("4n6r", false), ("4n6h", false), ("4n6.", false),
            // A device without IPv6 is not offline.
            ("6n", false), ("6n6d", false), ("6n4r", false),
        ] as [(String, Bool)])
    func onlyCertaintySaysThatTheDeviceIsOffline(_ outcomes: String, _ isOffline: Bool) throws {
        let codes: [Character: Int32] = ["d": ENETDOWN, "n": ENETUNREACH, "h": EHOSTUNREACH, "r": ECONNREFUSED]
        var addresses = TriedAddresses()
        for (number, outcome) in zip(outcomes, outcomes.dropFirst()).enumerated() where number.isMultiple(of: 2) {
            let address = try address(outcome.0 == "4" ? "192.0.2.\(number)" : "2001:db8::\(number)")
            addresses.begin(address)
            if let code = codes[outcome.1] { addresses.fail(address, IOError(errnoCode: code, reason: "connect")) }
        }
        #expect(addresses.showThatDeviceIsOffline == isOffline)
    }
}
#endif
