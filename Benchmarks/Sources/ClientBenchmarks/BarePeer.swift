internal import ErrandCore
internal import ErrandNIO
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import NIOPosix
internal import SpikeTransport
internal import Synchronization

/// The minimum work of a client over SwiftNIO: a handler that sends the next request when the last response has ended. It has no pool, no
/// tasks, no deadlines and no value types.
final class BareHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    struct Work {
        let head: HTTPRequestHead
        var left: Int
        var decoder: JSONDecoder?
        var bytes = 0
        /// Called exactly once.
        let done: (Result<Int, any Error>) -> Void
    }

    private var work: Work?
    private var body: ByteBuffer?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
    func channelInactive(context: ChannelHandlerContext) { end(.failure(ChannelError.eof)) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(.failure(error)) }

    func begin(_ work: Work) {
        guard self.work == nil, let context else { return work.done(.failure(ChannelError.ioOnClosedChannel)) }
        self.work = work
        write(work.head, context)
    }

    private func write(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func end(_ result: Result<Int, any Error>) {
        guard let work else { return }
        self.work = nil
        work.done(result)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            if head.status != .ok { end(.failure(WrongResponse("status \(head.status.code)"))) }
        case .body(var part):
            guard work?.decoder != nil else {
                work?.bytes += part.readableBytes
                return
            }
            if body == nil { body = part } else { body?.writeBuffer(&part) }
        case .end:
            do {
                if let decoder = work?.decoder, let body {
                    work?.bytes += try decoder.decode(Document.self, from: Data(buffer: body)).checkedCount()
                    self.body = nil
                }
            } catch {
                return end(.failure(error))
            }
            work?.left -= 1
            guard let work else { return }
            if work.left > 0 { write(work.head, context) } else { end(.success(work.bytes)) }
        }
    }
}

/// Connections to one server, each with a bare handler, on one event loop.
final class BareConnections: Sendable {
    struct Connection: Sendable {
        let channel: any Channel
        let handler: NIOLoopBound<BareHandler>
    }

    let loop: any EventLoop
    let head: HTTPRequestHead
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let host: String
    private let port: Int
    private let idle = Mutex<[Connection]>([])

    init(_ url: String) throws {
        let request = try Request(.get, url: url)
        guard let origin = request.origin, let path = request.head.path else { throw WrongResponse("no URL: \(url)") }
        loop = group.next()
        (host, port) = (origin.host, origin.effectivePort)
        head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["host": origin.authority])
    }

    func take() async throws -> Connection {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        return try await ClientBootstrap(group: loop).connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = BareHandler()
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                try channel.pipeline.syncOperations.addHandler(handler)
                return Connection(channel: channel, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
            }
        }
    }

    func put(_ connection: Connection) { idle.withLock { $0.append(connection) } }
    func shutdown() async throws { try await group.shutdownGracefully() }
}

/// The bare handler, called once for all requests of a round.
struct BarePeer: Peer {
    private let connections: BareConnections

    init(_ url: String) throws { connections = try BareConnections(url) }

    func run(_ measurement: Measurement, count: Int) async throws -> Int {
        let connection = try await connections.take()
        let head = connections.head
        let bytes = try await withCheckedThrowingContinuation { continuation in
            connections.loop.execute {
                connection.handler.value.begin(
                    BareHandler.Work(head: head, left: count, decoder: measurement == .typed ? JSONDecoder() : nil) {
                        continuation.resume(with: $0)
                    })
            }
        }
        connections.put(connection)
        return bytes
    }

    func shutdown() async throws { try await connections.shutdown() }
}

/// The bare handler, awaited by a task for each request. It measures the cost of a call from a task.
struct AwaitedPeer: Peer {
    private let connections: BareConnections
    let executor: (any TaskExecutor)?

    /// - Parameter onLoop: whether the task runs on the event loop of the connection.
    init(_ url: String, onLoop: Bool) throws {
        connections = try BareConnections(url)
        executor = onLoop ? EventLoopExecutor(connections.loop) : nil
    }

    func run(_ measurement: Measurement, count: Int) async throws -> Int {
        let connection = try await connections.take()
        let (head, loop) = (connections.head, connections.loop)
        var bytes = 0
        for _ in 0..<count {
            bytes += try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Int, any Error>) in
                let work = { @Sendable in
                    connection.handler.value.begin(BareHandler.Work(head: head, left: 1) { continuation.resume(with: $0) })
                }
                if loop.inEventLoop { work() } else { loop.execute(work) }
            }
        }
        connections.put(connection)
        return bytes
    }

    func shutdown() async throws { try await connections.shutdown() }
}
