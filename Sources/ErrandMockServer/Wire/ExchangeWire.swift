#if MockServer
internal import ErrandCore
internal import NIOCore

/// How the end of a response's body is determined.
enum WireFraming: Sendable, Equatable {
    /// There is no body: the status or the method forbids it.
    case none
    /// The head declares this number of bytes, which may be wrong.
    case length(Int)
    case chunked
    case untilClose
    /// The response's own fields determine it.
    case byItself
}

/// What happens to a connection (HTTP/1.1) or to a stream (HTTP/2) after an exchange.
enum ExchangeEnd: Sendable {
    case done
    /// Closed in order: with `close_notify` in TLS, and after reading what the client still sends.
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
    /// Announces `announcedBytes` of body, and sends `data` of it.
    func sendTruncated(_ data: Data, announcedBytes: Int) async throws
    /// Sends octets outside of all framing.
    func sendOctets(_ octets: Data) async throws
    func goAway(includesStream: Bool, code: UInt32) async throws
    func resetStream(code: UInt32) async throws
    /// Sends only this number of bytes at a time from now on.
    func slowDown(bytes: Int, pause: Duration)
}

/// An accepted connection, and the ways to close it that a well-behaved program does not have.
struct Connection: Sendable {
    let channel: any Channel
    let index: Int
    let serverName: String?
    let negotiatedProtocol: String?
    let isTLS: Bool

    /// Closes the socket, without TLS.
    func close() { Self.closeSocket(of: channel) }

    /// Closes the socket of any channel that this server has accepted, without TLS.
    static func closeSocket(of channel: any Channel) { withSocket(of: channel) { $0.close(promise: nil) } }

    /// Closes the sending side of the socket, without TLS.
    func closeOutput() { Self.withSocket(of: channel) { $0.close(mode: .output, promise: nil) } }

    func reset() async {
        struct Linger: Sendable {
            let isOn: Int32
            let seconds: Int32
        }
        // The two fields of the system's struct. With them, closing sends a reset.
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

/// Is first in every connection's pipeline, and does nothing: operations of its context reach the socket without the other handlers.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
#endif
