#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The progress of an attempt to connect, for messages.
struct ConnectProgress: Sendable {
    /// The step in progress, or the last step.
    var step: ConnectStep?
    /// Whether the load of the trusted certificates is in progress.
    var isLoading = false
    /// The proxy that the attempt connects to; `nil` for a direct connection, and when the tunnel is open.
    var proxy: ProxyAddress?
    /// The proxy of the tunnel, in words: `the HTTP proxy proxy.example:3128`.
    var tunnel: String?
    /// Whether the proxy has sent a byte in the dialog for a tunnel.
    var proxyResponds = false
    /// Whether the proxy has sent a byte since the last request to the proxy.
    var isWithinReply = false
    /// The host that is looked up.
    var host = ""
    var addresses = TriedAddresses()
    /// The other side of the connection.
    var peer: SocketAddress?
    /// The path of the Unix domain socket that the attempt connects to; `nil` for TCP.
    var unixSocketPath: String?

    /// The text for the end of a message: `, during the TCP connect to 192.0.2.1:443`. The text also names the proxy if the attempt
    /// connects to a proxy. The text is empty before the first step.
    var text: String {
        let text = withoutProxy
        guard let proxy, tunnel == nil, !isLoading, !text.isEmpty else { return text }
        return "\(text) (the \(proxy))"
    }

    /// The proxy, if the proxy caused the timeout; otherwise `nil`. Before the connection to the origin is open, an HTTP proxy sends
    /// nothing, and the origin may be the cause of the timeout. A SOCKS proxy responds to the first message immediately.
    var slowProxy: ProxyAddress? { tunnel == nil || isWithinReply || proxy?.kind == .socks5 && !proxyResponds ? proxy : nil }

    private var reasonOfSilence: String {
        guard let kind = proxy?.kind, kind != .socks5 else { return "check that it is a SOCKS 5 proxy" }
        return "it may wait for the origin, or is not an \(kind) proxy"
    }

    /// The text for the end of a message that already names the proxy.
    var withoutProxy: String {
        if isLoading { return ", while the trusted certificates of the system were read" }
        if let tunnel {
            return ", while \(tunnel) opened a tunnel" + (proxyResponds ? "" : "; the proxy sent nothing: \(reasonOfSilence)")
        }
        switch step {
        case .dns: return ", during the lookup of '\(host.shownSafely())'"
        case .connect:
            if let unixSocketPath { return ", during the connect to '\(unixSocketPath.shownSafely())'" }
            return ", during the TCP connect\(addresses.isEmpty ? "" : " to \(addresses)")"
        case .tls:
            let other = unixSocketPath.map { "'\($0.shownSafely())'" } ?? peer?.shown
            return ", during the TLS handshake" + (other.map { " with \($0)" } ?? "")
        case nil: return ""
        }
    }
}

/// The addresses that were tried. Each failed address has the reason of its failure.
///
/// Addresses with the same reason are listed together: `192.0.2.1:80, 192.0.2.2:80 and 3 more: connection refused; [2001:db8::1]:80: no
/// response`. If no address has a reason, the text lists only the addresses.
struct TriedAddresses: Sendable, CustomStringConvertible {
    /// The maximum number of different reasons in the text.
    private static let shownReasons = 4
    private var entries: [(address: SocketAddress, error: (any Error)?)] = []

    init() {}

    init(_ failures: [(address: SocketAddress, error: any Error)]) { entries = failures.map { ($0.address, $0.error) } }

    var isEmpty: Bool { entries.isEmpty }

    mutating func begin(_ address: SocketAddress) { entries.append((address, nil)) }

    mutating func fail(_ address: SocketAddress, _ error: any Error) {
        guard let index = entries.firstIndex(where: { $0.address == address && $0.error == nil }) else { return }
        entries[index].error = error
    }

    /// Whether the device is certainly offline: for every address, the system reported that there is no network or no route.
    ///
    /// An online device without IPv6 has no route to an IPv6 address. Therefore, at least one of the addresses must be an IPv4 address.
    var showThatDeviceIsOffline: Bool {
        entries.contains { $0.address.protocol == .inet }
            && entries.allSatisfy { ($0.error as? IOError).map { isErrorOfOfflineDevice($0.errnoCode) } ?? false }
    }

    var description: String {
        guard entries.contains(where: { $0.error != nil }) else { return Self.list(entries.map(\.address)) }
        var groups: [(reason: String, addresses: [SocketAddress])] = []
        for (address, error) in entries {
            let reason = error.map { FailureText.of($0) } ?? "no response"
            if let index = groups.firstIndex(where: { $0.reason == reason }) {
                groups[index].addresses.append(address)
            } else {
                groups.append((reason, [address]))
            }
        }
        var texts = groups.prefix(Self.shownReasons).map { "\(Self.list($0.addresses)): \($0.reason)" }
        let rest = groups.dropFirst(Self.shownReasons).reduce(0) { $0 + $1.addresses.count }
        if rest > 0 { texts.append("and \(rest) more") }
        return texts.joined(separator: "; ")
    }

    /// Returns up to three addresses, or two addresses and the number of further addresses.
    private static func list(_ addresses: [SocketAddress]) -> String {
        let isLong = addresses.count > 3
        var texts = addresses.prefix(isLong ? 2 : 3).map(\.shown)
        let last = isLong ? "\(addresses.count - 2) more" : texts.popLast() ?? ""
        return texts.isEmpty ? last : "\(texts.joined(separator: ", ")) and \(last)"
    }
}

extension SocketAddress {
    /// The address with its port. An IPv6 address is in brackets. The path of a Unix domain socket is in quotation marks.
    var shown: String {
        guard let address = ipAddress, let port else { return "'\((pathname ?? "").shownSafely())'" }
        return self.protocol == .inet6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
#endif
