#if NIO
internal import ErrandCore
internal import NIOCore

/// How far an attempt to connect has come, for messages.
struct ConnectProgress: Sendable {
    /// The step in progress, or the last one.
    var step: ConnectStep?
    /// Whether the trusted certificates are read.
    var isLoading = false
    /// The proxy that is asked for a tunnel: `the proxy proxy.example:3128`.
    var tunnel: String?
    /// The host that is looked up.
    var host = ""
    var addresses = TriedAddresses()
    /// The other side of the connection; `nil` for a Unix domain socket.
    var peer: SocketAddress?

    /// With what a message ends: `, during the TCP connect to 192.0.2.1:443`; empty before the first step.
    var text: String {
        if isLoading { return ", while the trusted certificates of the system were read" }
        if let tunnel { return ", while \(tunnel) opened a tunnel" }
        switch step {
        case .dns: return ", during the lookup of '\(host.shownSafely())'"
        case .connect: return ", during the \(addresses.isUnixSocket ? "" : "TCP ")connect\(addresses.isEmpty ? "" : " to \(addresses)")"
        case .tls: return ", during the TLS handshake" + (peer.map { " with \($0.shown)" } ?? "")
        case nil: return ""
        }
    }
}

/// Addresses that a connection was tried to, each with the reason why it has failed, if it has.
///
/// The description has at most four of them: `192.0.2.1:443: connection refused, [2001:db8::1]:443, and 3 more`.
struct TriedAddresses: Sendable, CustomStringConvertible {
    private static let shownCount = 4
    private var entries: [(address: SocketAddress, error: (any Error)?)] = []

    init() {}

    init(_ failures: [(address: SocketAddress, error: any Error)]) { entries = failures.map { ($0.address, $0.error) } }

    var isEmpty: Bool { entries.isEmpty }
    var isUnixSocket: Bool { entries.first?.address.pathname != nil }

    mutating func begin(_ address: SocketAddress) { entries.append((address, nil)) }

    mutating func fail(_ address: SocketAddress, _ error: any Error) {
        guard let index = entries.firstIndex(where: { $0.address == address && $0.error == nil }) else { return }
        entries[index].error = error
    }

    var description: String {
        var texts = entries.prefix(Self.shownCount).map { entry in
            entry.address.shown + (entry.error.map { ": \(FailureText.of($0))" } ?? "")
        }
        if entries.count > Self.shownCount { texts.append("and \(entries.count - Self.shownCount) more") }
        return texts.joined(separator: ", ")
    }
}

extension SocketAddress {
    /// The address with its port, an IPv6 address in brackets; the path of a Unix domain socket in quotation marks.
    var shown: String {
        guard let address = ipAddress, let port else { return "'\((pathname ?? "").shownSafely())'" }
        return self.protocol == .inet6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
#endif
