internal import ClientHarness
internal import ErrandCore
internal import ErrandNIO
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
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
        /// The latencies, where the handler makes more than one request.
        var share: Share?
        /// The bytes of the last body.
        var bytes = 0
        /// Called exactly once.
        let done: (Result<Work, any Error>) -> Void
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

    private func end(_ result: Result<Work, any Error>) {
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
                    work?.bytes = try decoder.decode(Document.self, from: Data(buffer: body)).checkedCount()
                    self.body = nil
                }
            } catch {
                return end(.failure(error))
            }
            guard let bytes = work?.bytes else { return }
            work?.left -= 1
            work?.share?.add(bytes)
            guard let work else { return }
            if work.left > 0 {
                self.work?.bytes = 0
                write(work.head, context)
            } else {
                end(.success(work))
            }
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
    private let tls: NIOSSLContext?
    private let idle = Mutex<[Connection]>([])

    init(_ setting: Setting) throws {
        let request = try Request(.get, url: setting.url)
        guard let origin = request.origin, let path = request.head.path else { throw WrongResponse("no URL: \(setting.url)") }
        loop = group.next()
        (host, port) = (origin.host, origin.effectivePort)
        tls = origin.scheme == "https" ? try setting.tls.map { try NIOSSLContext(configuration: $0) } : nil
        head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["host": origin.authority])
    }

    func take() async throws -> Connection {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        return try await ClientBootstrap(group: loop).connect(host: host, port: port) { [host, tls] channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = BareHandler()
                if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: host)) }
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

    init(_ setting: Setting) throws { connections = try BareConnections(setting) }

    func run(_ kind: Kind, count: Int) async throws -> Share {
        guard kind != .upload else { throw WrongResponse("the bare handler has no \(kind)") }
        let connection = try await connections.take()
        let head = connections.head
        let share = try await withCheckedThrowingContinuation { continuation in
            connections.loop.execute {
                connection.handler.value.begin(
                    BareHandler.Work(
                        head: head, left: count, decoder: kind == .typed ? JSONDecoder() : nil, share: Share(count: count)
                    ) { result in continuation.resume(with: result.map { $0.share ?? Share(count: 0) }) })
            }
        }
        connections.put(connection)
        return share
    }

    func shutdown() async throws { try await connections.shutdown() }
}

/// The bare handler, awaited by a task for each request. It measures the cost of a call from a task.
struct AwaitedPeer: Peer {
    private let connections: BareConnections
    let executor: (any TaskExecutor)?

    /// - Parameter onLoop: whether the task runs on the event loop of the connection.
    init(_ setting: Setting, onLoop: Bool) throws {
        connections = try BareConnections(setting)
        executor = onLoop ? EventLoopExecutor(connections.loop) : nil
    }

    func run(_ kind: Kind, count: Int) async throws -> Share {
        guard kind == .get else { throw WrongResponse("the awaited handler has no \(kind)") }
        let connection = try await connections.take()
        let (head, loop) = (connections.head, connections.loop)
        var share = Share(count: count)
        for _ in 0..<count {
            let bytes = try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Int, any Error>) in
                let work = { @Sendable in
                    connection.handler.value.begin(
                        BareHandler.Work(head: head, left: 1) { result in continuation.resume(with: result.map(\.bytes)) })
                }
                if loop.inEventLoop { work() } else { loop.execute(work) }
            }
            share.add(bytes)
        }
        connections.put(connection)
        return share
    }

    func shutdown() async throws { try await connections.shutdown() }
}
