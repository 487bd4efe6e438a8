/// A closed connection of a transport.
public struct ClosedConnection: Sendable, Hashable {
    /// The number of the connection, as in ``ConnectionInfo``.
    public let number: Int
    /// The origin for which the connection was opened.
    public let origin: Origin
    /// The IP address of the server or proxy; `nil` if it is not known.
    public let peerAddress: String?
    /// The HTTP version of the connection.
    public let httpVersion: HTTPVersion
    /// The number of exchanges that have begun on the connection.
    public let exchangesStarted: Int
    /// The time from the end of connecting, including TLS, until the connection closed.
    public let duration: Duration

    /// Creates a value.
    public init(
        number: Int, origin: Origin, peerAddress: String? = nil, httpVersion: HTTPVersion, exchangesStarted: Int, duration: Duration
    ) {
        self.number = number
        self.origin = origin
        self.peerAddress = peerAddress
        self.httpVersion = httpVersion
        (self.exchangesStarted, self.duration) = (exchangesStarted, duration)
    }
}

/// A transport that reports its connections when they close.
public protocol ClosedConnectionReporter: ConnectionReporter {
    /// Reports each connection that closes from now on, as long as the transport exists. The reports add no cost to requests.
    ///
    /// - Parameters:
    ///   - id: the name of the observer. A later observer with the same name replaces the earlier observer.
    ///   - observer: a closure, called once for each connection on the connection's event loop. The closure must be quick and
    ///     must not block. The closure must not retain the transport, because the transport would then never be released.
    func observeClosedConnections(as id: String, _ observer: @escaping @Sendable (ClosedConnection) -> Void)
}
