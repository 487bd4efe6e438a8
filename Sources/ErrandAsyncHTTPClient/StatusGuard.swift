#if AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// Refuses a response whose status is none (RFC 9110, 15): below 100, the client takes it for an informational one and then ends the
/// process over the end of it.
final class StatusGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
            hasRefused = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
        }
        if !hasRefused { context.fireChannelRead(data) }
    }

    /// Puts one behind the decoder of an HTTP/1.1 connection.
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(StatusGuard(), position: .after(decoder))
        }
    }
}
#endif
