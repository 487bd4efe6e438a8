#if MockServer
internal import ErrandCore
internal import NIOCore

/// The way in which the end of a response's body is marked.
enum WireFraming: Sendable, Equatable {
    /// The response has no body, because its status or the request's method does not allow a body.
    case none
    /// The head declares this number of bytes, which may be wrong on purpose.
    case length(Int)
    case chunked
    case untilClose
    /// The response's own header fields mark the end.
    case byItself
}

/// The state of a connection (HTTP/1.1) or a stream (HTTP/2) after an exchange.
enum ExchangeEnd: Sendable {
    case done
    /// The connection is closed in order: with TLS's closing alert or, without TLS, after the client's remaining bytes were read.
    case closeGracefully
    case close
    case reset
    case halfClose
    /// The server neither reads nor sends until the client closes the connection.
    case hold
}

/// The sending side of one exchange.
protocol ExchangeWire: Sendable {
    /// The major version of HTTP: 1 or 2.
    var majorVersion: Int { get }
    func inform(_ head: HTTPResponse) async throws
    func start(_ head: HTTPResponse, framing: WireFraming, endsHere: Bool) async throws
    func send(_ data: Data) async throws
    func end(trailers: HTTPFields?) async throws
    /// Announces a chunk of `announcedBytes` bytes, but sends only `data`. On HTTP/2, the chunk is a DATA frame of at most 16 KiB, and at
    /// most half of the frame is sent.
    func sendTruncated(_ data: Data, announcedBytes: Int) async throws
    /// Sends octets without any framing.
    func sendOctets(_ octets: Data) async throws
    func goAway(includesStream: Bool, code: UInt32) async throws
    func resetStream(code: UInt32) async throws
    /// Limits later sends to pieces of at most `bytes` bytes, with a pause before each piece.
    func slowDown(bytes: Int, pause: Duration)
}

/// An accepted connection, with methods that end the connection abruptly.
struct Connection: Sendable {
    let channel: any Channel
    let index: Int
    let serverName: String?
    let negotiatedProtocol: String?
    let isTLS: Bool

    /// Serves requests until a channel is closed. If the task is cancelled, the connection is closed.
    ///
    /// - Parameters:
    ///   - channel: the channel of the connection, or of one of its streams.
    ///   - work: serves the requests. If the client disconnects, the work is cancelled.
    func serve(untilClosed channel: any Channel, _ work: @escaping @Sendable () async -> Void) async {
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await work() }
                try? await channel.closeFuture.get()
                group.cancelAll()
            }
        } onCancel: {
            close()
        }
    }

    /// Closes the socket without TLS's closing alert.
    func close() { Self.closeSocket(of: channel) }

    /// Closes the socket of any channel that this server accepted, without TLS's closing alert.
    static func closeSocket(of channel: any Channel) { withSocket(of: channel) { $0.close(promise: nil) } }

    /// Closes the sending side of the socket, without TLS's closing alert.
    func closeOutput() { Self.withSocket(of: channel) { $0.close(mode: .output, promise: nil) } }

    func reset() async {
        struct Linger: Sendable {
            let isOn: Int32
            let seconds: Int32
        }
        // This value has the same two fields as the system's `struct linger`. With this option, the socket sends a reset when
        // it is closed.
        if let provider = channel as? any SocketOptionProvider {
            try? await provider.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger(isOn: 1, seconds: 0)).get()
        }
        close()
    }

    private static func withSocket(of channel: any Channel, _ body: @escaping @Sendable (ChannelHandlerContext) -> Void) {
        channel.eventLoop.execute {
            if let context = try? channel.pipeline.syncOperations.context(name: Connection.firstHandlerName) { body(context) }
        }
    }

    static let firstHandlerName = "errand.first"
}

/// The first handler of each connection's pipeline. The handler does nothing. The context of this handler gives access to the socket, below
/// all other handlers.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
#endif
