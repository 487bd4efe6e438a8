#if NIO
internal import ErrandCore
internal import NIOCore

/// Decides when a connection is asked whether it still stands: when the server has sent nothing for some time. A value without timers.
struct PingWatch: Sendable {
    enum Action: Sendable, Equatable {
        case none
        case ping
        /// The server did not respond.
        case lost(after: Duration)
    }

    private let interval: Duration
    private let timeout: Duration
    /// How many frames had been received when that was last looked at.
    private var frames = 0
    /// When frames were last seen, more or less: between two looks.
    private var heard: NIODeadline
    /// When a ping was sent that has no response.
    private var sent: NIODeadline?

    init(every interval: Duration, from now: NIODeadline) {
        (self.interval, timeout, heard) = (interval, min(interval, HTTP2Limits.pongTimeout), now)
    }

    /// When ``check(_:at:)`` must be called.
    var due: NIODeadline { sent.map { $0 + timeout.timeAmount } ?? heard + interval.timeAmount }

    /// - Parameter frames: how many frames were received so far.
    mutating func check(_ frames: Int, at now: NIODeadline) -> Action {
        if frames != self.frames { (self.frames, heard, sent) = (frames, now, nil) }
        guard due <= now else { return .none }
        guard sent == nil else { return .lost(after: timeout) }
        sent = now
        return .ping
    }
}
#endif
