extension TLSSettings {
    /// Hosts whose certificates are not checked: see ``TLSSettings/uncheckedHostsForTesting``. Only for tests.
    ///
    /// ```swift
    /// configuration.tls.uncheckedHostsForTesting = .loopback
    /// configuration.tls.uncheckedHostsForTesting = try .hosts("staging.a.example", "192.0.2.7")
    /// ```
    ///
    /// Hosts are compared without the port, in their ASCII form and lower case, without a dot at the end.
    public struct UncheckedHosts: Sendable, Hashable {
        /// The set is empty: every certificate is checked.
        public static let none = UncheckedHosts(names: [], includesLoopback: false)
        /// The names and the addresses of this computer: `localhost` and the names under it ([RFC 6761, section
        /// 6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)), `127.0.0.0/8` and `::1`.
        public static let loopback = UncheckedHosts(names: [], includesLoopback: true)

        private var names: Set<String>
        private var includesLoopback: Bool

        private init(names: Set<String>, includesLoopback: Bool) { (self.names, self.includesLoopback) = (names, includesLoopback) }

        /// Returns a set of only these hosts.
        ///
        /// - Parameter hosts: names or addresses.
        ///
        /// - Throws: ``TLSSettingsError`` for text that is not a host. A wildcard is not a host.
        public static func hosts(_ hosts: String...) throws(TLSSettingsError) -> UncheckedHosts {
            var names: Set<String> = []
            for host in hosts {
                if host.utf8.contains(UInt8(ascii: "*")) {
                    throw TLSSettingsError(.invalidHost, of: host, "a wildcard is not allowed here; write each host")
                }
                names.insert(try Host.comparable(written: host[...], in: host, .invalidHost))
            }
            return UncheckedHosts(names: names, includesLoopback: false)
        }

        /// Returns the hosts of both sets.
        public func union(_ other: UncheckedHosts) -> UncheckedHosts {
            UncheckedHosts(names: names.union(other.names), includesLoopback: includesLoopback || other.includesLoopback)
        }

        /// Returns whether the certificate of a host is not checked.
        ///
        /// - Parameter host: the host, in the form of ``Origin/host``.
        public func contains(_ host: String) -> Bool {
            if names.isEmpty, !includesLoopback { return false }
            let host = Host.comparable(host)
            return names.contains(host) || includesLoopback && Host.isLoopback(host)
        }
    }
}

extension TLSSettings.UncheckedHosts: CustomStringConvertible, HidesStorage {
    /// The hosts, in alphabetical order: `loopback, staging.a.example`.
    public var description: String {
        let all = (includesLoopback ? ["loopback"] : []) + names.sorted()
        return all.isEmpty ? "no host" : all.joined(separator: ", ")
    }
}
