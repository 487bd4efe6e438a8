#if AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP2

/// Is between SwiftNIO's HTTP/2 handler and the client's, and keeps frames from the client that would make it trap.
///
/// AsyncHTTPClient 1.37 trusts servers with the state of its pool:
///
/// - A GOAWAY or a stream limit for a connection that its pool does not know yet makes it trap. Frames are held back until the pool knows
///   the connection.
/// - A stream limit that changes while no stream is open would make the pool set the timer of an idle connection a second time. The limit
///   is passed on when the next stream is open. A limit of 0 is passed on as a GOAWAY: new requests use a new connection.
/// - A GOAWAY without open streams would leave the connection open for as long as the server does. It is closed.
///
/// A PUSH_PROMISE ([RFC 9113, section 6.6](https://www.rfc-editor.org/rfc/rfc9113#section-6.6)) ends the connection, because
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

    /// The largest number of frames that is held back. A server that sends more before any request is disconnected.
    private static let mostHeld = 128

    /// `nil` as soon as the client's pool knows the connection.
    private var held: [Held]? = []
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    /// The limit that was not passed on yet.
    private var limit: UInt32?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { (self.context, held) = (nil, nil) }

    /// Passes on what was held back, because the pool knows the connection.
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

    /// Holds `item` back until ``release()``. Returns whether it did.
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
                // Not within this call, in which the client opens the stream.
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

/// Is after all other handlers in an HTTP/2 connection.
///
/// - It closes a connection with an error of its own, such as a frame for a stream that was abandoned 32 streams ago. The client would send
///   GOAWAY and continue to use the connection, whose window is not opened any more: every request on it would stall until its deadline.
/// - It learns from the first SETTINGS how many streams the server allows.
final class HTTP2ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    let record: ConnectionRecord
    /// Fulfilled with the stream limit, or `nil` if the server sets none, when the first settings have arrived.
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

/// The error if a server's first settings allow no streams.
struct NoStreamsAllowed: Error, CustomStringConvertible {
    var description: String { "the server allows no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0)" }
}
#endif
