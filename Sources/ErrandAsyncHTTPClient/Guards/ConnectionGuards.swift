#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOHTTPCompression
internal import NIOSSL

// What a server must not do to a process, and AsyncHTTPClient 1.37 lets it. Clients that are borrowed have none of this.

/// Stands before the client's own handler in a connection of HTTP/1.1, and in each stream of HTTP/2.
///
/// - A response with an invalid status (RFC 9110, 15) is refused: the client takes one below 100 for informational, and ends the
///   process over the end of its body. So is one with 101 on HTTP/2 (RFC 9113, 8.6): the client takes it for the final response, and
///   SwiftNIO for an informational one.
/// - Parts of a response that are out of order, such as a second head, are refused: the client ends the process over them.
/// - A response that is whole before its request is (RFC 9112, 9.5) ends behind a last part without bytes, if it refuses: without one
///   the client would wait for ever for the rest of a request that it does not send any more.
/// - If it agrees, its end waits for that of the request: the client would forget the rest of the request, and a connection of
///   HTTP/1.1 with it; on HTTP/2 it would end the process as soon as the server resets the stream (RFC 9113, 8.1).
/// - A connection of HTTP/1.1 that received bytes after the end of a response is closed instead of used again: the decoder would take
///   them for the beginning of the next response.
final class ResponseGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// How far a response has come.
    private enum Progress {
        case awaited
        case body
        case ended
    }

    private let record: ConnectionRecord?
    private let watch: ConnectionWatch
    /// Nil where nothing is decoded.
    private let coding: CodingGuard?
    /// Nil for a stream of HTTP/2.
    private let boundary: ResponseBoundary?
    private var isBusy = false
    private var isSending = false
    private var isRefused = false
    private var progress = Progress.ended
    private var isInvalid = false
    private var earlyEnd: NIOAny?

    init(_ record: ConnectionRecord?, _ watch: ConnectionWatch, coding: CodingGuard?, boundary: ResponseBoundary? = nil) {
        (self.record, self.watch, self.coding, self.boundary) = (record, watch, coding, boundary)
    }

    func channelInactive(context: ChannelHandlerContext) {
        rest()
        context.fireChannelInactive()
    }

    private func rest() {
        guard isBusy else { return }
        isBusy = false
        if let record { watch.ended(on: record) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            (isSending, isRefused, progress) = (true, false, .awaited)
            boundary?.requestBegan()
            rest()
            let isReused = record.map { [head] in watch.began(head.headers.first(name: "host"), on: $0) }
            isBusy = isReused != nil
            if let taken = watch.take(&head) {
                if let record, let isReused { taken.exchange?.acquired(record.info(isReused: isReused)) }
                return context.write(wrapOutboundOut(.head(head)), promise: promise)
            }
        case .body: break
        case .end:
            isSending = false
            boundary?.requestEnded()
            if earlyEnd != nil {
                // Not within this call: the client is still busy with the end of its request.
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.execute { bound.value.0.releaseEnd(bound.value.1) }
            }
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isInvalid else { return }
        let part = unwrapInboundIn(data)
        guard isNext(part) else {
            isInvalid = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        }
        switch part {
        case .head(let head):
            isRefused = head.status.code >= 300
            boundary?.headEnded(head)
            if let original = coding?.restored(head) { return context.fireChannelRead(wrapInboundOut(.head(original))) }
        case .end where isSending && isRefused:
            boundary?.responseEnded()
            context.fireChannelRead(wrapInboundOut(.body(ByteBuffer())))
        case .end where isSending:
            boundary?.responseEnded()
            earlyEnd = data
            return
        case .end:
            boundary?.responseEnded()
            rest()
            return forwardEnd(data, context)
        case .body:
            break
        }
        context.fireChannelRead(data)
    }

    /// Whether a part of a response may come now.
    private func isNext(_ part: HTTPClientResponsePart) -> Bool {
        switch (part, progress) {
        case (.head(let head), .awaited):
            guard head.status.code >= 100, head.status != .switchingProtocols || head.version.major == 1 else { return false }
            if head.status.code >= 200 || head.status == .switchingProtocols { progress = .body }
            return true
        case (.body, .body):
            return true
        case (.end, .body):
            progress = .ended
            return true
        default:
            return false
        }
    }

    /// Passes the end of a response on, and closes the connection if it can't be used again.
    private func forwardEnd(_ end: NIOAny, _ context: ChannelHandlerContext) {
        guard let boundary, boundary.isSpent else { return context.fireChannelRead(end) }
        // The client ignores informational responses, but not their `Connection: close`: so it doesn't put the connection back into its
        // pool, where another request might wait for it.
        let closing = HTTPResponseHead(version: .http1_1, status: .custom(code: 199, reasonPhrase: ""), headers: ["connection": "close"])
        context.fireChannelRead(wrapInboundOut(.head(closing)))
        context.fireChannelRead(end)
        context.closeNow()
    }

    private func releaseEnd(_ context: ChannelHandlerContext) {
        guard let end = earlyEnd else { return }
        earlyEnd = nil
        rest()
        forwardEnd(end, context)
        context.fireChannelReadComplete()
    }
}

extension ChannelHandlerContext {
    /// Closes the connection without waiting for TLS to take leave, which takes up to 5 s if the other side says nothing.
    func closeNow() {
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? self).close(promise: nil)
    }
}

