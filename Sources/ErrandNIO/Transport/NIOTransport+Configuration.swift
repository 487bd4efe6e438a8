#if SWIFT_NIO
public import ErrandCore
public import NIOCore

extension NIOTransport {
    /// The settings of a transport. ``NIOTransport/init(_:)`` throws ``UnusableSettingError`` for a setting outside its bounds.
    public struct Configuration: Sendable {
        /// The trusted certificates, the client's own certificate, pins and the versions of TLS. The transport supports all
        /// settings of this type.
        public var tls = TLSSettings()
        /// Whether HTTP/2 is offered over TLS: true by default. The server chooses the version. If false, the transport uses only HTTP/1.1,
        /// also for `http` URLs.
        ///
        /// The server limits the number of concurrent requests on a connection of HTTP/2. If the server states no limit, the transport
        /// sends up to 100 concurrent requests. The transport never sends more than 4096 concurrent requests on one connection. In HTTP/2,
        /// an unread body takes up to 1 MiB of memory. In HTTP/1.1, an unread body takes up to 64 KiB, and up to 512 KiB after the first
        /// read.
        public var allowsHTTP2 = true
        /// Whether the transport uses HTTP/2 for `http` URLs, without negotiation: false by default. The servers must support this use
        /// of HTTP/2 ([RFC 9113, section 3.3](https://www.rfc-editor.org/rfc/rfc9113#section-3.3)). The setting does not apply to `https`,
        /// or to requests that an HTTP proxy reads. The setting requires ``allowsHTTP2``.
        public var usesHTTP2WithoutTLS = false
        /// Whether requests to several hosts may share a connection of HTTP/2, as in browsers: false by default.
        ///
        /// For the first request to a host, the transport looks up the addresses of the host. The request uses an open
        /// connection of another host, and no new connection is opened ([RFC 9113, section
        /// 9.1.1](https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1)), if:
        ///
        /// - the open connection has one of these addresses and the same port, and
        /// - the certificate of the open connection names both hosts.
        ///
        /// If a connection opens during the lookup, this connection can also be used. If the shared connection has no room, a request gets
        /// a connection to its own host. ``NIOTransport/preconnect(to:count:)`` does not count shared connections. While the shared
        /// connection is open, later requests use this connection without a lookup.
        ///
        /// Only `https` origins whose host is a name share connections, and only direct connections are shared. IP addresses, and
        /// connections through a proxy, are excluded. Hosts with ``ErrandCore/TLSSettings/pins``, or in
        /// ``ErrandCore/TLSSettings/uncheckedHostsForTesting``, have separate connections.
        ///
        /// Sharing has risks. One address and one certificate may belong to servers of several tenants. A server that chooses the tenant
        /// only by the name in the TLS handshake responds to a request for another host with the status 421 ([RFC 9110, section
        /// 15.5.20](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.20)). A badly configured server may send a wrong response. After a
        /// 421, the request is sent again over a connection to its own host, if its body can be sent again. After that, this host shares no
        /// connection. The transport remembers the last 1024 hosts that share no connection. A lost connection fails the requests of all
        /// its hosts.
        ///
        /// The setting requires ``allowsHTTP2``. ``sharesConnectionsAcrossHosts`` can't be combined with ``unixSocketPath`` or a client
        /// certificate.
        public var sharesConnectionsAcrossHosts = false
        /// How long a server may be silent before the transport sends a ping on an HTTP/2 connection. The duration must be more than zero.
        /// After the ping, the transport waits for the same time, but at most 10 s. If the transport receives nothing in this time, the
        /// transport closes the connection. The exchanges of the connection fail or are sent again. With `nil` (the default), no ping is
        /// sent because of silence. If a request is cancelled while the server is silent, a ping is sent together with the reset of the
        /// request's stream.
        public var pingInterval: Duration?
        /// The timeout for connecting, including the lookup of the host and TLS: 10 s by default. The timeout must be more than zero.
        /// A request's deadline also applies.
        public var connectTimeout: Duration = .seconds(10)
        /// The time for which an unused connection is kept: 60 s by default; at least zero. If the time is zero, no connection is kept. A
        /// server may ask for a shorter time with its `Keep-Alive` field.
        public var idleTimeout: Duration = .seconds(60)
        /// The age at which a connection takes no further exchange, at least zero. `nil` (the default): the age has no limit. If
        /// the age is zero, each connection takes one exchange. Limit the age so that new connections follow changes of the DNS.
        public var maxConnectionAge: Duration?
        /// The maximum number of connections to one origin: 256 by default, at least 1. Further requests queue by their priority, then
        /// first in, first out.
        public var maxConnectionsPerOrigin = 256
        /// The maximum number of connections to all origins together: 1024 by default, at least 1. Further requests queue.
        public var maxConnections = 1024
        /// The limits on the head of a response.
        public var responseLimits = ResponseLimits()
        /// The resolver, which finds the addresses of hosts. By default, the resolver is the system's resolver with a cache of 30 s. A
        /// configuration has its own cache. All transports that are created from the configuration share this cache.
        ///
        /// ```swift
        /// configuration.resolver = .system                                            // without the cache
        /// configuration.resolver = try HostOverrides(["api.example:443:127.0.0.1"])   // as curl's --resolve
        /// ```
        ///
        /// If a host has several addresses, IPv6 and IPv4 addresses are tried alternately. The next address is tried when the previous
        /// address has failed, or after 250 ms. The first connection that opens is used ([RFC
        /// 8305](https://www.rfc-editor.org/rfc/rfc8305)).
        public var resolver: any HostResolver = SystemHostResolver().cached()
        /// The local address that connections come from, with any free port. `nil` (the default): the system chooses the address. If a
        /// local address is set, the transport connects only to addresses of the same address family, IPv4 or IPv6. This setting can't be
        /// combined with ``unixSocketPath``.
        public var localAddress: IPAddress?
        /// Whether TCP checks unused connections (`SO_KEEPALIVE`): true by default. The system's settings determine when a check is made:
        /// on Linux, after two hours without traffic. A check detects a peer that vanished during a long response, and can keep a firewall
        /// from dropping the connection. A connection without an exchange usually reaches its ``idleTimeout`` before a check.
        ///
        /// Nagle's algorithm is always off (`TCP_NODELAY`): the transport writes a head and a small body immediately. The transport does
        /// not wait for the peer's acknowledgment before it writes further bytes.
        public var usesTCPKeepAlive = true
        /// The path of the Unix domain socket that every connection goes to, for all origins. `nil` (the default): every
        /// connection uses TCP. The path has at least 1 and at most 103 bytes.
        public var unixSocketPath: String?
        /// The policy that chooses the proxy for each request; ``ErrandCore/ProxyPolicy/none`` by default. The environment is
        /// read only with `.environment()`. This setting can't be combined with ``unixSocketPath``.
        ///
        /// ```swift
        /// configuration.proxy = .all(.http(host: "proxy.example", port: 3128, credentials: (user: "me", password: password)))
        /// ```
        ///
        /// Requests with TLS, upgrades, and all requests to a SOCKS proxy go through a tunnel (CONNECT, [RFC 9110, section
        /// 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6); SOCKS 5, [RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)). The
        /// TLS handshake is made with the origin. Other requests go to an HTTP proxy with their whole URL ([RFC 9112, section
        /// 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)), over HTTP/1.1. Through a tunnel, the transport can use HTTP/2, as
        /// without a proxy. The proxy resolves the names of origins. ``connectTimeout`` includes the tunnel. Events report the tunnel as a
        /// part of connecting, and the proxy as the peer. A connection through a proxy is used for only one origin, and
        /// ``maxConnectionsPerOrigin`` applies.
        ///
        /// If the proxy refuses the tunnel or the credentials (407), the request fails with the code `proxy`. The message contains the
        /// status of the proxy. A field `Proxy-Authorization` of a request goes only to a proxy that reads the request, and never through
        /// a tunnel.
        public var proxy = ProxyPolicy.none
        /// The event loops, which must run until the transport is shut down. `nil` (the default): the transport uses the shared event
        /// loops of the process, one for each core.
        public var eventLoopGroup: (any EventLoopGroup)?

