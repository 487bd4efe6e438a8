#if SWIFT_NIO
internal import NIOCore

/// The limit for sending the rest of a request after its whole response was received. The caller does not wait for the rest, and the
/// request may have no deadline. But the upload occupies a connection and the source of the body.
struct RestLimit {
    /// The limits of the transport: 5 s without progress, and 60 s in all.
    struct Times: Sendable {
        var withoutProgress = Duration.seconds(5)
        var inAll = Duration.seconds(60)
    }

    private let times: Times
    private let end: NIODeadline
    /// The time at which ``continues(at:hasProgress:)`` must be called next.
    private(set) var due: NIODeadline

    init(_ times: Times, from now: NIODeadline) {
        self.times = times
        end = now + times.inAll.timeAmount
        due = min(now + times.withoutProgress.timeAmount, end)
    }

    /// Returns whether the upload of the rest continues; false if the upload must stop.
    ///
    /// - Parameter hasProgress: whether a part of the rest was sent since the last call.
    mutating func continues(at now: NIODeadline, hasProgress: Bool) -> Bool {
        guard hasProgress, now < end else { return false }
        due = min(now + times.withoutProgress.timeAmount, end)
        return true
    }
}
#endif
