#if NIO && MockServer
import ErrandCore
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A resolver whose addresses a closure returns. It counts its calls.
final class StubResolver: HostResolver {
    let asked = Watched([String]())
    let discarded = Watched([String]())
    private let lookUp: @Sendable (String) async throws -> [IPAddress]

    init(_ lookUp: @escaping @Sendable (String) async throws -> [IPAddress]) { self.lookUp = lookUp }

    convenience init(_ addresses: String...) { self.init { _ in try addresses.map { try IPAddress($0) } } }

    func addresses(of host: String, port: Int) async throws -> [IPAddress] {
        asked.change { $0.append("\(host):\(port)") }
        return try await lookUp(host)
    }

    func discardAddresses(of host: String, port: Int) { discarded.change { $0.append(host) } }
}

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
