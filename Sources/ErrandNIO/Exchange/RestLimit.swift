#if NIO
internal import NIOCore

/// How long the rest of a request may still be sent when its whole response was received. Nobody waits for the rest any more, and no deadline
/// may end it, but it keeps a connection and the body's source.
struct RestLimit {
    /// The limits of the transport: 5 s without progress, and 60 s in all.
    struct Times: Sendable {
        var withoutProgress = Duration.seconds(5)
        var inAll = Duration.seconds(60)
    }

    private let times: Times
    private let end: NIODeadline
    /// When ``goesOn(at:hasProgress:)`` is to be asked next.
    private(set) var due: NIODeadline

    init(_ times: Times, from now: NIODeadline) {
        self.times = times
        end = now + times.inAll.timeAmount
        due = min(now + times.withoutProgress.timeAmount, end)
    }

    /// Returns whether the rest is still sent. False: it is given up.
    ///
    /// - Parameter hasProgress: whether a part of the rest has left since the last call.
    mutating func goesOn(at now: NIODeadline, hasProgress: Bool) -> Bool {
        guard hasProgress, now < end else { return false }
        due = min(now + times.withoutProgress.timeAmount, end)
        return true
    }
}
#endif
