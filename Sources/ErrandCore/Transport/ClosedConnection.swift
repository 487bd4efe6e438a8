/// A connection of a transport that has closed.
public struct ClosedConnection: Sendable, Hashable {
    /// The number, as in ``ConnectionInfo``.
    public let number: Int
    /// The origin whose requests went over it.
    public let origin: Origin
    /// The IP address of the server or proxy; `nil` if it is not known.
    public let peerAddress: String?
    /// The version of HTTP that was spoken: `1.1` or `2`.
    public let httpVersion: String
    /// The number of exchanges that have begun on it.
    public let exchangesStarted: Int
    /// The time for which it was open: from the end of connecting, with TLS, until it closed.
    public let duration: Duration

    /// Creates a value.
    public init(
        number: Int, origin: Origin, peerAddress: String? = nil, httpVersion: String, exchangesStarted: Int, duration: Duration
    ) {
        (self.number, self.origin, self.peerAddress, self.httpVersion) = (number, origin, peerAddress, httpVersion)
        (self.exchangesStarted, self.duration) = (exchangesStarted, duration)
    }
}

/// A transport that reports its connections when they close.
public protocol ClosedConnectionSource: ConnectionSource {
    /// Reports each connection that closes from now on, for as long as the transport exists. Nothing is done for each request.
    ///
    /// - Parameters:
    ///   - id: the name of the observer. A later observer with the same name replaces it.
    ///   - observer: is called once for each connection, on the connection's event loop: it must be quick and must not block. It must not
    ///     hold the transport, which would never be released then.
    func observeClosedConnections(as id: String, _ observer: @escaping @Sendable (ClosedConnection) -> Void)
}
