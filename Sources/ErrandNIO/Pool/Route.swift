#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The route of an exchange to its origin. The pool uses the route as its key. An exchange uses only connections of its own route,
/// unless the settings allow sharing a connection of another route (``NIOTransport/Configuration/sharesConnectionsAcrossHosts``).
///
/// Each origin has its own connections, even through an HTTP proxy. One connection to a proxy could carry requests without TLS to all
/// origins ([RFC 9112, section 9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3)). But with separate connections, a wrongly
/// assigned response always comes from the same origin. Limits and gauges have the same meaning with and without a proxy.
struct Route: Sendable, Hashable {
    let origin: Origin
    /// The proxy; `nil` if the connection is direct.
    let proxy: ProxyServer?
    /// Whether the proxy passes bytes on without reading requests: after CONNECT, and over SOCKS.
    let isTunnel: Bool
    /// Whether the connection must use HTTP/1.1, because its exchange asks for an upgrade or was refused over HTTP/2. Other connections to
    /// the origin may use HTTP/2. HTTP/2 has neither `Upgrade` nor the status 101 ([RFC 9113, section
    /// 8.6](https://www.rfc-editor.org/rfc/rfc9113#section-8.6)).
    private(set) var needsHTTP1: Bool

    /// Creates a direct route.
    init(_ origin: Origin, needsHTTP1: Bool = false) {
        self.origin = origin
        proxy = nil
        isTunnel = false
        self.needsHTTP1 = needsHTTP1
    }

    /// Creates a route through a proxy.
    ///
    /// - Parameter needsTunnel: whether a tunnel is needed although the origin has no TLS. An upgrade needs a tunnel, because a proxy
    ///   does not pass on the upgrade.
    init(_ origin: Origin, through proxy: ProxyServer, needsTunnel: Bool, needsHTTP1: Bool = false) {
        (self.origin, self.proxy, self.needsHTTP1) = (origin, proxy, needsHTTP1)
        isTunnel = needsTunnel || origin.scheme.isExactly("https") || proxy.settings.kind == .socks5
    }

    /// The same route over a connection of HTTP/1.1.
    var overHTTP1: Route {
        var route = self
        route.needsHTTP1 = true
        return route
    }

    /// Whether the proxy reads the requests, which have a target in absolute form
    /// ([RFC 9112, section 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)).
    var isForwarded: Bool { proxy != nil && !isTunnel }
    var form: RequestEncoder.TargetForm { isForwarded ? .absolute : .origin }
    /// The other side of the connection: the proxy or the origin.
    var peer: Origin { proxy?.address ?? origin }
    /// Whether the connection encrypts the exchanges.
    var isSecure: Bool { isForwarded ? peer.scheme.isExactly("https") : origin.scheme.isExactly("https") }
    /// The target of a tunnel: the host and the port of the origin. The port is written even if it is the default port.
    var target: String { "\(origin.host):\(origin.effectivePort)" }
}
#endif
