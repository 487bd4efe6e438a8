/// The rules that choose a proxy, or a direct connection, for each request.
///
/// ```swift
/// configuration.proxy = .all(.http(host: "proxy.example", port: 3128))
/// configuration.proxy = .environment()
/// configuration.proxy = .byOrigin { origin in origin.host.hasSuffix(".internal") ? nil : office }
/// ```
public struct ProxyPolicy: Sendable, CustomStringConvertible, HidesStorage {
    private enum Choice: Sendable {
        case none
        case all(ProxySettings)
        case environment(ProxyEnvironment)
        case byOrigin(@Sendable (Origin) throws(ProxySettingsError) -> ProxySettings?)
    }

    private let choice: Choice

    private init(_ choice: Choice) { self.choice = choice }

    /// No proxy: all connections are direct.
    public static let none = ProxyPolicy(.none)

    /// Returns a policy that sends all requests through one proxy, including requests to this computer.
    public static func all(_ proxy: ProxySettings) -> ProxyPolicy { ProxyPolicy(.all(proxy)) }

    /// Returns a policy that takes the proxies from environment variables, with the same rules as curl.
    ///
    /// | Variable | Meaning |
    /// |---|---|
    /// | `http_proxy` | the proxy for `http` |
    /// | `https_proxy`, `HTTPS_PROXY` | the proxy for `https` |
    /// | `all_proxy`, `ALL_PROXY` | the proxy for schemes without a separate variable |
    /// | `no_proxy`, `NO_PROXY` | the hosts that need no proxy, separated by commas or spaces |
    ///
    /// The name in lower case has precedence. An empty variable is treated as missing. Each proxy is a URL in the form of
    /// ``ProxySettings/init(_:)``.
    ///
    /// `http_proxy` is read only in lower case, because a request can set `HTTP_PROXY` for a program that runs under CGI. Some
    /// desktops set `all_proxy` to a `socks://` URL, which means SOCKS 4 in curl. A request that would use a SOCKS 4 proxy fails.
    ///
    /// The parts of `no_proxy` are:
    ///
    /// | Part | Means |
    /// |---|---|
    /// | `*` | every host |
    /// | `a.example`, `.a.example`, `*.a.example` | this name, and all names under it |
    /// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]` | this address |
    /// | `192.0.2.0/24`, `2001:db8::/32` | the addresses with this prefix |
    /// | `a.example:8080`, `[2001:db8::1]:8080` | only for this port |
    ///
    /// Names are not resolved. An address or a network matches only if the host of the URL is an address. Any other part, such as
    /// `<local>` or `192.168.*`, matches nothing, and is shown by ``description``.
    ///
    /// If a variable is invalid, only the requests that would use its proxy fail. The error of these requests is a
    /// ``ProxySettingsError``, which names the variable. ``description`` shows the reason.
    ///
    /// - Parameter variables: the variables by name. Default: the environment of the process. The variables are read once, when
    ///   this function is called.
    public static func environment(_ variables: [String: String] = ProcessInfo.processInfo.environment) -> ProxyPolicy {
        ProxyPolicy(.environment(ProxyEnvironment(variables)))
    }

    /// Returns a policy that calls a closure for each request. The closure chooses the proxy for the origin of the request.
    ///
    /// ```swift
    /// let office = ProxySettings.http(host: "proxy.example", port: 3128).authenticated(by: authenticator)
    /// configuration.proxy = .byOrigin { origin in origin.host == "localhost" ? nil : office }
    /// ```
    ///
    /// - Parameter choose: returns the proxy, or `nil` for a direct connection. If the closure throws, the request fails. The
    ///   closure is called for each request, on the caller's thread, and must be quick. Equal settings share their connections.
    ///   Create a ``ProxyAuthenticator`` once, outside of the closure, because separately created authenticators are never equal.
    public static func byOrigin(
        _ choose: @escaping @Sendable (Origin) throws(ProxySettingsError) -> ProxySettings?
    ) -> ProxyPolicy { ProxyPolicy(.byOrigin(choose)) }

    /// Returns the proxy for the requests to an origin; `nil` for direct connections.
    ///
    /// - Throws: ``ProxySettingsError`` if the variable that names the proxy is invalid, or if the closure throws.
    public func proxy(for origin: Origin) throws(ProxySettingsError) -> ProxySettings? {
        switch choice {
        case .none: nil
        case .all(let proxy): proxy
        case .environment(let environment): try environment.proxy(for: origin)
        case .byOrigin(let choose): try choose(origin)
        }
    }

    /// Whether the policy is ``none``.
    package var isNone: Bool { if case .none = choice { true } else { false } }
    /// The proxy of all requests; `nil` if there is no single proxy.
    package var onlyProxy: ProxySettings? { if case .all(let proxy) = choice { proxy } else { nil } }

    /// The policy, without credentials: `all through the HTTP proxy proxy.example:3128`. For ``environment(_:)``, the description
    /// includes the parts of `no_proxy` that match nothing.
    public var description: String {
        switch choice {
        case .none: "none"
        case .all(let proxy): "all through the \(proxy.kind) proxy \(proxy)"
        case .environment(let environment): "\(environment)"
        case .byOrigin: "by origin"
        }
    }
}
