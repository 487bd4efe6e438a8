#if MockServer
public import ErrandMockServer
public import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS
internal import Synchronization

/// Decides what a ``ByteServer`` does on one connection. All calls are on the connection's event loop.
public protocol ByteScript: AnyObject {
    /// Called when the handshake is complete.
    func opened() -> [ByteAction]
    /// Called with the bytes that were received.
    func received(_ bytes: [UInt8]) -> [ByteAction]
}

/// One step of a ``ByteScript``.
public enum ByteAction: Sendable {
    case write([UInt8])
    /// The client receives the bytes before the pause and the bytes after the pause in separate reads.
    case pause(milliseconds: Int)
    /// Nothing is read from now on, not even the end of the connection.
    case stopReading
    case close
}

/// A TLS server that writes on each connection the bytes that a script returns, valid or not.
public final class ByteServer: Sendable {
    /// The port on the loopback interface, chosen by the operating system.
    public let port: Int
    private let listener: any Channel
    private let connections = ByteConnections()

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - certificate: the server's certificate.
    ///   - protocols: the protocols that the server accepts (ALPN, [RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)), the preferred one
    ///     first.
    ///   - makeScript: creates the script of a connection.
    public init(
        certificate: TestCertificate, protocols: [String] = ["h2"], makeScript: @escaping @Sendable () -> any ByteScript
    ) async throws {
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(certificate.certificatePEM.utf8), format: .pem))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(certificate.keyPEM.utf8), format: .pem)))
        settings.applicationProtocols = protocols
        let tls = try NIOSSLContext(configuration: settings)
        let connections = connections
        listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.opened(channel)
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    try channel.pipeline.syncOperations.addHandler(ByteHandler(makeScript()))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// The number of connections that are open now.
    public var openConnections: Int { connections.open.withLock { $0.count } }
    /// The number of connections that were accepted so far.
    public var acceptedConnections: Int { connections.accepted.withLock { $0 } }

    /// Stops listening, and closes all connections.
    public func stop() async {
        try? await listener.close().get()
        for channel in connections.open.withLock({ Array($0.values) }) {
            // TLS would wait for the end of a client that is gone.
            let isClosed = channel.eventLoop.submit {
                channel.close(promise: nil)
                try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
            }
            try? await isClosed.get()
            try? await channel.closeFuture.get()
        }
    }

    /// Returns an initializer of connections that takes the given time, for the settings of a client.
    public static func slowInitializer(milliseconds: Int64) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in channel.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {}.futureResult }
    }
}

private final class ByteConnections: Sendable {
    let open = Mutex<[ObjectIdentifier: any Channel]>([:])
    let accepted = Mutex(0)

    func opened(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        accepted.withLock { $0 += 1 }
        open.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in _ = self.open.withLock { $0.removeValue(forKey: id) } }
    }
}

private final class ByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let script: any ByteScript
    private var actions: ArraySlice<ByteAction> = []
    private var isPaused = false

    init(_ script: any ByteScript) { self.script = script }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { perform(script.opened(), context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        perform(script.received(Array(buffer.readableBytesView)), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ more: [ByteAction], _ context: ChannelHandlerContext) {
        actions += more
        while !isPaused, let action = actions.popFirst() {
            switch action {
            case .write(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .stopReading: context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
            case .close:
                actions = []
                context.close(promise: nil)
            case .pause(let milliseconds):
                isPaused = true
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {
                    let (handler, context) = bound.value
                    handler.isPaused = false
                    if context.channel.isActive { handler.perform([], context) }
                }
            }
        }
    }
}
#endif
