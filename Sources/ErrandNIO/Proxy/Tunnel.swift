#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// A dialog with a proxy for a tunnel, as a value without channels. The handler of the connection passes received bytes to the dialog, and
/// takes the steps that the dialog returns.
protocol Tunnel {
    /// Returns the bytes to write first.
    mutating func begin() throws -> ByteBuffer

    /// Reads the received bytes, and removes them from `bytes`. After ``TunnelStep/write(_:)``, the handler calls this method again.
    mutating func receive(_ bytes: inout ByteBuffer) -> TunnelStep

    /// Records that the proxy has closed the connection.
    mutating func end() -> TunnelStep
}

/// The next step of the dialog with a proxy.
enum TunnelStep {
    /// More bytes must be received.
    case wait
    case write(ByteBuffer)
    /// The tunnel is open.
    case open
    /// The proxy asks for credentials, and the dialog has credentials. This connection can't be used again.
    case connectAgain(ProxyDialog)
    case refuse(ProxyFailure)
}

/// An error for a proxy that does not open a tunnel, or is unreachable, with the reason in words.
struct ProxyFailure: Error {
    let message: String
    /// The code of the failure, `proxy` by default.
    var code = TransportError.Code.proxy
    /// The problem with the credentials; `nil` if the credentials are not the reason.
    var credentials: ProxyCredentialsProblem?
    var underlying: (any Error)?
}

/// The error for a challenge after which a new connection is opened. The new connection sends the requested credentials.
struct TunnelChallenged: Error {
    let dialog: ProxyDialog
}

extension Route {
    /// The dialog for the tunnel; `nil` if the route has no tunnel.
    func tunnel(_ dialog: ProxyDialog, limits: ResponseLimits) -> (any Tunnel)? {
        guard let proxy, isTunnel else { return nil }
        if proxy.settings.kind == .socks5 { return SOCKSTunnel(through: proxy, to: self) }
        return ConnectTunnel(through: proxy, to: self, dialog, limits: limits)
    }
}
#endif
