#if SWIFT_NIO
internal import NIOCore
internal import NIOHTTP2

/// The bounds of an HTTP/2 connection.
enum HTTP2Limits {
    /// The number of bytes that a server may send on one stream before the response is read: 1 MiB. If the reader is fast enough,
    /// the server never has to pause.
    ///
    /// The window of the connection is enlarged without waiting for readers. Therefore, a connection may hold 1 MiB of unread data for each
    /// stream.
    static let streamWindowBytes = 1024 * 1024
    /// The number of bytes that a server may send on all streams together before this side has received the bytes: 16 MiB.
    static let connectionWindowBytes = 16 * 1024 * 1024
    /// The window of a new connection, and the window of a stream until the server knows the client's settings ([RFC 9113,
    /// section 6.9.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2)).
    static let initialWindowBytes = 65_535
    /// The size of frames that every peer accepts: 16 KiB ([RFC 9113, section 4.2](https://www.rfc-editor.org/rfc/rfc9113#section-4.2)).
    static let frameBytes = 16_384
    /// The number of concurrent streams until the server sends its limit. If the server sends no limit, this number remains the limit,
    /// although HTTP/2 allows any number in this case. `NIOHTTP2Handler` uses the same number, and would hold back further streams.
    static let firstStreams = 100
    /// The maximum number of streams of one connection, even if the server allows more streams.
    static let mostStreams = 4096
    /// The number of malformed responses that a connection tolerates. Each malformed response resets its stream.
    static let malformedResponses = 100
    /// The limit for the unsent bytes of an in-memory body: 256 KiB. At the limit, the stream stops writing until bytes are sent. The last
    /// write may exceed the limit.
    static let unsentBytes = 256 * 1024
    /// The longest wait for the response to a ping.
    static let pongTimeout = Duration.seconds(10)
    /// The longest wait for a frame after a ping that is sent with a reset. If no frame is received in this time, no further exchange
    /// begins on the connection.
    static let probeTimeout = Duration.seconds(1)
    /// The limits, for each period of 30 s, on frames that do not belong to a response that the client reads.
    ///
    /// - The server may send 4,000 frames, and 1 MiB in all these frames together.
    /// - Each HEADERS and DATA frame of the client allows four more frames, and each KiB of the client's DATA allows one more frame. During
    ///   a large upload, the server needs these frames for WINDOW_UPDATE: some servers send two WINDOW_UPDATE frames for each 4 KiB that
    ///   they read.
    /// - RST_STREAM frames are counted separately. The number of RST_STREAM frames may exceed the number of the client's HEADERS and DATA
    ///   frames by at most 200.
    /// - On streams that the client has reset, the server may send 1 MiB in all, plus two windows (2 MiB) for each of these streams.
    ///   The second window is for short frames, which count as 64 bytes each.
    ///
    /// If a limit is exceeded, the connection ends with ENHANCE_YOUR_CALM, even if the connection is idle.
    static let otherFrames = FrameAllowance.Limits(
        frames: 4000, bytes: 1024 * 1024, framesForEachSent: 4, sentBytesForFrame: 1024, time: .seconds(30), spareResets: 200,
        unreadBytes: 1024 * 1024, unreadBytesForEachLeft: 2 * streamWindowBytes)
    /// The time to wait for the server to close its direction of a connection, after this side has closed its own direction: 100 ms. During
    /// these 100 ms, received bytes do not reset the connection, so that the server can read the GOAWAY. If the transport is shut down, the
    /// connection closes immediately.
    static let closeTimeout = Duration.milliseconds(100)
    /// The factor by which a head may exceed its size limit before the connection ends. If a head exceeds its limit by less than this
    /// factor, only the stream of the head ends.
    static let headFactor = 4
}

extension NIOHTTP2Handler {
    /// Creates the frame handler of a client's connection. This module checks the messages itself, to describe errors in words.
    ///
    /// - Parameter delegate: the object that receives a call for each frame that is written.
    static func client(limits: ResponseLimits, reportingTo delegate: any NIOHTTP2FrameDelegate) -> NIOHTTP2Handler {
        var connection = ConnectionConfiguration()
        // If `NIOHTTP2Handler` refuses a head, the connection ends. Therefore `NIOHTTP2Handler` gets a higher limit, and
        // `HTTP2ResponseFields` applies the real limit.
        let headBytes = min(limits.headBytes, Int(UInt32.max) / HTTP2Limits.headFactor) * HTTP2Limits.headFactor
        connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .initialWindowSize, value: HTTP2Limits.streamWindowBytes),
            HTTP2Setting(parameter: .maxHeaderListSize, value: headBytes),
        ]
        connection.headerBlockValidation = .disabled
        connection.contentLengthValidation = .disabled
        connection.maximumSequentialContinuationFrames = max(5, headBytes / HTTP2Limits.frameBytes + 2)
        // A server may send frames before it receives a reset. Frames that the server sends before it receives a reset must not end the
        // connection.
        connection.maximumRecentlyResetStreams = 2048
        connection.maximumSequentialEmptyDataFrames = 100
        // Some servers send a ping with each batch of data.
        connection.controlFrameRateLimit.maximumCount = 2000
        var stream = StreamConfiguration()
        // An overloaded server may refuse many streams. Therefore `HTTP2Limits.otherFrames` counts resets in proportion to the frames of
        // the client. The limit of `NIOHTTP2Handler` on resets can't be switched off, but a window of 1 ns never contains 1,000 resets.
        stream.streamResetFrameRateLimit.maximumCount = 1000
        stream.streamResetFrameRateLimit.windowLength = .nanoseconds(1)
        return NIOHTTP2Handler(
            mode: .client, frameDelegate: delegate, connectionConfiguration: connection, streamConfiguration: stream)
    }
}
#endif
