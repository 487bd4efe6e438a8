#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix

/// Opens connections: resolves the host, races its addresses (RFC 8305, by SwiftNIO), and shakes hands.
struct Connector: Sendable {
    let settings: NIOTransport.Configuration
    let tls: TLSIdentity

    /// Opens a connection, and completes ``ConnectAttempt/ready``.
    ///
    /// - Parameter whenComplete: called on `loop`, with the connection before anything is received over it.
    func connect(
        to key: ConnectionKey, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop,
        whenComplete: @escaping @Sendable (Result<Connection, any Error>) -> Void
    ) {
        let (ready, origin) = (attempt.ready, key.origin)
        let address = try? IPAddress(origin.bareHost)
        // The limit for connecting includes the lookup and TLS.
        let timer = loop.scheduleTask(in: settings.connectTimeout.timeAmount) {
            ready.fail(ConnectTimeoutError(progress: attempt.progress))
            attempt.cancel()
        }
        // First: the connection may be open, and lost again, before this thread goes on.
        ready.futureResult.whenComplete { result in
            timer.cancel()
            attempt.enter(nil)
            // Addresses that could not be reached are asked for again.
            if settings.unixSocketPath == nil, address == nil, case .failure(let error) = result, !(error is CancellationError) {
                settings.resolver.discardAddresses(of: origin.bareHost, port: origin.effectivePort)
            }
            whenComplete(result.mapError { attempt.explained($0) })
        }
        if let path = settings.unixSocketPath {
            attempt.connects(toUnixSocket: path)
            whenLoaded(attempt, key, on: loop) {
                let bootstrap = bootstrap(to: key, number: number, for: pool, attempt, on: loop)
                follow(attempt, origin) { bootstrap.connect(unixDomainSocketPath: path) }
            }
        } else if let address {
            whenLoaded(attempt, key, on: loop) { open([address], to: key, number: number, for: pool, attempt, on: loop) }
        } else {
            attempt.lookUp(origin, with: settings.resolver, on: loop).whenComplete { result in
                switch result {
                case .success(let addresses):
                    whenLoaded(attempt, key, on: loop) { open(addresses, to: key, number: number, for: pool, attempt, on: loop) }
                case .failure(let error): ready.fail(error)
                }
            }
        }
    }

    /// Calls `connect` when what TLS needs is loaded: at once after the first connection, and for `http`.
    private func whenLoaded(
        _ attempt: ConnectAttempt, _ key: ConnectionKey, on loop: any EventLoop, _ connect: @escaping @Sendable () -> Void
    ) {
        guard key.origin.scheme == "https" else { return connect() }
        attempt.load { tls.load(for: key, on: loop) }.whenComplete { result in
            switch result {
            case .success: connect()
            case .failure(let error): attempt.ready.fail(error)
            }
        }
    }

    /// Connects to one of several addresses.
    private func open(
        _ addresses: [IPAddress], to key: ConnectionKey, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop
    ) {
        let known: KnownAddresses
        do {
            known = try KnownAddresses(addresses, from: settings.localAddress, of: key.origin, on: loop)
        } catch {
            return attempt.ready.fail(error)
        }
        var bootstrap = bootstrap(to: key, number: number, for: pool, attempt, on: loop).resolver(known)
        if let local = known.local { bootstrap = bootstrap.bind(to: local) }
        let origin = key.origin
        follow(attempt, origin) { bootstrap.connect(host: origin.bareHost, port: origin.effectivePort) }
    }

    private func bootstrap(
        to key: ConnectionKey, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop
    ) -> ClientBootstrap {
        ClientBootstrap(group: loop)
            .connectTimeout(settings.connectTimeout.timeAmount)
            .channelOption(.socketOption(.so_keepalive), value: settings.usesTCPKeepAlive ? 1 : 0)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Large bodies are received in large pieces, which are handed on without a copy.
            .channelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16 * 1024, maximum: 256 * 1024))
            // Large uploads are written in large batches.
            .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
            .channelInitializer { channel in
                let isSecure = key.origin.scheme == "https"
                let secured = isSecure ? tls.prepare(channel, for: key) : channel.eventLoop.makeSucceededVoidFuture()
                return secured.flatMapThrowing {
                    guard attempt.add(channel) else { throw CancellationError() }
                    let start = ConnectionStart(number, to: key, of: pool, isSecure: isSecure)
                    try channel.pipeline.syncOperations.addHandlers(AddressWatch(attempt), start)
                }
            }
    }

    /// Waits for a channel, and then until it can take an exchange.
    private func follow(_ attempt: ConnectAttempt, _ origin: Origin, connect: () -> EventLoopFuture<any Channel>) {
        let ready = attempt.ready
        attempt.enter(.connect)
        connect().hop(to: ready.futureResult.eventLoop).whenComplete { result in
            switch result {
            case .success(let channel):
                attempt.connected(to: channel.remoteAddress)
                attempt.enter(origin.scheme == "https" ? .tls : nil)
                do {
                    try channel.pipeline.syncOperations.handler(type: ConnectionStart.self).whenReady(ready)
                } catch {
                    // The handler leaves a channel that has closed.
                    ready.fail(ChannelError.eof)
                }
            case .failure(let error): ready.fail(Self.isTimeout(error) ? ConnectTimeoutError(progress: attempt.progress) : error)
            }
        }
    }

    /// Whether SwiftNIO's own limit for connecting has passed, which is as long as the transport's.
    private static func isTimeout(_ error: any Error) -> Bool {
        switch error {
        case ChannelError.connectTimeout: true
        case let error as NIOConnectionError:
            error.connectionErrors.contains { if case ChannelError.connectTimeout = $0.error { true } else { false } }
        default: false
        }
    }
}

/// The transport's limit for connecting has passed.
struct ConnectTimeoutError: Error {
    /// See ``ConnectAttempt/progress``.
    let progress: String
}

extension Origin {
    /// The host without the brackets of an IPv6 address.
    var bareHost: String { host.utf8.first == UInt8(ascii: "[") ? String(host.dropFirst().dropLast()) : host }
}
#endif
