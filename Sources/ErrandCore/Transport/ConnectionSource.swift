/// A transport that knows its open connections.
public protocol ConnectionSource: Sendable {
    /// The connections that are open now, in use and idle.
    var openConnections: [OpenConnection] { get }
}
