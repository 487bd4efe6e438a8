#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The channels of an attempt to connect, so that it can be cancelled.
final class ConnectAttempt: Sendable {
    private struct State: Sendable {
        var channels: [any Channel] = []
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Returns false if the attempt was cancelled.
    func add(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.channels.append(channel) }
            return !state.isCancelled
        }
    }

    func cancel() {
        let channels = state.withLock { state in
            state.isCancelled = true
            defer { state.channels = [] }
            return state.channels
        }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// Opens connections: resolves the host, races its addresses (RFC 8305, by SwiftNIO), and shakes hands.
struct Connector: Sendable {
    let settings: NIOTransport.Configuration
    let tls: TLSIdentity

    func connect(
        to origin: Origin, number: Int, for pool: Pool, _ attempt: ConnectAttempt, on loop: any EventLoop
    ) -> EventLoopFuture<Connection> {
        let ready = loop.makePromise(of: Connection.self)
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(settings.connectTimeout.timeAmount)
            .channelOption(.socketOption(.so_keepalive), value: settings.keepsAlive ? 1 : 0)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Large bodies are received in large pieces, which are handed on without a copy.
            .channelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16 * 1024, maximum: 256 * 1024))
            .channelInitializer { channel in
                let isSecure = origin.scheme == "https"
                let secured = isSecure ? tls.prepare(channel, for: origin) : channel.eventLoop.makeSucceededVoidFuture()
                return secured.flatMapThrowing {
                    guard attempt.add(channel) else { throw CancellationError() }
                    let handler = HTTP1Handler(number, to: origin, of: pool, isSecure: isSecure)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        let connected =
            if let path = settings.unixSocketPath {
                bootstrap.connect(unixDomainSocketPath: path)
            } else {
                bootstrap.connect(host: origin.bareHost, port: origin.effectivePort)
            }
        connected.hop(to: loop).whenComplete { result in
            switch result {
            case .success(let channel):
                do {
                    try channel.pipeline.syncOperations.handler(type: HTTP1Handler.self).whenReady(ready)
                } catch {
                    ready.fail(error)
                }
            case .failure(let error): ready.fail(error)
            }
        }
        // The limit for connecting includes TLS.
        let timer = loop.scheduleTask(in: settings.connectTimeout.timeAmount) {
            ready.fail(ChannelError.connectTimeout(settings.connectTimeout.timeAmount))
            attempt.cancel()
        }
        ready.futureResult.whenComplete { _ in timer.cancel() }
        return ready.futureResult
    }
}

extension Origin {
    /// The host without the brackets of an IPv6 address.
    var bareHost: String { host.utf8.first == UInt8(ascii: "[") ? String(host.dropFirst().dropLast()) : host }
}
#endif
