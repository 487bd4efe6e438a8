/// A type that finds the addresses of a host, for a transport that opens a connection to the host.
///
/// ```swift
/// struct Discovery: HostResolver {
///     let registry: ServiceRegistry
///
///     func addresses(of host: String, port: Int) async throws -> [IPAddress] {
///         guard let service = await registry.service(named: host) else { throw HostNotFoundError(host, reason: "no such service") }
///         return try service.endpoints.map { try IPAddress($0) }
///     }
/// }
/// ```
///
/// The resolver of the system is ``SystemHostResolver``. ``cached(for:maxHosts:clock:)`` keeps the addresses of any resolver for
/// a time, and ``HostOverrides`` replaces the addresses of some hosts.
///
/// A transport asks its resolver once for each connection that it opens. For an IP address or a Unix domain socket, a transport asks no
/// resolver. The time of the lookup counts toward the transport's limit for connecting. The lookup runs in a task of the transport, without
/// the task-local values of the caller. When the connection is no longer needed, the task is cancelled.
public protocol HostResolver: Sendable {
    /// Returns the addresses of a host, in the order of preference. The transport alternates between IPv6 and IPv4, and begins
    /// with the address family of the first address ([RFC 8305, section 4](https://www.rfc-editor.org/rfc/rfc8305#section-4)).
    ///
    /// - Parameters:
    ///   - host: the name of the host, in ASCII and lower case.
    ///   - port: the port to connect to.
    /// - Returns: the addresses; an empty list is a failure.
    /// - Throws: any error. If this function throws, the request fails with a ``TransportError`` with the code `cannotFindHost`,
    ///   and with the thrown error as its cause.
    func addresses(of host: String, port: Int) async throws -> [IPAddress]

    /// Returns the addresses of a host that are known without a lookup. Implement this function in a resolver that keeps addresses,
    /// so that a connection to a known host needs no task for the lookup. Returns `nil` by default.
    ///
    /// The transport calls this function before ``addresses(of:port:)``, on the thread that opens the connection. The function must
    /// not block.
    ///
    /// - Parameters:
    ///   - host: the name of the host, in ASCII and lower case.
    ///   - port: the port to connect to.
    /// - Returns: the addresses, in the order of preference; `nil`, or an empty list, if the host must be looked up.
    func knownAddresses(of host: String, port: Int) -> [IPAddress]?

    /// Drops the addresses of a host to which no connection could be opened. Implement this function in a resolver that keeps
    /// addresses. Does nothing by default.
    func discardAddresses(of host: String, port: Int)
}

extension HostResolver {
    /// Returns `nil`, because each host must be looked up.
    public func knownAddresses(of host: String, port: Int) -> [IPAddress]? { nil }

    /// Does nothing.
    public func discardAddresses(of host: String, port: Int) {}

    /// Returns a resolver that asks this resolver, and keeps the addresses for a time. See ``CachedHostResolver``.
    ///
    /// - Parameters:
    ///   - timeToLive: the time for which addresses are kept, more than zero. Default: 30 s.
    ///   - maxHosts: the largest number of hosts and ports whose addresses are kept, at least 1. Default: 1,000.
    ///   - clock: the clock that measures the time.
    public func cached(
        for timeToLive: Duration = .seconds(30), maxHosts: Int = 1000, clock: any Clock<Duration> = ContinuousClock()
    ) -> CachedHostResolver {
        CachedHostResolver(self, for: timeToLive, maxHosts: maxHosts, clock: clock)
    }
}

/// The error for a host that has no addresses, or whose addresses can't be looked up.
public struct HostNotFoundError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The host.
    public let host: String
    /// The reason in words, without secrets, such as `no such service`; empty if the name is not known.
    public let reason: String

    /// Creates an error.
    public init(_ host: String, reason: String = "") { (self.host, self.reason) = (host, reason) }

    /// The host and the reason: `cannot find 'a.example': no such service`.
    public var description: String { "cannot find '\(host.shownSafely())'\(reason.isEmpty ? "" : ": \(reason.shownSafely())")" }
    public var failureNumber: FailureNumber { .cannotFindHost }
    /// The reason; `nil` if the name is not known.
    public var failureReason: String? { reason.isEmpty ? nil : reason.shownSafely().asSentence }
}

extension HostNotFoundError: SafelyDescribedError {}
