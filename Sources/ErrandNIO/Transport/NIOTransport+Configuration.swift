#if NIO
public import ErrandCore
public import NIOCore

extension NIOTransport {
    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The trusted certificates, the client's own certificate, pins and the versions of TLS. All of them are supported.
        public var tls = TLSSettings()
        /// The timeout of connecting, including TLS: 10 s by default; more than zero. A request's deadline also applies.
        public var connectTimeout: Duration = .seconds(10)
        /// The time for which an unused connection is kept: 60 s by default. A server may ask for less by its `Keep-Alive` field.
        public var idleTimeout: Duration = .seconds(60)
        /// The age at which a connection takes no further exchange; `nil` (the default): none. Use it to follow changes of the DNS.
        public var maxConnectionAge: Duration?
        /// The number of connections to one origin at a time: 256 by default, at least 1. Further requests queue by their priority, then
        /// first in, first out.
        public var maxConnectionsPerOrigin = 256
        /// The number of connections in all: 1024 by default, at least 1. Further requests queue.
        public var maxConnections = 1024
        /// The bounds of the head of a response.
        public var responseLimits = ResponseLimits()
        /// Whether TCP checks unused connections (`SO_KEEPALIVE`): true by default.
        public var keepsAlive = true
        /// The path of the Unix domain socket that every connection goes to, whatever the origin of its requests; `nil` (the default): TCP.
        public var unixSocketPath: String?
        /// The event loops; `nil` (the default): those that all of the process shares, one for each core.
        public var eventLoopGroup: (any EventLoopGroup)?

        /// Creates settings with the default values.
        public init() {}

        func check() {
            precondition(connectTimeout > .zero, "connectTimeout must be more than zero (is \(connectTimeout))")
            precondition(
                maxConnectionsPerOrigin > 0, "maxConnectionsPerOrigin must be at least 1 (is \(maxConnectionsPerOrigin))")
            precondition(maxConnections > 0, "maxConnections must be at least 1 (is \(maxConnections))")
        }
    }
}
#endif
