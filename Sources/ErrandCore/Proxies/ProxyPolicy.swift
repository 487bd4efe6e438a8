/// Which requests go through which proxy.
///
/// ```swift
/// configuration.proxy = .all(.http(host: "proxy.example", port: 3128))
/// configuration.proxy = .environment()
/// configuration.proxy = .each { origin in origin.host.hasSuffix(".internal") ? nil : office }
/// ```
public struct ProxyPolicy: Sendable, CustomStringConvertible, HidesStorage {
    private enum Choice: Sendable {
        case none
        case all(ProxySettings)
        case environment(ProxyEnvironment)
        case each(@Sendable (Origin) throws(ProxySettingsError) -> ProxySettings?)
    }

    private let choice: Choice

    private init(_ choice: Choice) { self.choice = choice }

    /// No proxy: all connections are direct.
    public static let none = ProxyPolicy(.none)

    /// All requests go through one proxy, those to this computer included.
    public static func all(_ proxy: ProxySettings) -> ProxyPolicy { ProxyPolicy(.all(proxy)) }

    /// The proxies that the environment names, by curl's rules.
    ///
    /// | Variable | Meaning |
    /// |---|---|
    /// | `http_proxy` | the proxy for `http`. In lower case alone, because a request can set `HTTP_PROXY` for a program behind CGI |
    /// | `https_proxy`, `HTTPS_PROXY` | the proxy for `https` |
    /// | `all_proxy`, `ALL_PROXY` | the proxy where there is no other one. Some desktops set it to a `socks://` URL, which is SOCKS 4 for curl: requests that would use it fail |
    /// | `no_proxy`, `NO_PROXY` | what needs no proxy, separated by commas or spaces |
    ///
    /// The lower case goes first. An empty variable counts as missing. The form of a proxy is that of ``ProxySettings/init(_:)``. The parts
    /// of `no_proxy` are:
    ///
    /// | Part | Means |
    /// |---|---|
    /// | `*` | every host |
    /// | `a.example`, `.a.example`, `*.a.example` | this name, and all names under it |
    /// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]` | this address |
    /// | `192.0.2.0/24`, `2001:db8::/32` | the addresses with this prefix |
    /// | `a.example:8080`, `[2001:db8::1]:8080` | only for this port |
    ///
    /// Names are not resolved. An address or a network matches only a host that the URL writes as an address. Any other part, such as
    /// `<local>` or `192.168.*`, matches nothing, and is named by ``description``.
    ///
    /// A variable that can't be used fails the requests that would use its proxy, and no others: with ``ProxySettingsError``, which names the
    /// variable. ``description`` shows the reason.
    ///
    /// - Parameter variables: the variables by name; those of the process by default. They are read once, here.
    public static func environment(_ variables: [String: String] = ProcessInfo.processInfo.environment) -> ProxyPolicy {
        ProxyPolicy(.environment(ProxyEnvironment(variables)))
    }

    /// A closure chooses for each request by its origin.
    ///
    /// ```swift
    /// let office = ProxySettings.http(host: "proxy.example", port: 3128).authenticated(by: authenticator)
    /// configuration.proxy = .each { origin in origin.host == "localhost" ? nil : office }
    /// ```
    ///
    /// - Parameter choose: returns `nil` for a direct connection. If it throws, the request fails. It is called for each request, on the caller's thread, and must be quick.
    ///   Equal settings share their connections: make a ``ProxyAuthenticator`` once, outside of the closure, because two of them are never
    ///   equal.
    public static func each(
        _ choose: @escaping @Sendable (Origin) throws(ProxySettingsError) -> ProxySettings?
    ) -> ProxyPolicy { ProxyPolicy(.each(choose)) }

    /// Returns the proxy for the requests to an origin; `nil` for direct connections.
    ///
    /// - Throws: ``ProxySettingsError`` if the variable that names the proxy can't be used, or if the closure throws.
    public func proxy(for origin: Origin) throws(ProxySettingsError) -> ProxySettings? {
        switch choice {
        case .none: nil
        case .all(let proxy): proxy
        case .environment(let environment): try environment.proxy(for: origin)
        case .each(let choose): try choose(origin)
        }
    }

    /// Whether it is ``none``.
    package var isNone: Bool { if case .none = choice { true } else { false } }
    /// The proxy that all requests go through, if there is one.
    package var onlyProxy: ProxySettings? { if case .all(let proxy) = choice { proxy } else { nil } }

    /// The choice, without credentials: `all through the HTTP proxy proxy.example:3128`. Of the environment, also the parts of `no_proxy` that
    /// match nothing.
    public var description: String {
        switch choice {
        case .none: "none"
        case .all(let proxy): "all through the \(proxy.kind) proxy \(proxy)"
        case .environment(let environment): "\(environment)"
        case .each: "by origin"
        }
    }
}
