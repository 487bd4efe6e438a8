#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOPosix

/// Opens connections: looks up the host, lets SwiftNIO try the addresses of the host (Happy Eyeballs, RFC 8305), and performs the TLS
/// handshake.
struct Connector: Sendable {
    let settings: NIOTransport.Configuration
    let tls: TLSIdentity

    /// Opens a connection, and completes ``ConnectAttempt/ready``.
    ///
    /// - Parameter whenComplete: the closure that is called on `loop`, before any byte is received over the connection.
    func connect(
        to route: Route, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop,
        whenComplete: @escaping @Sendable (Result<Connection, any Error>) -> Void
    ) {
        let ready = attempt.ready
        let peer = route.peer
        let address = try? IPAddress(peer.bareHost)
        attempt.recordProxy(route.proxy?.shown)
        // The limit for connecting includes the lookup, the tunnel through a proxy, and TLS.
        let timer = loop.scheduleTask(in: settings.connectTimeout.timeAmount) {
            ready.fail(ConnectTimeoutError(attempt))
            attempt.cancel()
        }
        // This callback is registered first, because the connection may open and fail before this thread continues.
        ready.futureResult.whenComplete { result in
            timer.cancel()
            attempt.enter(nil)
            // The next lookup must not return the unreachable addresses from a cache.
            if settings.unixSocketPath == nil, address == nil, case .failure(let error) = result, !(error is CancellationError) {
                settings.resolver.discardAddresses(of: peer.bareHost, port: peer.effectivePort)
            }
            whenComplete(result.mapError { attempt.explained($0) })
        }
        if let path = settings.unixSocketPath {
            attempt.recordUnixSocket(at: path)
            whenLoaded(attempt, route, on: loop) {
                let bootstrap = bootstrap(to: route, number: number, for: pool, attempt, on: loop)
                follow(attempt, route, ready) { bootstrap.connect(unixDomainSocketPath: path) }
            }
        } else if let address {
            whenLoaded(attempt, route, on: loop) { open([address], to: route, number: number, for: pool, attempt, on: loop) }
        } else {
            attempt.lookUp(peer, with: settings.resolver, on: loop).whenComplete { result in
                switch result {
                case .success(let addresses):
                    pool.found(addresses, for: attempt, to: route)
                    whenLoaded(attempt, route, on: loop) { open(addresses, to: route, number: number, for: pool, attempt, on: loop) }
                case .failure(let error): ready.fail(error)
                }
            }
        }
    }

    /// Calls `connect` when the files for TLS are loaded. Without TLS, and after the first connection, `connect` is called
    /// immediately.
    ///
    /// `connect` is called on the event loop. On another thread, the connection could fail before a caller waits for the connection, and
    /// the reason would be lost.
    private func whenLoaded(
        _ attempt: ConnectAttempt, _ route: Route, on loop: any EventLoop, _ connect: @escaping @Sendable () -> Void
    ) {
        guard route.isSecure || route.peer.scheme.isExactly("https") else {
            return loop.inEventLoop ? connect() : loop.execute { if !attempt.isCancelled { connect() } }
        }
        attempt.load { tls.load(for: route, on: loop) }.whenComplete { result in
            switch result {
            case .success: connect()
            case .failure(let error): attempt.ready.fail(error)
            }
        }
    }

    /// Connects to one of several addresses.
    ///
    /// - Parameter dialog: the dialog with the proxy. If the dialog began on a connection that can't be used again, the dialog continues on
    ///   the new connection.
    private func open(
        _ addresses: [IPAddress], to route: Route, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop,
        _ dialog: ProxyDialog = ProxyDialog()
    ) {
        let known: KnownAddresses
        do {
            known = try KnownAddresses(addresses, from: settings.localAddress, of: route.peer, on: loop)
        } catch {
            return attempt.ready.fail(error)
        }
        var ready = attempt.ready
        if route.isTunnel {
            ready = loop.makePromise()
            ready.futureResult.whenComplete { result in
                if case .failure(let error as TunnelChallenged) = result {
                    attempt.forgetTunnel()
                    open(addresses, to: route, number: number, for: pool, attempt, on: loop, error.dialog)
                } else {
                    attempt.ready.completeWith(result)
                }
            }
        }
        var bootstrap = bootstrap(to: route, number: number, for: pool, attempt, on: loop, dialog).resolver(known)
        if let local = known.local { bootstrap = bootstrap.bind(to: local) }
        follow(attempt, route, ready) { bootstrap.connect(host: route.peer.bareHost, port: route.peer.effectivePort) }
    }

