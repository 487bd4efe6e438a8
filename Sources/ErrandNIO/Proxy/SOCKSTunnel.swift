#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// Asks a SOCKS 5 proxy for a connection ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)), with a user and a password if the settings
/// have them ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)).
///
/// The proxy resolves the host: a host name is sent as a name.
struct SOCKSTunnel: Tunnel {
    private enum State {
        case method
        case authentication
        case reply
        case over
    }

    private let name: String
    private let target: String
    private let credentials: ProxySettings.Credentials?
    private let host: String
    private let port: Int
    private var state = State.method
    private var hasReceived = false

    /// - Parameter proxy: the settings of the proxy. ``ErrandCore/ProxySettings/address()`` has checked that the user and the
    ///   password have at most 255 bytes each.
    init(through proxy: ProxyServer, to route: Route) {
        (name, credentials) = ("the \(proxy.shown)", proxy.settings.credentials)
        (host, port, target) = (route.origin.bareHost, route.origin.effectivePort, route.target)
    }

    mutating func begin() -> ByteBuffer { ByteBuffer(bytes: credentials == nil ? [5, 1, 0] : [5, 2, 0, 2]) }

    mutating func receive(_ bytes: inout ByteBuffer) -> TunnelStep {
        if bytes.readableBytes > 0 { hasReceived = true }
        switch state {
        case .method:
            guard let version = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return .wait }
            guard version == 5 else { return refuse(Self.mismatch(version)) }
            guard bytes.readableBytes >= 2, let method = bytes.readBytes(length: 2)?.last else { return .wait }
            return choose(method)
        case .authentication:
            guard bytes.readableBytes >= 2, let reply = bytes.readBytes(length: 2) else { return .wait }
            // RFC 1929 requires the version 1 in the first byte, but some proxies send another version. Therefore, the first byte is not
            // checked.
            guard reply[1] == 0 else { return refuse("refused the user and the password", .refused) }
            return request()
        case .reply: return reply(&bytes)
        case .over: return .wait
        }
    }

    private mutating func choose(_ method: UInt8) -> TunnelStep {
        switch (method, credentials) {
        case (0, _): return request()
        case (2, let credentials?):
            state = .authentication
            let (user, password) = (credentials.user.utf8, credentials.password.utf8)
            var buffer = ByteBuffer(bytes: [1, UInt8(truncatingIfNeeded: user.count)])
            buffer.writeBytes(user)
            buffer.writeInteger(UInt8(truncatingIfNeeded: password.count))
            buffer.writeBytes(password)
            return .write(buffer)
        case (0xFF, nil):
            return refuse("requires a user and a password, or another way to authenticate, but no credentials were given", .missing)
        case (0xFF, _): return refuse("accepts no user and password", .refused)
        default: return refuse("chose a way to authenticate that was not offered (\(method))")
        }
    }

    private mutating func request() -> TunnelStep {
        state = .reply
        var buffer = ByteBuffer(bytes: [5, 1, 0])
        if let address = try? IPAddress(host) {
            buffer.writeInteger(UInt8(address.isIPv4 ? 1 : 4))
            buffer.writeBytes(address.octets)
        } else {
            // A host has at most 253 octets, and perhaps a dot at the end.
            buffer.writeInteger(UInt8(3))
            buffer.writeInteger(UInt8(truncatingIfNeeded: host.utf8.count))
            buffer.writeString(host)
        }
        buffer.writeInteger(UInt16(truncatingIfNeeded: port))
        return .write(buffer)
    }

    private mutating func reply(_ bytes: inout ByteBuffer) -> TunnelStep {
        let view = Array(bytes.readableBytesView.prefix(5))
        if let version = view.first, version != 5 { return refuse(Self.mismatch(version)) }
        guard view.count >= 2 else { return .wait }
        guard view[1] == 0 else { return refuse("did not connect to \(target): \(Self.reason(view[1]))") }
        guard view.count == 5 else { return .wait }
        // The address that the proxy connects from is not needed.
        let addressBytes: Int
        switch view[3] {
        case 1: addressBytes = 4
        case 3: addressBytes = 1 + Int(view[4])
        case 4: addressBytes = 16
        default: return refuse("does not speak SOCKS 5 (RFC 1928, section 6)")
        }
        guard bytes.readableBytes >= 4 + addressBytes + 2 else { return .wait }
        bytes.moveReaderIndex(forwardBy: 4 + addressBytes + 2)
        state = .over
        return .open
    }

    /// Returns the reason for a reply code, in words (RFC 1928, section 6).
    static func reason(_ code: UInt8) -> String {
        let text =
            switch code {
            case 1: "general failure"
            case 2: "not allowed by its rules"
            case 3: "network unreachable"
            case 4: "host unreachable"
            case 5: "connection refused"
            case 6: "TTL expired"
            case 7: "command not supported"
            case 8: "kind of address not supported"
            default: "unknown reason"
            }
        return "\(text) (SOCKS reply \(code))"
    }

    /// - Parameter first: the byte in which a SOCKS proxy sends its version.
    private static func mismatch(_ first: UInt8) -> String {
        switch first {
        case UInt8(ascii: "H"): "does not speak SOCKS 5, but HTTP; configure it as an HTTP proxy"
        // An alert, or a message of a handshake (RFC 8446, section 5.1)
        case 0x15, 0x16: "does not speak SOCKS 5, but TLS; configure it as an HTTPS proxy"
        case 0: "does not speak SOCKS 5, but SOCKS 4, which is not supported"
        default: "does not speak SOCKS 5"
        }
    }

    private mutating func refuse(_ what: String, _ credentials: ProxyCredentialsProblem? = nil) -> TunnelStep {
        state = .over
        return .refuse(ProxyFailure(message: "\(name) \(what)", credentials: credentials))
    }

    mutating func end() -> TunnelStep {
        refuse(
            "closed the connection before the tunnel to \(target) was open"
                + (hasReceived ? "" : ", and sent nothing; check that it is a SOCKS 5 proxy"))
    }
}
#endif
