#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOHTTP2
internal import NIOSSL
internal import NIOTLS

/// Waits until a channel can take exchanges: the channel is active, and the TLS handshake, if any, is complete. Then this handler adds the
/// handler for the HTTP version, and leaves the pipeline.
final class ConnectionStart: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let route: Route
    private let pool: Pool
    private let isSecure: Bool
    private var context: ChannelHandlerContext?
    private var isReady = false
    private var isHTTP2 = false
    /// The promise of the connection; `nil` before ``whenReady(_:)`` is called, and after the promise is completed.
    private var ready: EventLoopPromise<Connection>?
    private var isReadWanted = false
    /// The bytes received before the HTTP handler was added. When a tunnel opens, the settings of an HTTP/2 server may come with
    /// the last bytes of the proxy.
    private var early: ByteBuffer?
    /// The reason why the channel closes.
    private var failure: (any Error)?

    init(_ number: Int, to route: Route, of pool: Pool, isSecure: Bool) {
        self.number = number
        self.route = route
        self.pool = pool
        self.isSecure = isSecure
    }

    /// Completes `promise` with the connection as soon as the connection can take an exchange.
    func whenReady(_ promise: EventLoopPromise<Connection>) {
        ready = promise
        if let failure { fail(failure) } else { start() }
    }

    // MARK: - The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        fail(failure ?? ChannelError.eof)
    }

    func channelActive(context: ChannelHandlerContext) {
        if !isSecure { becomeReady(isHTTP2: pool.settings.isKnownToUseHTTP2(for: route)) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if early?.writeBuffer(&bytes) == nil { early = bytes }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(failure ?? ChannelError.eof)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent { becomeReady(isHTTP2: negotiated.isExactly("h2")) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        fail(error)
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        // Early bytes may belong to the response of the first exchange, so reading waits for this exchange. With TLS, reading can't wait,
        // because the handshake needs the server's bytes.
        if isSecure { context.read() } else { isReadWanted = true }
    }

    // MARK: - The start

    private func becomeReady(isHTTP2: Bool) {
        (isReady, self.isHTTP2) = (true, isHTTP2)
        start()
    }

    private func fail(_ error: any Error) {
        ready?.fail(error)
        ready = nil
    }

    private func start() {
        guard isReady, let context, let promise = ready else { return }
        let (channel, pipeline) = (context.channel, context.pipeline.syncOperations)
        let connection: Connection
        do {
            connection = isHTTP2 ? try addHTTP2(to: pipeline, of: channel) : try addHTTP1(to: pipeline, of: channel)
        } catch {
            return fail(error)
        }
        ready = nil
        if let early {
            context.fireChannelRead(wrapInboundOut(early))
            context.fireChannelReadComplete()
        }
        pipeline.removeHandler(context: context, promise: nil)
        promise.succeed(connection)
        // If an exchange waited for the connection, the completion of the promise has already started the exchange.
        if isReadWanted { channel.read() }
    }

    private func addHTTP1(to pipeline: ChannelPipeline.SynchronousOperations, of channel: any Channel) throws -> Connection {
        let handler = HTTP1Handler(of: pool, isSecure: isSecure)
        try pipeline.addHandler(handler)
        let connection = Connection(number, to: route, channel, version: .http1_1, handler)
        handler.connection = connection
        return connection
    }

    private func addHTTP2(to pipeline: ChannelPipeline.SynchronousOperations, of channel: any Channel) throws -> Connection {
        let frameGuard = FrameGuard()
        let handler = HTTP2Handler(of: pool, after: frameGuard)
        let isShareable = pool.settings.mayShareConnections(of: route)
        let certificate = isShareable ? try? pipeline.handler(type: NIOSSLClientHandler.self).peerCertificate : nil
        try pipeline.addHandler(frameGuard)
        // NIOHTTP2's handler writes the connection preface when the pipeline adds the handler.
        try pipeline.addHandler(NIOHTTP2Handler.client(limits: pool.settings.responseLimits, reportingTo: handler))
        try pipeline.addHandler(handler)
        let connection = Connection(
            number, to: route, channel, version: .http2, streams: HTTP2Limits.firstStreams,
            certificateNames: certificate.map { CertificateNames.hosts(in: $0) } ?? [], handler)
        handler.connection = connection
        return connection
    }
}
#endif
