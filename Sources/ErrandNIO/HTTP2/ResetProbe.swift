#if SWIFT_NIO
/// The decision after the reset of a stream whose server has been silent since the request was sent. The value has no timers.
///
/// Without a check, more requests would be sent over a lost connection, and the callers would have to cancel these requests. On the other
/// hand, a working server may close the connection after a fast sequence of resets. Therefore, a ping is sent with the reset. Until the
/// response to the ping, the stream counts toward the server's limit on streams. If no frame is received within
/// ``HTTP2Limits/probeTimeout``, no further request begins on the connection.
///
/// One ping is in flight at a time. The next ping is sent only after HEADERS or DATA were received. Some servers count the pings between
/// HEADERS or DATA frames, and close the connection after a few pings.
struct ResetProbe: Sendable {
    enum Action: Sendable, Equatable {
        /// No ping is sent. The stream stops counting toward the limit immediately.
        case none
        /// The stream counts toward the limit until the response to the ping in flight.
        case hold
        /// A ping is sent. The stream counts toward the limit until the response to this ping.
        case ping
    }

    /// The number of streams that were reset and still count toward the limit.
    private(set) var heldStreams = 0
    private var isAllowed = true
    /// The number of frames received before the ping was sent.
    private var frames = 0

    /// Records that HEADERS or DATA were received.
    mutating func allow() { isAllowed = true }

    /// Returns the action for the reset of a stream.
    ///
    /// - Parameter frames: the number of frames received so far.
    mutating func reset(_ frames: Int) -> Action {
        if heldStreams > 0 {
            heldStreams += 1
            return .hold
        }
        guard isAllowed else { return .none }
        (heldStreams, isAllowed, self.frames) = (1, false, frames)
        return .ping
    }

    /// Ends the wait for the response to a ping, because the response was received, or because the time has passed.
    ///
    /// - Returns: the number of reset streams that counted toward the limit, and whether no frame was received since the ping was sent.
    mutating func end(_ frames: Int) -> (heldStreams: Int, isSilent: Bool) {
        defer { heldStreams = 0 }
        return (heldStreams, heldStreams > 0 && frames == self.frames)
    }
}
#endif