    private func bootstrap(
        to route: Route, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop,
        _ dialog: ProxyDialog = ProxyDialog()
    ) -> ClientBootstrap {
        ClientBootstrap(group: loop)
            .connectTimeout(settings.connectTimeout.timeAmount)
            .channelOption(.socketOption(.so_keepalive), value: settings.usesTCPKeepAlive ? 1 : 0)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Large bodies are received in large pieces, which are passed on without a copy.
            .channelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16 * 1024, maximum: 256 * 1024))
            // Large uploads are written in large batches.
            .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
            .channelInitializer { channel in
                tls.prepare(channel, for: route).flatMapThrowing {
                    guard attempt.add(channel) else { throw CancellationError() }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(AddressWatch(attempt))
                    if let tunnel = route.tunnel(dialog, limits: settings.responseLimits) {
                        let serverMaySendFirst = settings.isKnownToUseHTTP2(for: route)
                        try pipeline.addHandler(TunnelHandler(tunnel, on: route, tls, attempt, serverMaySendFirst: serverMaySendFirst))
                    }
                    try pipeline.addHandler(ConnectionStart(number, to: route, of: pool, isSecure: route.isSecure))
                }
            }
    }

    /// Opens a channel, and completes `ready` when the channel can take an exchange.
    private func follow(
        _ attempt: ConnectAttempt, _ route: Route, _ ready: EventLoopPromise<Connection>, connect: () -> EventLoopFuture<any Channel>
    ) {
        attempt.enter(.connect)
        connect().hop(to: ready.futureResult.eventLoop).whenComplete { result in
            switch result {
            case .success(let channel):
                attempt.recordPeer(channel.remoteAddress)
                // The connect step includes opening the tunnel.
                if !route.isTunnel { attempt.enter(route.isSecure ? .tls : nil) }
                do {
                    try channel.pipeline.syncOperations.handler(type: ConnectionStart.self).whenReady(ready)
                } catch {
                    // If the channel has closed, the handler is no longer in the pipeline.
                    ready.fail(ChannelError.eof)
                }
            case .failure(let error):
                // If an attempt is cancelled before its channel opens, SwiftNIO reports that no address can be reached. The real reason is
                // the cancellation.
                ready.fail(attempt.isCancelled ? CancellationError() : Self.isTimeout(error) ? ConnectTimeoutError(attempt) : error)
            }
        }
    }

    /// Whether SwiftNIO's connect timeout has passed. This timeout equals the connect timeout of the transport.
    private static func isTimeout(_ error: any Error) -> Bool {
        switch error {
        case ChannelError.connectTimeout: true
        case let error as NIOConnectionError:
            error.connectionErrors.contains { if case ChannelError.connectTimeout = $0.error { true } else { false } }
        default: false
        }
    }
}

/// An error for a connection that was not open within the transport's limit for connecting.
struct ConnectTimeoutError: Error {
    /// See ``ConnectAttempt/progress``.
    let progress: String
    /// See ``ConnectProgress/slowProxy``.
    let proxy: ProxyAddress?

    init(_ attempt: ConnectAttempt) { (progress, proxy) = (attempt.progress, attempt.slowProxy) }
}

extension Origin {
    /// The host without the brackets of an IPv6 address.
    var bareHost: String { host.utf8.first == UInt8(ascii: "[") ? String(host.dropFirst().dropLast()) : host }
}
#endif
