#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPCompression
internal import NIOSSL

// What a server must not do to a process, and AsyncHTTPClient 1.37 lets it. Clients that are borrowed have none of this.

/// Stands before the client's own handler in a connection of HTTP/1.1, and in each stream of HTTP/2.
///
/// - A response whose status is none (RFC 9110, 15) is refused: the client takes one below 100 for informational, and ends the
///   process over the end of its body.
/// - A response that is whole before its request is (RFC 9112, 9.5) ends behind a last part without bytes, if it refuses: without one
///   the client would wait for ever for the rest of a request that it does not send any more.
/// - If it agrees, its end waits for that of the request: the client would forget the rest of the request, and a connection of
///   HTTP/1.1 with it; on HTTP/2 it would end the process as soon as the server resets the stream (RFC 9113, 8.1).
final class ResponseGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let record: ConnectionRecord?
    private let watch: ConnectionWatch
    private var isBusy = false
    private var isSending = false
    private var isRefused = false
    private var hasBadStatus = false
    private var earlyEnd: NIOAny?

    init(_ record: ConnectionRecord?, _ watch: ConnectionWatch) { (self.record, self.watch) = (record, watch) }

    func channelInactive(context: ChannelHandlerContext) {
        rest()
        context.fireChannelInactive()
    }

    private func rest() {
        guard isBusy else { return }
        isBusy = false
        record?.end()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            (isSending, isRefused) = (true, false)
            rest()
            let info = record?.begin(head)
            isBusy = info != nil
            if let taken = watch.take(&head) {
                if let info { taken.exchange?.acquired(info) }
                return context.write(wrapOutboundOut(.head(head)), promise: promise)
            }
        case .body: break
        case .end:
            isSending = false
            if earlyEnd != nil {
                // Not within this call: the client is still busy with the end of its request.
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.execute { bound.value.0.releaseEnd(bound.value.1) }
            }
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasBadStatus else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code < 100:
            hasBadStatus = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        case .head(let head):
            isRefused = head.status.code >= 300
        case .end where isSending && isRefused:
            context.fireChannelRead(wrapInboundOut(.body(ByteBuffer())))
        case .end where isSending:
            earlyEnd = data
            return
        case .end:
            rest()
        case .body:
            break
        }
        context.fireChannelRead(data)
    }

    private func releaseEnd(_ context: ChannelHandlerContext) {
        guard let end = earlyEnd else { return }
        earlyEnd = nil
        rest()
        context.fireChannelRead(end)
        context.fireChannelReadComplete()
    }
}

/// Closes a connection of HTTP/2 that has seen an error of its own, such as a frame for a stream that was given up 32 streams ago.
///
/// The client says goodbye then and goes on to use the connection, whose window is not opened any more: every request on it would
/// stand still until its deadline.
final class HTTP2ErrorGuard: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    let record: ConnectionRecord

    init(_ record: ConnectionRecord) { self.record = record }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // At once: TLS would take leave for up to 5 s, and the pool would give the connection away until then.
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? context).close(promise: nil)
    }
}

extension HTTPClient.Configuration {
    /// Puts the guards into every connection, before what these settings put there.
    mutating func guardConnections(_ watch: ConnectionWatch) {
        http1_1ConnectionDebugInitializer = Self.guarding(then: http1_1ConnectionDebugInitializer) { channel, pipeline in
            let last: any ChannelHandler
            if let decompressor = try? pipeline.handler(type: NIOHTTPResponseDecompressor.self) {
                last = decompressor
            } else {
                last = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            }
            try pipeline.addHandler(ResponseGuard(watch.opened(channel), watch), position: .after(last))
        }
        http2ConnectionDebugInitializer = Self.guarding(then: http2ConnectionDebugInitializer) { channel, pipeline in
            try pipeline.addHandler(HTTP2ErrorGuard(watch.opened(channel)))
        }
        http2StreamChannelDebugInitializer = Self.guarding(then: http2StreamChannelDebugInitializer, isStream: true) { channel, pipeline in
            // The client's handler is not public, and the codec before it is another package's: it is found by its name. Without it, a
            // stream goes unguarded.
            let handlers = (0..<4).compactMap { try? pipeline.context(name: "handler\($0)").handler }
            guard let own = handlers.first(where: { "\(type(of: $0))" == "HTTP2ClientRequestHandler" }) else {
                return watch.foundStreamWithoutGuard()
            }
            let connection = try? channel.parent?.pipeline.syncOperations.handler(type: HTTP2ErrorGuard.self)
            try pipeline.addHandler(ResponseGuard(connection?.record, watch), position: .before(own))
        }
    }

    private static func guarding(
        then next: (@Sendable (any Channel) -> EventLoopFuture<Void>)?, isStream: Bool = false,
        add: @escaping @Sendable (any Channel, ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in
            channel.eventLoop.submit {
                // One that has ended by now has lost its handlers, and would be told of as one that can't find them. A stream opens later.
                guard isStream || channel.isActive else { throw ChannelError.ioOnClosedChannel }
                try add(channel, channel.pipeline.syncOperations)
            }
            .flatMap { next?(channel) ?? channel.eventLoop.makeSucceededVoidFuture() }
        }
    }
}
#endif
