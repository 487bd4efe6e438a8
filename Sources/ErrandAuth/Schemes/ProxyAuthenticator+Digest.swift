#if Auth
public import ErrandCore
internal import Synchronization

extension ProxyAuthenticator {
    /// An authenticator that proves a user and a password to an HTTP proxy without sending the password
    /// ([RFC 7616](https://www.rfc-editor.org/rfc/rfc7616)).
    ///
    /// ```swift
    /// let proxy = ProxySettings.http(host: "proxy.example", port: 3128)
    ///     .authenticated(by: .digest(user: "joe", password: password))
    /// ```
    ///
    /// The authenticator supports the features of ``DigestScheme``, with one exception: `auth-int` works only for tunnels.
    /// `auth-int` needs a hash of the body, and a proxy authenticator does not see bodies.
    ///
    /// The authenticator responds to the strongest challenge of the proxy. If the proxy refuses only the nonce, because the nonce
    /// was too old (`stale`) or came with an earlier request, the authenticator responds once more. A refused password is not sent
    /// again for the same request or tunnel. The authenticator remembers which proxies have offered Digest, for at most 100
    /// proxies.
    ///
    /// Create one authenticator for each proxy, not one for each request: only copies of an authenticator share the counts of the nonces.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without control characters. If the name contains a control character, the request fails with
    ///     ``TransportError/Code/proxy``.
    ///   - password: the password.
    ///   - orBasic: whether the password is sent as Basic to a proxy that asks for Basic and has never offered Digest in any form.
    ///     Default: `false`. Basic can't carry a user with a colon or control characters. With such a user, the request fails as if there
    ///     were no credentials.
    public static func digest(user: String, password: String, orBasic: Bool = false) -> ProxyAuthenticator {
        digest(user: user, password: password, orBasic: orBasic, clientNonce: DigestScheme.randomClientNonce)
    }

    static func digest(
        user: String, password: String, orBasic: Bool, clientNonce: @escaping @Sendable () -> String
    ) -> ProxyAuthenticator {
        let memory = ProxyMemory()
        return ProxyAuthenticator { proxy in
            // Returns whether the credentials may be tried: the proxy has refused no credentials yet, or has refused only the nonce.
            func isAnother(_ response: DigestResponse?) -> Bool { proxy.refusals == 0 || response?.isStale == true }
            if DigestResponse.isOffered(in: proxy.challenges) { memory.recordDigest(of: proxy.proxy) }
            if let response = DigestResponse.strongest(of: proxy.challenges, hashesBody: proxy.method == .connect) {
                guard isAnother(response) else { return nil }
                // A tunnel has no body. Therefore the hash is the hash of an empty body.
                return response.field(
                    user: user, password: password, method: proxy.method.rawValue, target: proxy.target,
                    count: memory.nextCount(for: response.nonce),
                    clientNonce: clientNonce())
            }
            guard orBasic, !memory.hasOfferedDigest(proxy.proxy), isAnother(nil), proxy.challenges.contains(where: { $0.isScheme("Basic") })
            else { return nil }
            return try? BasicScheme.field(user: user, password: password)
        }
    }
}

/// The state that one authenticator keeps for its proxies.
private final class ProxyMemory: Sendable {
    private struct Tables: Sendable {
        var counts = NonceCounts(limit: 100)
        var offers = BoundedTable<ProxySettings, Bool>(limit: 100)
    }

    private let tables = Mutex(Tables())

    func nextCount(for nonce: String) -> Int { tables.withLock { $0.counts.next(for: nonce, at: nil) } }

    func recordDigest(of proxy: ProxySettings) { tables.withLock { tables in tables.offers.update(proxy, default: true) { $0 = true } } }

    func hasOfferedDigest(_ proxy: ProxySettings) -> Bool { tables.withLock { $0.offers[proxy] == true } }
}
#endif
