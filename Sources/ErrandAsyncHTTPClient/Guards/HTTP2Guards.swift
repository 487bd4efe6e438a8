#if AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP2

/// Stands between SwiftNIO's handler of HTTP/2 and the client's, and keeps from the client what would end the process.
///
/// AsyncHTTPClient 1.37 trusts servers with the states of its pool:
///
/// - A GOAWAY, or a limit of streams, for a connection that its pool does not know yet. Frames are held back until it does.
/// - A limit of streams that changes while no stream is open: the pool would set the timer of an unused connection a second time. It is
///   passed on when the next stream is open. A limit of 0 is passed on as a GOAWAY: new requests go over a new connection.
/// - A GOAWAY without open streams would leave the connection open for as long as the server does. It is closed.
///
/// A PUSH_PROMISE (RFC 9113, 6.6) ends the connection: SETTINGS_ENABLE_PUSH was 0. So does a WINDOW_UPDATE by 0 (6.9), which SwiftNIO
/// ignores for a stream whose request is whole.
final class HTTP2FrameGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    private enum Held {
        case read(NIOAny)
        case event(Any)
        case readComplete
    }

    /// Frames that are held back at most: a server that sends more before anybody has asked it anything is not waited for.
    private static let mostHeld = 128

    /// Nil as soon as the client's pool knows the connection.
    private var held: [Held]? = []
    private var context: ChannelHandlerContext?
    private var openStreams = 0
    /// Not passed on yet.
    private var limit: UInt32?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { (self.context, held) = (nil, nil) }

    /// The pool knows the connection: passes on what was held back.
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

    /// Whether `item` waits for ``release()``.
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

/// Stands behind all others in a connection of HTTP/2.
///
/// - Closes a connection that has seen an error of its own, such as a frame for a stream that was given up 32 streams ago. The client
///   says goodbye then and goes on to use the connection, whose window is not opened any more: every request on it would stand still until
///   its deadline.
/// - Learns from the first SETTINGS how many streams the server allows.
final class HTTP2ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    let record: ConnectionRecord
    /// The limit of streams, nil if the server sets none, when the first settings have come.
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

/// A server's first settings allow no streams.
struct NoStreamsAllowed: Error, CustomStringConvertible {
    var description: String { "the server allows no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0)" }
}
#endif