        /// The limits for sending the rest of a request after its whole response was received.
        var restTimes = RestLimit.Times()

        /// Creates settings with the default values.
        public init() {}

        func check() throws(UnusableSettingError) {
            try Self.check("connectTimeout", connectTimeout, connectTimeout > .zero, "more than zero")
            try Self.check("idleTimeout", idleTimeout, idleTimeout >= .zero, "at least zero")
            if let age = maxConnectionAge { try Self.check("maxConnectionAge", age, age >= .zero, "at least zero") }
            try Self.check("maxConnectionsPerOrigin", maxConnectionsPerOrigin, maxConnectionsPerOrigin >= 1, "at least 1")
            try Self.check("maxConnections", maxConnections, maxConnections >= 1, "at least 1")
            if let interval = pingInterval { try Self.check("pingInterval", interval, interval > .zero, "more than zero") }
            let (bytes, fields, interims) = (responseLimits.headBytes, responseLimits.fieldCount, responseLimits.interimResponseCount)
            try Self.check("responseLimits.headBytes", bytes, bytes >= 1, "at least 1")
            try Self.check("responseLimits.fieldCount", fields, (1...65_534).contains(fields), "from 1 to 65534")
            try Self.check("responseLimits.interimResponseCount", interims, interims >= 0, "at least 0")
            guard allowsHTTP2 || !usesHTTP2WithoutTLS else {
                throw UnusableSettingError("usesHTTP2WithoutTLS", "it must be false if allowsHTTP2 is false (is true)")
            }
            if let reason = reasonNotToShare { throw UnusableSettingError("sharesConnectionsAcrossHosts", reason) }
            try checkAddresses()
        }

