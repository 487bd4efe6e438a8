#if SWIFT_NIO
internal import NIOCore

/// The handler before `NIOHTTP2Handler`. The guard passes bytes on only up to a position at which `NIOHTTP2Handler` can free its buffer. If
/// a server sends too many frames in addition to the messages that the client reads, the guard ends the connection.
///
/// ``FrameSplitter`` decides how many bytes are passed on, and ``FrameAllowance`` decides whether a frame exceeds a limit. The guard keeps
/// at most one incomplete frame, whose bytes are copied out of the received buffer.
final class FrameGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var splitter = FrameSplitter(longestBytes: HTTP2Limits.frameBytes)
    private var allowance: FrameAllowance
    /// The received beginning of an incomplete frame.
    private var kept = ByteBuffer()
    /// The number of bytes that `kept` still needs before the guard examines `kept` again.
    private var missing = 0
    private var fields = SlowFieldScan()
    /// The reason why the connection ends.
    private var excess: HTTP2ConnectionError?
    private var isReported = false
    /// Returns whether the response of a stream has a reader.
    var isRead: (Int32) -> Bool = { _ in true }

    init(_ limits: FrameAllowance.Limits = HTTP2Limits.otherFrames) { allowance = FrameAllowance(limits) }

    /// Counts HEADERS or DATA that this side has sent.
    ///
    /// - Parameter data: the length of the payload of DATA; `nil` for HEADERS.
    func countSent(_ data: Int?) { allowance.send(data) }

    /// Counts a stream that this side has reset before the end of its response.
    func countLeft() { allowance.leave() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        while excess == nil, buffer.readableBytes > 0 {
            if kept.readableBytes == 0 {
                let step = look(at: buffer)
                let whole = buffer.readSlice(length: step.consumed)
                if excess == nil, buffer.readableBytes > 0 {
                    kept = ByteBuffer(buffer: buffer)
                    missing = step.missing
                    buffer.moveReaderIndex(to: buffer.writerIndex)
                }
                if let whole, whole.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(whole)) }
            } else if let more = buffer.readSlice(length: min(missing, buffer.readableBytes)) {
                kept.writeImmutableBuffer(more)
                missing -= more.readableBytes
                guard missing == 0 else { break }
                let step = look(at: kept)
                missing = step.missing
                guard excess == nil, step.consumed > 0 else { continue }
                // `kept` has at most one frame, so all bytes of `kept` are passed on.
                let whole = kept
                kept = ByteBuffer()
                context.fireChannelRead(wrapInboundOut(whole))
            }
        }
        if let excess, !isReported {
            isReported = true
            kept = ByteBuffer()
            context.fireErrorCaught(excess)
        }
    }

    private func look(at buffer: ByteBuffer) -> FrameSplitter.Step {
        buffer.withUnsafeReadableBytes { bytes in
            splitter.next(in: bytes) { header in
                // If a frame exceeds this limit, `NIOHTTP2Handler` refuses the frame when the frame's header is read, and ends the
                // connection.
                guard header.length <= HTTP2Limits.frameBytes else { return true }
                if !header.isOfMessage {
                    excess = allowance.receive(header, at: Pool.now()).map { .tooManyFrames($0) }
                } else if !isRead(Int32(header.stream)) {
                    excess = allowance.receiveUnread(header, at: Pool.now()).map { .tooManyFrames($0) }
                }
                return excess == nil
            } inspect: { header, payload in
                guard header.hasFields else { return true }
                switch fields.read(header.fields(in: payload), isLast: header.endsFields) {
                case .quick: break
                case .slow: excess = .slowField
                case .invalid: excess = .invalidFieldNumber
                }
                return excess == nil
            }
        }
    }
}
#endif
