/// A transport that reports its open connections.
public protocol ConnectionReporter: Sendable {
    /// The connections that are open now, in use and idle.
    var openConnections: [OpenConnection] { get }
}
