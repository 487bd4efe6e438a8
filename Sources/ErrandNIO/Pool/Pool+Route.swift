#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

extension Pool {
    /// Returns the route to an origin.
    ///
    /// - Parameter isForUpgrade: whether the exchange asks for another protocol.
    /// - Throws: ``ErrandCore/ProxySettingsError`` if a closure or an environment variable has chosen a proxy whose settings can't be used.
    func makeRoute(to origin: Origin, isForUpgrade: Bool = false) throws(ProxySettingsError) -> Route {
        let needsHTTP1 = isForUpgrade && settings.mayUseHTTP2(for: origin)
        guard !settings.proxy.isNone, let proxy = try settings.proxy.proxy(for: origin) else {
            return Route(origin, needsHTTP1: needsHTTP1)
        }
        return Route(origin, through: try proxies.server(proxy), needsTunnel: isForUpgrade, needsHTTP1: needsHTTP1)
    }
}

extension NIOTransport.Configuration {
    /// Whether a connection to an origin, direct or through a tunnel, may have HTTP/2.
    fileprivate func mayUseHTTP2(for origin: Origin) -> Bool { origin.scheme.isExactly("https") ? allowsHTTP2 : usesHTTP2WithoutTLS }

    /// Returns the number of exchanges that the first connection takes at a time, until its server changes the number. `nil` if the
    /// server chooses the version of HTTP during the TLS handshake.
    func firstStreams(of route: Route) -> Int? {
        if isKnownToUseHTTP2(for: route) { return HTTP2Limits.firstStreams }
        return route.origin.scheme.isExactly("https") && allowsHTTP2 && !route.needsHTTP1 ? nil : 1
    }

    /// Returns whether a route shares connections with other routes. If the result is true, other origins may use the connections of this
    /// route, and this route may use the connections of other origins. A route that shares connections is direct, has TLS, has a host name
    /// instead of an address, and uses the default checks of the server.
    func mayShareConnections(of route: Route) -> Bool {
        let (origin, host) = (route.origin, route.origin.host)
        guard sharesConnectionsAcrossHosts, origin.scheme.isExactly("https"), route.proxy == nil, !route.needsHTTP1 else { return false }
        guard tls.clientCertificate == nil, tls.pins?.pins(for: host).isEmpty ?? true else { return false }
        return !tls.uncheckedHostsForTesting.contains(host) && (try? IPAddress(origin.bareHost)) == nil
    }

    /// Returns whether a connection without TLS will use HTTP/2. Without TLS, the server does not choose the version. If a proxy reads the
    /// requests, the requests are sent over HTTP/1.1.
    func isKnownToUseHTTP2(for route: Route) -> Bool {
        usesHTTP2WithoutTLS && !route.origin.scheme.isExactly("https") && !route.needsHTTP1 && !route.isForwarded
    }
}
#endif
