public import ErrandCore
public import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The hot path of a transport over SwiftNIO, and nothing else: the minimum cost of a small GET.
///
/// It supports HTTP/1.1 without TLS, kept connections, requests without a body, and responses of a declared length in memory. It connects
/// to one server, and has no limits and no timeouts. It is an experiment and not for use in apps.
public struct SpikeTransport: HTTPTransport, CustomStringConvertible {
    /// How messages are encoded and decoded.
    public enum Codec: Sendable {
        /// NIOHTTP1's encoder and decoder; the heads are then converted.
        case nio
        /// Heads are written to a buffer, and parsed from one, directly.
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
            // A checked continuation would allocate. Each of these is resumed exactly once: see SpikeHandler.
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
                    // NIO's validation is not needed: the fields of a request can't contain invalid characters.
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

/// A connection that any task may use.
struct SpikeConnection: Sendable {
    private let channel: any Channel
    private let loop: any EventLoop
    private let handler: NIOLoopBound<SpikeHandler>

    /// Must be called on the channel's event loop.
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

/// Runs one exchange at a time, with any codec. Used on the channel's event loop.
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
