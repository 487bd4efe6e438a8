import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Servers on the loopback interface. The path of a request names the kind of response, valid or broken. See ``SoakPlan``.
final class SoakServer: Sendable {
    let ports: [Int]
    private let group: MultiThreadedEventLoopGroup
    private let listeners: [any Channel]
    private let channels: OpenChannels

    /// The connections that are open now.
    var connections: Int { channels.all.count }

    init(count: Int) async throws {
        let channels = OpenChannels()
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    channels.opened(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    try pipeline.addHandler(SoakHandler())
                }
            }
        var listeners: [any Channel] = []
        for _ in 0..<count { listeners.append(try await bootstrap.bind(host: "127.0.0.1", port: 0).get()) }
        (self.listeners, self.channels) = (listeners, channels)
        ports = listeners.map { $0.localAddress?.port ?? 0 }
    }

    /// Stops listening, closes all connections, and ends the threads.
    func close() async throws {
        for listener in listeners { try await listener.close().get() }
        for channel in channels.all { try? await channel.close().get() }
        try await group.shutdownGracefully()
    }
}

/// The connections of a server.
final class OpenChannels: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    var all: [any Channel] { channels.withLock { Array($0.values) } }

    func opened(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }
}

private final class SoakHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private var reply = SoakPlan.Reply.whole
    private var bodyBytes = 0
    private var number = 0
    private var received = 0
    private var isOver = false

    private var byte: UInt8 { UInt8(truncatingIfNeeded: number) }
    private var fields: String { "X-Received: \(received)\r\nX-Number: \(number)\r\n" }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            let parts = head.uri.split(separator: "/")
            guard parts.count == 3, let reply = SoakPlan.Reply(rawValue: String(parts[0])), let count = Int(parts[1]),
                let number = Int(parts[2])
            else { return close(context) }
            (self.reply, bodyBytes, self.number, received) = (reply, count, number, 0)
            if reply == .refuses {
                write("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", context)
                close(context)
            }
        case .body(let buffer): received += buffer.readableBytes
        case .end: respond(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { close(context) }

    private func respond(_ context: ChannelHandlerContext) {
        let head = "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(bodyBytes)\r\n\r\n"
        switch reply {
        case .whole: write(head, body: bodyBytes, context)
        case .interim: write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + head, body: bodyBytes, context)
        case .extra:
            write(head, body: bodyBytes, context, then: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        case .chunked:
            let first = bodyBytes / 2
            write("HTTP/1.1 200 OK\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n", context)
            write(String(first, radix: 16) + "\r\n", body: first, context, then: "\r\n")
            write(String(bodyBytes - first, radix: 16) + "\r\n", body: bodyBytes - first, context, then: "\r\n0\r\n\r\n")
        case .untilClose:
            write("HTTP/1.1 200 OK\r\n\(fields)Connection: close\r\n\r\n", body: bodyBytes, context)
            close(context)
        case .slow:
            write(head, body: bodyBytes / 2, context)
            let (rest, byte, bound) = (bodyBytes - bodyBytes / 2, byte, NIOLoopBound(context, eventLoop: context.eventLoop))
            context.eventLoop.scheduleTask(in: .milliseconds(2)) {
                guard bound.value.channel.isActive else { return }
                bound.value.writeAndFlush(NIOAny(ByteBuffer(repeating: byte, count: rest)), promise: nil)
            }
        case .closes: close(context)
        case .resets: reset(context)
        case .truncates:
            write(head, body: bodyBytes / 2, context)
            close(context)
        case .resetsInBody:
            write(head, body: bodyBytes / 2, context)
            reset(context)
        case .garbage:
            write("\u{1}SSH-2.0 this is not HTTP\r\n\r\n", context)
            close(context)
        case .stalls: write(head, body: bodyBytes / 2, context)
        // The other cases are for HTTP/2.
        default: break
        }
    }

    private func write(_ head: String, body: Int = 0, _ context: ChannelHandlerContext, then end: String = "") {
        var buffer = context.channel.allocator.buffer(capacity: head.utf8.count + body + end.utf8.count)
        buffer.writeString(head)
        buffer.writeRepeatingByte(byte, count: body)
        buffer.writeString(end)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    /// Closes the connection after all bytes were written.
    private func close(_ context: ChannelHandlerContext) {
        isOver = true
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in bound.value.close(promise: nil) }
    }

    private func reset(_ context: ChannelHandlerContext) {
        isOver = true
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        guard let channel = context.channel as? any SocketOptionProvider else { return close(context) }
        channel.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in bound.value.close(promise: nil) }
    }
}
