internal import Synchronization

/// A count of the tasks of a session that may have left an open connection for other tasks.
///
/// A session may send a request on a kept connection. If this connection ends without a response, the session may send the request again on
/// a new connection, without a report. If the new connection fails, the error does not show that the request was sent before.
final class SessionTraffic: Sendable {
    private let tasks = Atomic(0)

    func begin() { tasks.add(1, ordering: .relaxed) }

    /// Records that a task has ended, and that no part of its request was sent.
    func endUnsent() { tasks.subtract(1, ordering: .relaxed) }

    /// Whether one of the tasks may have used a connection of another task. A proxy may share a connection between the hosts, so the hosts
    /// of the tasks do not matter.
    var mayShareConnections: Bool { tasks.load(ordering: .relaxed) > 1 }
}
