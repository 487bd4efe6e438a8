#if AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTP2

/// Sits between SwiftNIO's HTTP/2 handler and the client's, and withholds frames that would end the process.
///
/// AsyncHTTPClient 1.37 relies on servers to respect the states of its pool. These cases are handled:
///
/// - A GOAWAY or a stream limit for a connection that the pool does not know yet: frames are held back until it does.
/// - A stream limit that changes while no stream is open: the pool would set the timer of an unused connection a second time. The limit is
///   forwarded when the next stream is open. A limit of 0 is forwarded as a GOAWAY, so that new requests use a new connection.
/// - A GOAWAY without open streams: the connection would stay open as long as the server keeps it open. It is closed.
///
/// A PUSH_PROMISE ([RFC 9113, section 6.6](https://www.rfc-editor.org/rfc/rfc9113#section-6.6)) closes the connection, because
/// SETTINGS_ENABLE_PUSH was 0. So does a WINDOW_UPDATE by 0 ([RFC 9113, section 6.9](https://www.rfc-editor.org/rfc/rfc9113#section-6.9)),
/// which SwiftNIO ignores for a stream whose request is complete.
final class HTTP2FrameGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    private enum Held {
        case read(NIOAny)
        case event(Any)
        case readComplete
    }

    /// The maximum number of frames to hold back. A connection whose server sends more before any request is closed.
    private static let mostHeld = 128

    /// `nil` as soon as the client's pool knows the connection.
    private var held: [Held]? = []
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    /// The stream limit that has not been forwarded yet.
    private var limit: UInt32?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { (self.context, held) = (nil, nil) }

    /// Forwards what was held back, because the pool now knows the connection.
    func release() {
        guard let items = held else { return }
        held = nil
        for item in items {
            guard let context else { return }
            switch item {
            case .read(let data): channelRead(context: context, data: data)
            case .event(let event): userInboundEventTriggered(context: context, event: event)
            case .readComplete: channelReadComplete(context: context)
            }
        }
    }

    /// Returns whether `item` is held back until ``release()``.
    private func hold(_ item: Held, _ context: ChannelHandlerContext) -> Bool {
        guard let count = held?.count else { return false }
        if count < Self.mostHeld { held?.append(item) } else { context.closeNow() }
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hold(.read(data), context) else { return }
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .pushPromise, .windowUpdate(windowSizeIncrement: 0):
            context.closeNow()
        case .goAway:
            context.fireChannelRead(data)
            if openStreams == 0 { context.closeNow() }
        case .settings(.settings(let settings)):
            receive(settings, context)
        default:
            context.fireChannelRead(data)
        }
    }

    private func receive(_ settings: HTTP2Settings, _ context: ChannelHandlerContext) {
        let rest = settings.filter { $0.parameter != .maxConcurrentStreams }
        context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: .rootStream, payload: .settings(.settings(rest)))))
        guard let last = settings.last(where: { $0.parameter == .maxConcurrentStreams }) else { return }
        guard last.value > 0 else { return drain(context) }
        limit = UInt32(exactly: last.value)
        if openStreams > 0 { passLimit(context) }
    }

    private func drain(_ context: ChannelHandlerContext) {
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
        context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)))
        if openStreams == 0 { context.closeNow() }
    }

    private func passLimit(_ context: ChannelHandlerContext) {
        guard let limit else { return }
        self.limit = nil
        let settings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: Int(limit))]
        context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: .rootStream, payload: .settings(.settings(settings)))))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard !hold(.event(event), context) else { return }
        switch event {
        case is NIOHTTP2StreamCreatedEvent:
            openStreams += 1
            if limit != nil {
                // Deferred: the client is still opening the stream.
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.execute {
                    let (guarding, context) = bound.value
                    if guarding.openStreams > 0, guarding.context != nil { guarding.passLimit(context) }
                }
            }
        case is StreamClosedEvent:
            openStreams -= 1
        default:
            break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !hold(.readComplete, context) else { return }
        context.fireChannelReadComplete()
    }
}

/// The last handler of an HTTP/2 connection.
///
/// - It closes a connection that had an error of its own, such as a frame for a stream that was closed 32 streams ago. The client would
///   send a GOAWAY and go on using the connection. Its window is no longer opened, so every request would hang until its deadline.
/// - It reads the server's stream limit from the first SETTINGS frame.
final class HTTP2ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    let record: ConnectionRecord
    /// Succeeds when the first settings arrive: with the stream limit, or `nil` if the server sets none.
    private let settings: EventLoopPromise<Int?>

    init(_ record: ConnectionRecord, settings: EventLoopPromise<Int?>) { (self.record, self.settings) = (record, settings) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .settings(.settings(let received)) = unwrapInboundIn(data).payload {
            settings.succeed(received.last { $0.parameter == .maxConcurrentStreams }?.value)
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.closeNow() }
}

/// An error: a server's first settings allow no streams.
struct NoStreamsAllowed: SafelyDescribedError {
    var description: String { "the server allows no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0)" }
}
#endif
