#if NIO
/// The decision after the reset of a stream whose server was silent since the request was sent: a value without timers.
///
/// If the connection is lost, one request after the other would begin on it, and be cancelled by its caller. If the server is alive, it may
/// punish resets in a fast sequence. Therefore a ping goes with the reset, and the stream counts against the limit of the server until the
/// response to the ping. If neither that response nor another frame is received in time, no further exchange begins on the connection.
///
/// One ping is in flight at a time. The next one waits for HEADERS or DATA, because some servers count pings without them, and close the
/// connection after a few.
struct ResetProbe: Sendable {
    enum Action: Sendable, Equatable {
        /// The stream is free at once.
        case none
        /// The stream is held until the response to the ping in flight.
        case hold
        /// The stream is held, and a ping is sent.
        case ping
    }

    /// The number of streams that were reset and are held.
    private(set) var heldStreams = 0
    private var isAllowed = true
    /// The number of frames received before the ping was sent.
    private var frames = 0

    /// Records that HEADERS or DATA were received.
    mutating func allow() { isAllowed = true }

    /// Decides about the reset of a stream.
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

    /// Ends the wait for the response to a ping: the response was received, or the time has passed.
    ///
    /// - Returns: the number of streams that were held, and whether no frame was received since the ping was sent.
    mutating func end(_ frames: Int) -> (heldStreams: Int, isSilent: Bool) {
        defer { heldStreams = 0 }
        return (heldStreams, heldStreams > 0 && frames == self.frames)
    }
}
#endif