        private var reasonNotToShare: String? {
            guard sharesConnectionsAcrossHosts else { return nil }
            if !allowsHTTP2 { return "it must be false if allowsHTTP2 is false (is true)" }
            if tls.clientCertificate != nil { return "connections with a client certificate are not shared; set only one of the two" }
            if unixSocketPath != nil { return "connections to a Unix domain socket are not shared; set only one of the two" }
            return nil
        }

        private static func check(
            _ setting: String, _ value: Duration, _ isAllowed: Bool, _ bound: String
        ) throws(UnusableSettingError) {
            guard isAllowed else { throw UnusableSettingError(setting, "it must be \(bound) (is \(value.inWords))") }
        }

        private static func check(_ setting: String, _ value: Int, _ isAllowed: Bool, _ bound: String) throws(UnusableSettingError) {
            guard isAllowed else { throw UnusableSettingError(setting, "it must be \(bound) (is \(value))") }
        }

        private func checkAddresses() throws(UnusableSettingError) {
            if let proxy = proxy.onlyProxy {
                do {
                    _ = try proxy.address()
                } catch {
                    throw UnusableSettingError("proxy", error.reason)
                }
            }
            guard let unixSocketPath else { return }
            guard !unixSocketPath.isEmpty else { throw UnusableSettingError("unixSocketPath", "it is empty") }
            guard !unixSocketPath.utf8.contains(0) else {
                throw UnusableSettingError("unixSocketPath", "'\(unixSocketPath.shownSafely())' contains a NUL, which would end the path")
            }
            do {
                _ = try SocketAddress(unixDomainSocketPath: unixSocketPath)
            } catch {
                throw UnusableSettingError(
                    "unixSocketPath",
                    "'\(unixSocketPath.shownSafely())' has \(unixSocketPath.utf8.count.counted("byte")); at most 103 are possible")
            }
            guard proxy.isNone else {
                throw UnusableSettingError("proxy", "connections to a Unix domain socket do not use a proxy; set only one of the two")
            }
            guard localAddress == nil else {
                throw UnusableSettingError(
                    "localAddress", "connections to a Unix domain socket have no local IP address; set only one of the two")
            }
        }
    }
}

/// The error for an unusable setting of a transport. Creating the transport throws this error.
///
/// The description names the setting, its bound and its value:
///
/// ```
/// the setting maxConnections can't be used: it must be at least 1 (is 0)
/// ```
public struct UnusableSettingError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The name of the setting.
    public let setting: String
    /// The reason why the setting can't be used, with the bound and the value if there is a bound.
    public let reason: String

    init(_ setting: String, _ reason: String) { (self.setting, self.reason) = (setting, reason) }

    /// The setting and the reason.
    public var description: String { "the setting \(setting) can't be used: \(reason)" }
    public var failureNumber: FailureNumber { .transportSetting }
    /// The reason.
    public var failureReason: String? { reason.asSentence }
}

extension UnusableSettingError: SafelyDescribedError {}
#endif
