/// The protocol, the host and the port of a proxy, without credentials.
///
/// ```swift
/// if let proxy = error.proxy { print("check the \(proxy)") }  // check the HTTP proxy proxy.example:3128
/// ```
public struct ProxyAddress: Sendable, Hashable {
    /// The protocol of the proxy.
    public let kind: ProxySettings.Kind
    /// The name or the address of the proxy. An IPv6 address has no brackets. If the host in the settings may be a URL, the text is
    /// `invalid`, because a URL may hold a password.
    public let host: String
    /// The port of the proxy.
    public let port: Int

    /// Creates the address of the proxy that `settings` describe.
    public init(_ settings: ProxySettings) {
        (kind, port) = (settings.kind, settings.port)
        host = settings.hostIsURL ? "invalid" : settings.host
    }
}

extension ProxyAddress: CustomStringConvertible, HidesStorage {
    /// The protocol, the host and the port, an IPv6 address in brackets: `HTTP proxy proxy.example:3128`.
    public var description: String { "\(kind) proxy \(ProxySettings.bracketed(host).shownSafely()):\(port)" }
}

/// The reason why a proxy refused a request because of the credentials for the proxy.
public enum ProxyCredentialsProblem: String, Sendable, Hashable {
    /// The proxy requires credentials, and the settings have no credentials.
    case missing
    /// The proxy does not accept the credentials, or does not support their authentication scheme.
    case refused
}
