/// Finds the addresses of a host, for a transport that opens a connection to it.
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
/// The system's resolver is ``SystemHostResolver``. ``cached(for:maxHosts:clock:)`` keeps the addresses of any resolver for a time, and
/// ``HostOverrides`` replaces those of some hosts.
///
/// A transport asks once for each connection that it opens, and never for a host that is an address itself, nor for a Unix domain socket.
/// The time counts toward its limit for connecting. It runs in a task of the transport, without task-local values of the caller; the task
/// is cancelled when the connection is not needed any more.
public protocol HostResolver: Sendable {
    /// Returns the addresses of a host, in the order in which they are to be tried. The transport alternates between IPv6 and IPv4,
    /// beginning with the kind of the first ([RFC 8305, section 4](https://www.rfc-editor.org/rfc/rfc8305#section-4)).
    ///
    /// - Parameters:
    ///   - host: a name in ASCII and lower case.
    ///   - port: the port to connect to.
    /// - Returns: the addresses; an empty list is a failure.
    /// - Throws: any error. The request fails with the code `cannotFindHost` of ``TransportError``, and this error as its cause.
    func addresses(of host: String, port: Int) async throws -> [IPAddress]

    /// No connection to the addresses of a host could be opened. A resolver that keeps addresses drops these. Does nothing by default.
    func discardAddresses(of host: String, port: Int)
}

extension HostResolver {
    /// Does nothing.
    public func discardAddresses(of host: String, port: Int) {}

    /// Returns a resolver that asks this one, and keeps its addresses for a time. See ``CachedHostResolver``.
    ///
    /// - Parameters:
    ///   - timeToLive: for how long addresses are used; 30 s by default, more than zero.
    ///   - maxHosts: of how many hosts and ports addresses are kept: 1,000 by default, at least 1.
    ///   - clock: the clock that measures the time.
    public func cached(
        for timeToLive: Duration = .seconds(30), maxHosts: Int = 1000, clock: any Clock<Duration> = ContinuousClock()
    ) -> CachedHostResolver {
        CachedHostResolver(self, for: timeToLive, maxHosts: maxHosts, clock: clock)
    }
}

/// A host has no addresses, or they could not be looked up.
public struct HostNotFoundError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The host.
    public let host: String
    /// Why, in words and without secrets, such as `no such service`; empty if the name is not known.
    public let reason: String

    /// Creates an error.
    public init(_ host: String, reason: String = "") { (self.host, self.reason) = (host, reason) }

    /// The host and the reason: `cannot find 'a.example': no such service`.
    public var description: String { "cannot find '\(host.shownSafely())'\(reason.isEmpty ? "" : ": \(reason.shownSafely())")" }
    /// A sentence for people, with the host.
    public var errorDescription: String? { "The server '\(host.shownSafely())' cannot be found." }
    /// The reason; `nil` if the name is not known.
    public var failureReason: String? { reason.isEmpty ? nil : reason.shownSafely().asSentence }
}

extension HostNotFoundError: SafelyDescribedError {}
