#if SWIFT_NIO
/// The limits on the frames that a server sends in addition to the messages that the client reads. The value has no channels and no timers.
///
/// While a stream has an exchange, the exchange limits the DATA, HEADERS and CONTINUATION frames of the stream. `NIOHTTP2Handler` limits
/// empty DATA frames. This type limits all other frames, because each frame causes work on this side, even on an idle connection. An honest
/// server sends most of the other frames in response to frames of this side, for example WINDOW_UPDATE in response to DATA. Therefore,
/// every sent HEADERS or DATA frame raises the limit.
///
/// After this side has reset a stream, the stream has no exchange. Until the server has received the reset, the server may send as many
/// bytes as the window of the stream allows. Therefore, each reset stream raises the limit on the bytes of all reset streams.
///
/// RST_STREAM has its own limit: one RST_STREAM frame for each HEADERS and DATA frame that this side has sent on the connection, plus
/// ``Limits/spareResets``. An overloaded server may refuse every request, and some servers reset a stream again for each later DATA frame.
struct FrameAllowance: Sendable {
    struct Limits: Sendable {
        /// The number of frames that a server may send in each period of length `time`, even if this side has sent nothing.
        let frames: Int
        /// The number of bytes that the server's frames may have together in each period, including the headers of the frames.
        let bytes: Int
        /// The number of further frames that a server may send for each HEADERS and DATA frame of this side.
        let framesForEachSent: Int
        /// The number of DATA bytes that this side must send before the server may send one further frame.
        let sentBytesForFrame: Int
        let time: Duration
        /// The number of RST_STREAM frames that a server may send beyond the number of HEADERS and DATA frames of this side.
        let spareResets: Int
        /// The number of bytes that a server may send in each period of length `time` on unread streams, including the headers of
        /// the frames. A frame counts as at least ``leastUnreadBytes``.
        let unreadBytes: Int
        /// The number of further bytes that a server may send on unread streams, for each stream that this side has reset.
        let unreadBytesForEachLeft: Int
    }

    /// The limit that was exceeded.
    enum Excess: Sendable, Hashable {
        case frames(limit: Int)
        case bytes(limit: Int)
        case resets(limit: Int)
        case unread(limit: Int)
    }

    /// The length of WINDOW_UPDATE, in bytes.
    static let usualFrameBytes = 13
    /// The minimum number of bytes that is counted for a frame on an unread stream. On this side, a short frame causes as much work as a
    /// longer frame.
    static let leastUnreadBytes = 64

    private let limits: Limits
    private var start = Duration.zero
    private var frames = 0
    private var bytes = 0
    /// The number of further frames that are allowed because of the frames sent since `start`. `formerlyEarned` is this number for the
    /// preceding period.
    private var earned = 0
    private var formerlyEarned = 0
    /// The number of sent bytes that are not yet enough for one further allowed frame.
    private var sentBytes = 0
    private var sentFrames = 0
    private var resets = 0
    private var unreadBytes = 0
    /// The number of further bytes on unread streams that are allowed because of the streams reset since `start`. `formerlyEarnedUnread` is
    /// this number for the preceding period.
    private var earnedUnread = 0
    private var formerlyEarnedUnread = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Counts HEADERS or DATA that this side has sent.
    ///
    /// - Parameter data: the length of the payload of DATA; `nil` for HEADERS.
    mutating func send(_ data: Int?) {
        sentFrames += 1
        let bytes = data ?? 0
        sentBytes += bytes
        earned += limits.framesForEachSent + sentBytes / limits.sentBytesForFrame
        sentBytes %= limits.sentBytesForFrame
    }

    /// Counts a stream that this side has reset before the end of its response.
    mutating func leave() { earnedUnread += limits.unreadBytesForEachLeft }

    /// Counts a frame of a message on an unread stream. Returns the limit that is exceeded now; otherwise `nil`.
    mutating func receiveUnread(_ header: FrameHeader, at now: Duration) -> Excess? {
        beginTime(at: now)
        unreadBytes += max(Self.leastUnreadBytes, FrameHeader.bytes + header.length)
        let limit = limits.unreadBytes + earnedUnread + formerlyEarnedUnread
        return unreadBytes > limit ? .unread(limit: limit) : nil
    }

    /// Counts a frame that is not part of a message. Returns the limit that is exceeded now; otherwise `nil`.
    mutating func receive(_ header: FrameHeader, at now: Duration) -> Excess? {
        guard !header.isReset else {
            resets += 1
            let limit = sentFrames + limits.spareResets
            return resets > limit ? .resets(limit: limit) : nil
        }
        beginTime(at: now)
        frames += 1
        bytes += FrameHeader.bytes + header.length
        let allowed = earned + formerlyEarned
        if frames > limits.frames + allowed { return .frames(limit: limits.frames + allowed) }
        let allowedBytes = limits.bytes + allowed * Self.usualFrameBytes
        return bytes > allowedBytes ? .bytes(limit: allowedBytes) : nil
    }

    /// Starts the next period, and resets the counts, if the current period has lasted for `time`.
    private mutating func beginTime(at now: Duration) {
        guard now - start >= limits.time else { return }
        start = now
        frames = 0
        bytes = 0
        unreadBytes = 0
        (formerlyEarned, earned) = (earned, 0)
        (formerlyEarnedUnread, earnedUnread) = (earnedUnread, 0)
    }
}
#endif
