public import ErrandCore
public import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The hot path of a transport over SwiftNIO, and nothing else: what a small GET costs at least.
///
/// HTTP/1.1 without TLS, connections that are kept, requests without a body, responses of a declared length in memory. It knows one server, and
/// has no limits and no timeouts. It is an experiment: no app is to send by it.
public struct SpikeTransport: HTTPTransport, CustomStringConvertible {
    /// Who reads and writes the messages.
    public enum Codec: Sendable {
        /// NIOHTTP1's encoder and decoder, whose heads are then converted.
        case nio
        /// The heads are written into a buffer, and read out of one, as they are.
        case direct
    }

    private let loop: any EventLoop
    private let codec: Codec
    private let idle = IdleConnections()

    public init(_ codec: Codec, on loop: any EventLoop) { (self.codec, self.loop) = (codec, loop) }

    public var capabilities: Capabilities { [] }
    public var description: String { "SpikeTransport" }

    public func send(_ request: Request) async throws -> Response {
        let connection = if let connection = idle.take() { connection } else { try await connect(to: request) }
        let response = try await withTaskCancellationHandler {
            // A checked continuation allocates. Each of these is resumed once: see SpikeHandler.
            try await withUnsafeThrowingContinuation { connection.begin(request, $0) }
        } onCancel: {
            connection.close()
        }
        idle.put(connection)
        return response
    }

    public func shutdown() async throws { for connection in idle.takeAll() { connection.close() } }

    private func connect(to request: Request) async throws -> SpikeConnection {
        guard let origin = request.origin, origin.scheme == "http" else {
            throw TransportError(.unsupported, phase: .connect, message: "http alone", request: request, delivery: .notSent)
        }
        return try await ClientBootstrap(group: loop).connect(host: origin.host, port: origin.effectivePort) { [codec] channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                switch codec {
                case .nio:
                    // The fields of a request can hold nothing that NIO's own check would find.
                    try pipeline.addHTTPClientHandlers(enableOutboundHeaderValidation: false)
                    let handler = NIOCodecHandler()
                    try pipeline.addHandler(handler)
                    return SpikeConnection(channel, handler)
                case .direct:
                    let handler = DirectCodecHandler()
                    try pipeline.addHandler(handler)
                    return SpikeConnection(channel, handler)
                }
            }
        }
    }
}

private final class IdleConnections: Sendable {
    private let connections = Mutex<[SpikeConnection]>([])

    func take() -> SpikeConnection? { connections.withLock { $0.popLast() } }
    func put(_ connection: SpikeConnection) { connections.withLock { $0.append(connection) } }

    func takeAll() -> [SpikeConnection] {
        connections.withLock { connections in
            defer { connections = [] }
            return connections
        }
    }
}

/// A connection, as any task may hold it.
struct SpikeConnection: Sendable {
    private let channel: any Channel
    private let loop: any EventLoop
    private let handler: NIOLoopBound<SpikeHandler>

    /// On the channel's event loop.
    init(_ channel: any Channel, _ handler: SpikeHandler) {
        (self.channel, loop) = (channel, channel.eventLoop)
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    func begin(_ request: Request, _ continuation: SpikeHandler.Waiter) {
        if loop.inEventLoop {
            handler.value.begin(request, continuation)
        } else {
            loop.execute { handler.value.begin(request, continuation) }
        }
    }

    func close() { channel.close(promise: nil) }
}

/// One exchange at a time, whatever the codec. On the channel's event loop.
class SpikeHandler {
    typealias Waiter = UnsafeContinuation<Response, any Error>

    private var waiting: (request: Request, continuation: Waiter)?
    var context: ChannelHandlerContext?

    final func begin(_ request: Request, _ continuation: Waiter) {
        guard waiting == nil, let context, context.channel.isActive else {
            continuation.resume(throwing: TransportError(.connectionLost, phase: .request, request: request, delivery: .notSent))
            return
        }
        waiting = (request, continuation)
        write(request, context)
    }

    func write(_ request: Request, _ context: ChannelHandlerContext) {}

    final func finish(_ head: HTTPResponse, _ data: Data) {
        guard let (request, continuation) = waiting else { return }
        waiting = nil
        var response = Response(head: head, data: data, request: request)
        response.metadata.httpVersion = "1.1"
        continuation.resume(returning: response)
    }

    final func fail(_ underlying: (any Error)? = nil) {
        if let (request, continuation) = waiting {
            waiting = nil
            continuation.resume(
                throwing: TransportError(.connectionLost, phase: .response, underlying: underlying, request: request, delivery: .unknown))
        }
        context?.close(promise: nil)
    }
}