extension HTTPClient.Configuration {
    /// Puts the guards into every connection, before what these settings put there.
    mutating func guardConnections(_ watch: ConnectionWatch) {
        http1_1ConnectionDebugInitializer = Self.guardingConnections(then: http1_1ConnectionDebugInitializer) { channel, pipeline, _ in
            let boundary = ResponseBoundary()
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            let own = ResponseGuard(
                watch.opened(channel, isMultiplexed: false), watch, coding: try Self.guardCoding(pipeline), boundary: boundary)
            if let decompressor = try? pipeline.handler(type: NIOHTTPResponseDecompressor.self) {
                try pipeline.addHandler(own, position: .after(decompressor))
            } else {
                try pipeline.addHandler(own, position: .after(decoder))
            }
            try pipeline.addHandler(ReadGuard(boundary), position: .before(decoder))
            return nil
        }
        http2ConnectionDebugInitializer = Self.guardingConnections(then: http2ConnectionDebugInitializer) { channel, pipeline, ready in
            let frames = HTTP2FrameGuard()
            try pipeline.addHandler(frames, position: .after(pipeline.handler(type: NIOHTTP2Handler.self)))
            try pipeline.addHandler(HTTP2ConnectionGuard(watch.opened(channel, isMultiplexed: true), settings: ready))
            return frames
        }
        http2StreamChannelDebugInitializer = Self.guardingStreams(then: http2StreamChannelDebugInitializer) { channel, pipeline in
            // The client's handler is not public, and the codec before it is another package's: it is found by its name. Without it, a
            // stream goes unguarded.
            let handlers = (0..<4).compactMap { try? pipeline.context(name: "handler\($0)").handler }
            guard let own = handlers.first(where: { "\(type(of: $0))" == "HTTP2ClientRequestHandler" }) else {
                return watch.foundStreamWithoutGuard()
            }
            let connection = try? channel.parent?.pipeline.syncOperations.handler(type: HTTP2ConnectionGuard.self)
            let response = ResponseGuard(connection?.record, watch, coding: try Self.guardCoding(pipeline))
            try pipeline.addHandler(response, position: .before(own))
        }
    }

    /// Puts a guard before the decompressor, if there is one.
    private static func guardCoding(_ pipeline: ChannelPipeline.SynchronousOperations) throws -> CodingGuard? {
        guard let decompressor = try? pipeline.handler(type: NIOHTTPResponseDecompressor.self) else { return nil }
        let coding = CodingGuard()
        try pipeline.addHandler(coding, position: .before(decompressor))
        return coding
    }

    typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    /// Adds handlers to a connection, runs the next initializer, and lets the client's pool know the connection.
    ///
    /// - Nothing is put off to a later tick of the event loop without need: the pool ends the process if it hears of a connection that it
    ///   does not know yet. While another initializer takes its time, the guard of frames holds back what comes.
    /// - A connection that can't be used is closed before the pool is told of the failure. It would be told of the connection's end after
    ///   that otherwise, and leave the connection open if its end does not come.
    private static func guardingConnections(
        then next: Initializer?,
        add: @escaping @Sendable (any Channel, ChannelPipeline.SynchronousOperations, EventLoopPromise<Int?>) throws -> HTTP2FrameGuard?
    ) -> Initializer {
        { channel in
            channel.eventLoop.flatRun {
                let known = channel.eventLoop.makePromise(of: Void.self)
                let settings = channel.eventLoop.makePromise(of: Int?.self)
                var frames: HTTP2FrameGuard?
                do {
                    // One that has ended by now has lost its handlers.
                    guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
                    frames = try add(channel, channel.pipeline.syncOperations, settings)
                    if frames == nil {
                        settings.succeed(nil)
                    } else {
                        // The settings are seen before this call returns to the event loop, or not at all.
                        channel.eventLoop.execute { settings.succeed(nil) }
                    }
                } catch {
                    settings.fail(error)
                }
                let bound = NIOLoopBound(frames, eventLoop: channel.eventLoop)
                settings.futureResult.flatMap { limit in
                    limit == 0
                        ? channel.eventLoop.makeFailedFuture(NoStreamsAllowed())
                        : next?(channel).hop(to: channel.eventLoop) ?? channel.eventLoop.makeSucceededVoidFuture()
                }
                .flatMapThrowing { guard channel.isActive else { throw ChannelError.ioOnClosedChannel } }
                .whenComplete { result in
                    switch result {
                    case .success:
                        known.succeed()
                        bound.value?.release()
                    case .failure(let error):
                        channel.close(promise: nil)
                        channel.closeFuture.whenComplete { _ in known.fail(error) }
                    }
                }
                return known.futureResult
            }
        }
    }

    private static func guardingStreams(
        then next: Initializer?, add: @escaping @Sendable (any Channel, ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> Initializer {
        { channel in
            channel.eventLoop.flatRun {
                do {
                    try add(channel, channel.pipeline.syncOperations)
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
                return next?(channel) ?? channel.eventLoop.makeSucceededVoidFuture()
            }
        }
    }
}

extension EventLoop {
    /// Runs `body` on this event loop: at once where that is possible.
    fileprivate func flatRun(_ body: @escaping @Sendable () -> EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        inEventLoop ? body() : flatSubmit(body)
    }
}
#endif
