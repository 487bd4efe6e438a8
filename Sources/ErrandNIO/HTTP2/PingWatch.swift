#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The decisions about a connection whose server is silent: when to send a ping, and when the connection is lost. A value without timers.
struct PingWatch: Sendable {
    enum Action: Sendable, Equatable {
        case none
        case ping
        /// The server did not respond.
        case lost(after: Duration)
    }

    private let interval: Duration
    private let timeout: Duration
    /// The number of frames received at the last check.
    private var frames = 0
    /// The time of the last check that found a new frame.
    private var heard: NIODeadline
    /// The time at which the unanswered ping was sent; `nil` if no ping is in flight.
    private var sent: NIODeadline?

    init(every interval: Duration, from now: NIODeadline) {
        (self.interval, timeout, heard) = (interval, min(interval, HTTP2Limits.pongTimeout), now)
    }

    /// The time at which ``check(_:at:)`` must be called.
    var due: NIODeadline { sent.map { $0 + timeout.timeAmount } ?? heard + interval.timeAmount }

    /// - Parameter frames: the number of frames received so far.
    mutating func check(_ frames: Int, at now: NIODeadline) -> Action {
        if frames != self.frames { (self.frames, heard, sent) = (frames, now, nil) }
        guard due <= now else { return .none }
        guard sent == nil else { return .lost(after: timeout) }
        sent = now
        return .ping
    }
}
#endif
