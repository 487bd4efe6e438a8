#if SWIFT_NIO
internal import ErrandCore
internal import Synchronization

/// A proxy, and its last challenges.
final class ProxyServer: Sendable, Hashable {
    let settings: ProxySettings
    /// The destination of connections to the proxy.
    let address: Origin
    /// The description of the proxy, without credentials.
    let shown: ProxyAddress
    /// The last challenges that the dialog has responded to; empty before the first challenge.
    private let challenges = Mutex<[AuthenticationChallenge]>([])

    /// - Throws: ``ErrandCore/ProxySettingsError``.
    init(_ settings: ProxySettings) throws(ProxySettingsError) {
        address = try settings.address()
        (self.settings, shown) = (settings, ProxyAddress(settings))
    }

    var knownChallenges: [AuthenticationChallenge] { settings.authenticator == nil ? [] : challenges.withLock { $0 } }
    func record(_ challenges: [AuthenticationChallenge]) { self.challenges.withLock { $0 = challenges } }

    static func == (first: ProxyServer, second: ProxyServer) -> Bool { first === second || first.settings == second.settings }

    func hash(into hasher: inout Hasher) {
        hasher.combine(settings.host)
        hasher.combine(settings.port)
    }
}

/// The proxies of a transport. Equal settings share a ``ProxyServer``, and therefore the last challenges of the proxy.
final class ProxyTable: Sendable {
    /// The table is limited, because the app's closure may return a different proxy for each origin.
    private static let limit = 64
    private let servers = Mutex(BoundedTable<ProxySettings, ProxyServer?>(limit: ProxyTable.limit))

    /// - Throws: ``ErrandCore/ProxySettingsError``.
    func server(_ settings: ProxySettings) throws(ProxySettingsError) -> ProxyServer {
        if let known = servers.withLock({ $0.update(settings, default: nil) { $0 } }) { return known }
        let made = try ProxyServer(settings)
        return servers.withLock { servers in
            servers.update(settings, default: nil) { server in
                if server == nil { server = made }
                return server ?? made
            }
        }
    }
}
#endif
