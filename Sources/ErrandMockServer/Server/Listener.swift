#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS

/// The listening socket. The listener sets up each accepted connection.
final class Listener: Sendable {
    private let channel: any Channel
    /// The connections that fill the queue, if the listener never accepts connections.
    private let fillers: [any Channel]
    let port: Int

    init(_ core: ServerCore) async throws {
        let configuration = core.configuration
        let setup = ConnectionSetup(core: core, tls: try configuration.tls?.context(protocols: configuration.protocols))
        var bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: Int32(configuration.neverAccepts ? 0 : 256))
            .serverChannelOption(.autoRead, value: !configuration.neverAccepts)
            // Each read gets one message, because a fault may stop reading at any point of a request.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 32 * 1024))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setup.start(channel) }
            }
        if let bytes = configuration.receiveBufferBytes {
            bootstrap = bootstrap.serverChannelOption(
                ChannelOptions.Types.SocketOption(level: .socket, name: .so_rcvbuf), value: numericCast(bytes))
        }
        channel = try await bootstrap.bind(host: configuration.host, port: 0).get()
        port = channel.localAddress?.port ?? 0
        do {
            fillers = configuration.neverAccepts ? try await Self.fill(host: configuration.host, port: port) : []
        } catch {
            try? await channel.close().get()
            throw error
        }
    }

    /// Fills the queue: opens connections until a new connection is not established.
    private static func fill(host: String, port: Int) async throws -> [any Channel] {
        var fillers: [any Channel] = []
        for _ in 0..<16 {
            do {
                fillers.append(
                    try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                        .connectTimeout(.milliseconds(150)).connect(host: host, port: port).get())
            } catch {
                return fillers
            }
        }
        for filler in fillers { try? await filler.close().get() }
        throw BrokenListener()
    }

    func close() { for channel in [channel] + fillers { channel.close(promise: nil) } }

    func waitUntilClosed() async { for channel in [channel] + fillers { try? await channel.closeFuture.get() } }
}

/// The error if a listener never accepts connections, but its queue does not fill.
private struct BrokenListener: Error, CustomStringConvertible {
    var description: String { "on this system, the connection queue did not fill, although the listener never accepts" }
}

/// Adds the protocol's handlers to an accepted channel.
struct ConnectionSetup: Sendable {
    let core: ServerCore
    /// The TLS context; `nil` for clear text.
    let tls: NIOSSLContext?

    /// Sets up the channel. The caller must run on the channel's event loop.
    func start(_ channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(SocketHandler(), name: Connection.firstHandlerName)
        guard let (index, fault) = core.accept(channel) else { return channel.close(promise: nil) }
        let plain = Connection(channel: channel, index: index, serverName: nil, negotiatedProtocol: nil, isTLS: tls != nil)
        if let fault { return try apply(fault, to: plain) }
        guard let tls else {
            return try core.configuration.protocols == [.http2] ? startHTTP2(plain) : startHTTP1(plain)
        }
        let core = core
        try pipeline.addHandler(
            ByteToMessageHandler(
                SNIHandler { result in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                        try pipeline.addHandler(
                            HandshakeHandler(core: core) { agreed in
                                var name: String?
                                if case .hostname(let hostname) = result { name = hostname }
                                let connection = Connection(
                                    channel: channel, index: index, serverName: name, negotiatedProtocol: agreed, isTLS: true)
                                let isHTTP2 = agreed.isExactly("h2") || (agreed == nil && core.configuration.protocols == [.http2])
                                try isHTTP2 ? startHTTP2(connection) : startHTTP1(connection)
                            })
                    }
                }))
    }

    private func apply(_ fault: ConnectionFault, to connection: Connection) throws {
        switch fault.kind {
        case .close: connection.close()
        case .reset: core.start { await connection.reset() }
        case .stall: _ = connection.channel.setOption(.autoRead, value: false)
        case .handshake where tls == nil: connection.close()
        case .handshake: try connection.channel.pipeline.syncOperations.addHandler(RefusingHandler())
        }
    }

    private func startHTTP1(_ connection: Connection) throws {
        let inbound = Inbound()
        let scheme = connection.isTLS ? "https" : "http"
        let pipeline = connection.channel.pipeline.syncOperations
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        try pipeline.addHandler(InboundHandler<HTTPServerRequestPart>(inbound) { try RequestPart.parts(of: $0, scheme: scheme) })
        let job = HTTP1Connection(core: core, connection: connection, inbound: inbound)
        core.start { await job.run() }
    }

    private func startHTTP2(_ connection: Connection) throws {
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        // Invalid messages are not refused here, because the client must detect invalid messages, and tests inspect the received octets.
        settings.contentLengthValidation = .disabled
        settings.headerBlockValidation = .disabled
        let core = core
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: connection.channel.eventLoop, connectionConfiguration: settings, streamConfiguration: .init()
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                let id = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) ?? HTTP2StreamID(1)
                let inbound = Inbound()
                var isFirst = true
                try stream.pipeline.syncOperations.addHandler(
                    InboundHandler<HTTP2Frame.FramePayload>(inbound) { try RequestPart.parts(of: $0, isFirst: &isFirst) })
                let job = HTTP2Stream(core: core, connection: connection, stream: stream, id: id, inbound: inbound)
                core.start { await job.run() }
            }
        }
        try connection.channel.pipeline.syncOperations.addHandler(OctetsHandler())
        try connection.channel.pipeline.syncOperations.addHandler(handler)
        try connection.channel.pipeline.syncOperations.addHandler(ConnectionErrorHandler(core: core))
    }
}

/// Waits for the end of the handshake, then sets up the negotiated protocol.
private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let core: ServerCore
    private let onAgreed: (String?) throws -> Void

    init(core: ServerCore, onAgreed: @escaping (String?) throws -> Void) { (self.core, self.onAgreed) = (core, onAgreed) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let agreed)? = event as? TLSUserEvent else { return context.fireUserInboundEventTriggered(event) }
        do {
            try onAgreed(agreed)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            errorCaught(context: context, error: error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        core.connectionFailed(error)
        context.close(promise: nil)
    }
}

/// Responds to a `ClientHello` with an alert.
private final class RefusingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The bytes are a record with the fatal alert `handshake_failure` (RFC 8446, sections 5.1 and 6).
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 40])), promise: nil)
        context.close(promise: nil)
    }
}

/// Closes an HTTP/2 connection at its first error.
private final class ConnectionErrorHandler: ChannelInboundHandler {
    typealias InboundIn = Never

    private let core: ServerCore

    init(core: ServerCore) { self.core = core }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The error belongs to one stream, which gets the error separately.
        if error is NIOHTTP2Errors.StreamClosed || error is NIOHTTP2Errors.NoSuchStream { return }
        core.connectionFailed(error)
        context.close(promise: nil)
    }
}
#endif
