#if MockServer
internal import ErrandCore
internal import NIOCore

/// How the body of a response is told from what follows it.
enum WireFraming: Sendable, Equatable {
    /// There is none: its status or the method forbids it.
    case none
    /// The head declares so many bytes, which need not be true.
    case length(Int)
    case chunked
    case untilClose
    /// The response's own fields say.
    case byItself
}

/// What becomes of a connection (HTTP/1.1) or of a stream (HTTP/2) behind an exchange.
enum ExchangeEnd: Sendable {
    case done
    /// Ended as it should be: with leave taken in TLS, and what the client still sends read.
    case closeOrderly
    case close
    case reset
    case halfClose
    /// Nothing is read or sent until the client closes.
    case hold
}

/// The sending side of one exchange.
protocol ExchangeWire: Sendable {
    /// 1 for HTTP/1, 2 for HTTP/2.
    var majorVersion: Int { get }
    func inform(_ head: HTTPResponse) async throws
    func start(_ head: HTTPResponse, framing: WireFraming, endsHere: Bool) async throws
    func send(_ data: Data) async throws
    func end(trailers: HTTPFields?) async throws
    /// Announces `announcedBytes` of body and sends `data` of it.
    func sendTruncated(_ data: Data, announcedBytes: Int) async throws
    /// Octets past every framing.
    func sendOctets(_ octets: Data) async throws
    func goAway(includesStream: Bool, code: UInt32) async throws
    func resetStream(code: UInt32) async throws
    /// From now on so many bytes at a time.
    func slowDown(bytes: Int, pause: Duration)
}

/// A connection that was accepted, and the ways to end it that a polite program has not.
struct Connection: Sendable {
    let channel: any Channel
    let index: Int
    let serverName: String?
    let negotiatedProtocol: String?
    let isTLS: Bool

    /// Closes the socket, past TLS.
    func close() { Self.closeSocket(of: channel) }

    /// The same, of any channel that this server has accepted.
    static func closeSocket(of channel: any Channel) { withSocket(of: channel) { $0.close(promise: nil) } }

    /// Closes the sending side of the socket, past TLS.
    func closeOutput() { Self.withSocket(of: channel) { $0.close(mode: .output, promise: nil) } }

    func reset() async {
        struct Linger: Sendable {
            let isOn: Int32
            let seconds: Int32
        }
        // The same two fields as the system's struct. Closing sends a reset from then on.
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

/// Stands first in every connection's pipeline, and does nothing: operations of its context reach the socket past all others.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
#endif
