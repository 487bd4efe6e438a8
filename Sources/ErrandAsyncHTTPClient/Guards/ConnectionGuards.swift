#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOHTTPCompression
internal import NIOSSL

// Guards against servers that could make requests hang or end the process, which AsyncHTTPClient 1.37 does not prevent. Borrowed clients
// don't have them.

/// Protects the client's own handler in an HTTP/1.1 connection, and in each HTTP/2 stream.
///
/// - It refuses a response with an invalid status ([RFC 9110, section 15](https://www.rfc-editor.org/rfc/rfc9110#section-15)). The client
///   treats a status below 100 as informational, and traps at the end of its body. It also refuses 101 on HTTP/2
///   ([RFC 9113, section 8.6](https://www.rfc-editor.org/rfc/rfc9113#section-8.6)), which the client treats as final, and SwiftNIO as
///   informational.
/// - It refuses parts of a response that are out of order, such as a second head: the client would trap.
/// - If a response is complete before its request ([RFC 9112, section 9.5](https://www.rfc-editor.org/rfc/rfc9112#section-9.5)) and refuses
///   it, the guard adds a last part without bytes. Otherwise the client would wait forever for the rest of a request that it no longer
///   sends.
/// - If such a response accepts the request, its end waits for that of the request. Otherwise the client would forget the rest of the
///   request and, with HTTP/1.1, the connection; on HTTP/2, it would trap as soon as the server resets the stream
///   ([RFC 9113, section 8.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.1)).
/// - An HTTP/1.1 connection that received bytes after the end of a response is closed instead of reused. Otherwise the decoder would take
///   them for the beginning of the next response.
final class ResponseGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// How much of a response was received.
    private enum Progress {
        case awaited
        case body
        case ended
    }

    private let record: ConnectionRecord?
    private let watch: ConnectionWatch
    /// `nil` if nothing is decoded.
    private let coding: CodingGuard?
    /// `nil` for an HTTP/2 stream.
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
                // Deferred: the client is still handling the end of its request.
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

    /// Returns whether this part of a response is allowed now.
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

    /// Forwards the end of a response, and closes the connection if it can't be reused.
    private func forwardEnd(_ end: NIOAny, _ context: ChannelHandlerContext) {
        guard let boundary, boundary.isSpent else { return context.fireChannelRead(end) }
        // The client ignores informational responses, except for their `Connection: close`. So it doesn't return the connection to its
        // pool, where another request might be queued for it.
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
    /// Closes the connection without waiting for TLS's closing alert, which takes up to 5 s if the server doesn't respond.
    func closeNow() {
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? self).close(promise: nil)
    }
}

extension HTTPClient.Configuration {
    /// Adds the guards to every connection, before the handlers that these settings add.
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
            // The client's handler is not public, and the codec before it belongs to another package. It is therefore found by its name.
            // Without it, the stream has no guard.
            let handlers = (0..<4).compactMap { try? pipeline.context(name: "handler\($0)").handler }
            guard let own = handlers.first(where: { "\(type(of: $0))" == "HTTP2ClientRequestHandler" }) else {
                return watch.foundStreamWithoutGuard()
            }
            let connection = try? channel.parent?.pipeline.syncOperations.handler(type: HTTP2ConnectionGuard.self)
            let response = ResponseGuard(connection?.record, watch, coding: try Self.guardCoding(pipeline))
            try pipeline.addHandler(response, position: .before(own))
        }
    }

    /// Adds a guard before the decompressor, if there is one.
    private static func guardCoding(_ pipeline: ChannelPipeline.SynchronousOperations) throws -> CodingGuard? {
        guard let decompressor = try? pipeline.handler(type: NIOHTTPResponseDecompressor.self) else { return nil }
        let coding = CodingGuard()
        try pipeline.addHandler(coding, position: .before(decompressor))
        return coding
    }

    typealias Initializer = @Sendable (any Channel) -> EventLoopFuture<Void>

    /// Adds handlers to a connection, runs the next initializer, then makes the connection known to the client's pool.
    ///
    /// - Work is deferred to a later tick of the event loop only where necessary: the pool ends the process if it gets an event of a
    ///   connection that it does not know yet. While another initializer runs, the guard of frames holds back what is received.
    /// - A connection that can't be used is closed before the pool is notified of the failure. In the other order, the pool would get the
    ///   connection's end after its failure, and a connection that does not end by itself would stay open.
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
                    // A connection that has already ended has lost its handlers.
                    guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
                    frames = try add(channel, channel.pipeline.syncOperations, settings)
                    if frames == nil {
                        settings.succeed(nil)
                    } else {
                        // Only settings that arrive before this call returns to the event loop are considered.
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
    /// Runs `body` on this event loop, immediately if possible.
    fileprivate func flatRun(_ body: @escaping @Sendable () -> EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        inEventLoop ? body() : flatSubmit(body)
    }
}
#endif
