#if SWIFT_NIO && MockServer
import NIOCore
import NIOPosix

/// A server of SwiftNIO at any address, whose responses hold the address that a connection came from.
struct PeerServer: Sendable {
    private final class PeerAddressHandler: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard unwrapInboundIn(data).readableBytesView.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
            let peer = context.channel.remoteAddress?.ipAddress ?? "none"
            let response = "HTTP/1.1 200 OK\r\nContent-Length: \(peer.utf8.count)\r\n\r\n\(peer)"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
        }
    }

    private let channel: any Channel

    private static var bootstrap: ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(PeerAddressHandler()) }
        }
    }

    /// - Parameter port: 0 for any.
    init(host: String, port: Int) async throws { channel = try await Self.bootstrap.bind(host: host, port: port).get() }
    init(unixSocketPath path: String) async throws { channel = try await Self.bootstrap.bind(unixDomainSocketPath: path).get() }

    var port: Int { channel.localAddress?.port ?? 0 }
    func stop() async throws { try await channel.close().get() }
}
#endif
