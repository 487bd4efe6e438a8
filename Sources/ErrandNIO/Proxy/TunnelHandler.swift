#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOTLS

/// Opens a tunnel through a proxy. When the tunnel is open, the TLS and HTTP handlers are notified that the channel is active. Then this
/// handler leaves the pipeline.
final class TunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// The channel is not active, or the TLS handshake with the proxy is in progress.
        case waiting
        /// The dialog with the proxy is in progress.
        case asking
        /// The tunnel is open. TLS is being added.
        case open
        case failed
    }

    private var tunnel: any Tunnel
    private let route: Route
    private let tls: TLSIdentity
    private let attempt: ConnectAttempt
    /// Whether the server of the origin may send the first bytes: in HTTP/2 without TLS
    /// ([RFC 9113, section 3.4](https://www.rfc-editor.org/rfc/rfc9113#section-3.4)).
    private let serverMaySendFirst: Bool
    private var state = State.waiting
    private var received = ByteBuffer()

    init(_ tunnel: any Tunnel, on route: Route, _ tls: TLSIdentity, _ attempt: ConnectAttempt, serverMaySendFirst: Bool) {
        self.tunnel = tunnel
        self.route = route
        self.tls = tls
        self.attempt = attempt
        self.serverMaySendFirst = serverMaySendFirst
    }

    // MARK: - The channel

    func handlerAdded(context: ChannelHandlerContext) {
        // The next handlers do not read before the tunnel is open.
        if context.channel.isActive { channelActive(context: context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        if route.peer.scheme.isExactly("https") { attempt.enterProxyTLS() } else { begin(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .waiting = state, case .handshakeCompleted? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        begin(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        // Without this call, the buffer would also keep the bytes that were read.
        received.discardReadBytes()
        received.writeBuffer(&bytes)
        switch state {
        case .asking:
            attempt.recordProxyResponse()
            goOn(context)
        case .open: failEarlyBytes(context)
        case .waiting, .failed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch state {
        case .waiting, .asking: context.read()
        case .open, .failed: break
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch state {
        case .waiting: fail(ProxyFailure(message: "\(shown) closed the connection"), context)
        case .asking: perform(tunnel.end(), context)
        case .open, .failed: break
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch state {
        case .waiting, .asking:
            let isOfTLS = FailureText.isOfTLS(error)
            fail(
                ProxyFailure(
                    message: "\(shown): \(FailureText.of(error))", code: isOfTLS ? .tls : .cannotConnect,
                    underlying: (error as? HandshakeFailure)?.underlying ?? error), context)
        case .open: context.fireErrorCaught(error)
        case .failed: break
        }
    }

    private var shown: String { route.proxy.map { "the \($0.shown)" } ?? "the proxy" }

    // MARK: - The tunnel

    private func begin(_ context: ChannelHandlerContext) {
        guard case .waiting = state else { return }
        state = .asking
        attempt.enterTunnel(through: shown)
        // Inside this call, an authenticator may cancel the attempt. The cancellation closes the channel.
        var tunnel = self.tunnel
        do {
            let first = try tunnel.begin()
            self.tunnel = tunnel
            guard case .asking = state else { return }
            write(first, context)
        } catch {
            return fail(ProxyFailure(message: "\(shown): \(FailureText.of(error))", underlying: error), context)
        }
        context.read()
    }

    private func write(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        // A failed write closes the channel.
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    private func goOn(_ context: ChannelHandlerContext) {
        while case .asking = state {
            var (tunnel, received) = (self.tunnel, self.received)
            let step = tunnel.receive(&received)
            guard case .asking = state else { return }
            (self.tunnel, self.received) = (tunnel, received)
            if case .wait = step { return }
            perform(step, context)
        }
    }

    private func perform(_ step: TunnelStep, _ context: ChannelHandlerContext) {
        switch step {
        case .wait: break
        case .write(let buffer):
            attempt.recordNextProxyRequest()
            write(buffer, context)
        case .open: open(context)
        case .connectAgain(let dialog): fail(TunnelChallenged(dialog: dialog), context)
        case .refuse(let failure): fail(failure, context)
        }
    }

    /// Fails the tunnel, because the proxy has sent bytes too early. In HTTP/1.1 and in TLS, the server of the origin never
    /// sends the first bytes.
    private func failEarlyBytes(_ context: ChannelHandlerContext) {
        fail(ProxyFailure(message: "\(shown) sent bytes before the tunnel to \(route.target) was used"), context)
    }

    private func open(_ context: ChannelHandlerContext) {
        guard received.readableBytes == 0 || serverMaySendFirst else { return failEarlyBytes(context) }
        state = .open
        let isSecure = route.isSecure
        attempt.leaveTunnel(isSecure ? .tls : nil)
        guard isSecure else {
            context.fireChannelActive()
            if received.readableBytes > 0 {
                context.fireChannelRead(wrapInboundOut(received))
                context.fireChannelReadComplete()
            }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return
        }
        tls.prepareTunnel(context.channel, for: route).assumeIsolated().whenComplete { result in
            guard case .open = self.state else { return }
            if case .failure(let error) = result { context.fireErrorCaught(error) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        if case .failed = state { return }
        state = .failed
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}
#endif
