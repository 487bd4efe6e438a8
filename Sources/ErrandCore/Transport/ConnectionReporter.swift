/// A transport that reports its open connections.
public protocol ConnectionReporter: Sendable {
    /// The connections that are open now, whether they are in use or idle.
    var openConnections: [OpenConnection] { get }
}
