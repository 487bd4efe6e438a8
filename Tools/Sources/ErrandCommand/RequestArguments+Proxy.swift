import ArgumentParser
import Errand
import Foundation
import Synchronization

extension RequestArguments {
    /// The proxies of the options, or else the proxies of the environment; no proxy for a Unix domain socket. `--insecure` for a
    /// server of this machine never sends a request for this machine to a proxy of the environment.
    ///
    /// - Throws: `ValidationError` for a proxy of the options that can't be understood. A variable fails the requests that would use it.
    func proxyPolicy(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> ProxyPolicy {
        if connection.unixSocket != nil { return .none }
        var variables = environment
        if let url = connection.proxy {
            if url.isEmpty { return .none }
            _ = try Self.proxy(url)
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] { variables[name] = nil }
            variables["all_proxy"] = url
        }
        if let list = connection.noProxy {
            variables["NO_PROXY"] = nil
            variables["no_proxy"] = list
        }
        let policy = ProxyPolicy.environment(variables)
        let isOfThisMachine = (try? httpURL()).map { Loopback.contains($0.host) } ?? false
        let (adjust, isDirectHere) = (try proxyAuthentication(), connection.insecure && isOfThisMachine)
        return .byOrigin { (origin) throws(ProxySettingsError) in
            if isDirectHere, Loopback.contains(origin.host) { return nil }
            return try policy.proxy(for: origin).map(adjust)
        }
    }

    /// - Throws: `ValidationError` for a proxy that is not supported.
    static func proxy(_ text: String) throws -> ProxySettings {
        if let scheme = NearScheme.problem(of: text) { throw ValidationError("--proxy can't be used: \(scheme)") }
        do {
            return try ProxySettings(text)
        } catch {
            throw ValidationError("--proxy can't be used: \(error.reason)")
        }
    }

    /// Gives a proxy the user and the password of `--proxy-user`, and the requested authentication scheme.
    private func proxyAuthentication() throws -> @Sendable (ProxySettings) -> ProxySettings {
        let named = try connection.proxyUser.map { text -> (user: String, password: String) in
            let (user, password) = text.cut(atOctet: UInt8(ascii: ":"))
            guard let password else { throw ValidationError("--proxy-user must be USER:PASSWORD") }
            // Percent-encoding, as in curl, allows a colon in the user's name.
            return (user.removingPercentEncoding ?? user, password.removingPercentEncoding ?? password)
        }
        let (usesDigest, usesAny) = (connection.proxyDigest, connection.proxyAnyAuth)
        guard named != nil || usesDigest || usesAny else { return { $0 } }
        // Each proxy needs the same authenticator each time, because only requests with equal settings share connections.
        let known = SharedSettings()
        return { proxy in
            known.value(for: proxy) {
                let credentials = named ?? proxy.credentials.map { ($0.user, $0.password) }
                guard usesDigest || usesAny, proxy.kind != .socks5, let credentials else {
                    return Self.proxy(like: proxy, credentials: credentials)
                }
                // The settings have no credentials, because they would be sent by Basic before the proxy asks.
                return Self.proxy(like: proxy, credentials: nil).authenticated(
                    by: .digest(user: credentials.0, password: credentials.1, orBasic: usesAny))
            }
        }
    }

    private static func proxy(like proxy: ProxySettings, credentials: (user: String, password: String)?) -> ProxySettings {
        switch proxy.kind {
        case .https: .https(host: proxy.host, port: proxy.port, credentials: credentials)
        case .socks5: .socks5(host: proxy.host, port: proxy.port, credentials: credentials)
        default: .http(host: proxy.host, port: proxy.port, credentials: credentials)
        }
    }
}

/// Caches the settings that were made from other settings.
private final class SharedSettings: Sendable {
    private let known = Mutex<[ProxySettings: ProxySettings]>([:])

    func value(for settings: ProxySettings, make: () -> ProxySettings) -> ProxySettings {
        known.withLock { known in
            if let made = known[settings] { return made }
            let made = make()
            known[settings] = made
            return made
        }
    }
}
