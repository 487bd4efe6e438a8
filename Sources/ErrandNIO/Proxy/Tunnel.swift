#if NIO
internal import ErrandCore
internal import NIOCore

/// Asks a proxy for a tunnel: a value without channels. The handler of the connection passes it what is received, and does what it returns.
protocol Tunnel {
    /// Returns what is written first.
    mutating func begin() throws -> ByteBuffer

    /// Reads what was received, and removes what it has read from `bytes`. After ``TunnelStep/write(_:)`` it is called again.
    mutating func receive(_ bytes: inout ByteBuffer) -> TunnelStep

    /// The proxy has closed the connection.
    mutating func end() -> TunnelStep
}

/// What follows in the dialog with a proxy.
enum TunnelStep {
    /// More must be received.
    case wait
    case write(ByteBuffer)
    /// The tunnel is open.
    case open
    /// The proxy asks for credentials, and the dialog has them. This connection can't be used for that.
    case connectAgain(ProxyDialog)
    case refuse(ProxyFailure)
}

/// A proxy does not open a tunnel, or can't be connected to, for a reason in words.
struct ProxyFailure: Error {
    let message: String
    let code: TransportError.Code
    /// What the proxy said of the credentials, if they are the reason.
    let credentials: ProxyCredentialsProblem?
    let underlying: (any Error)?

    /// - Parameter code: `proxy` by default.
    init(
        _ message: String, _ code: TransportError.Code = .proxy, credentials: ProxyCredentialsProblem? = nil, underlying: (any Error)? = nil
    ) { (self.message, self.code, self.credentials, self.underlying) = (message, code, credentials, underlying) }
}

/// The connection is opened anew, to send the credentials that a proxy has asked for.
struct TunnelChallenged: Error {
    let dialog: ProxyDialog
}

extension Route {
    /// How the tunnel is asked for; `nil` if there is none.
    func tunnel(_ dialog: ProxyDialog, limits: ResponseLimits) -> (any Tunnel)? {
        guard let proxy, isTunnel else { return nil }
        if proxy.settings.kind == .socks5 { return SOCKSTunnel(through: proxy, to: self) }
        return ConnectTunnel(through: proxy, to: self, dialog, limits: limits)
    }
}
#endif
