#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import TestSupport

/// A server of HTTP/2 whose frames are written by a test, and what its clients have sent.
struct FrameServer: Sendable {
    let server: ByteServer
    /// All frames of all connections.
    let frames = Watched<[H2Frame]>([])

    var url: String { "https://127.0.0.1:\(server.port)/" }

    static let hello = [H2Frame.settings([(3, 100)]), .settingsAck]

    /// The certificate of all such servers: keys are made once.
    private static let certificate = Result { try TestAuthority().certificate() }

    /// Starts a server that writes `opening` as soon as a connection is there, and writes the result of `respond` for each frame.
    private init(_ opening: [ByteAction], _ respond: @escaping @Sendable (H2Frame) -> [ByteAction]) async throws {
        let frames = frames
        server = try await ByteServer(certificate: try Self.certificate.get()) {
            FrameScript {
                opening
            } respond: { frame in
                frames.change { $0.append(frame) }
                return respond(frame)
            }
        }
    }

    /// Runs `body` with a transport and a server that writes only `opening`.
    static func with<Result>(writing opening: [ByteAction], _ body: (NIOTransport, FrameServer) async throws -> Result) async throws
        -> Result
    {
        let server = try await FrameServer(opening) { _ in [] }
        return try await server.use({ _ in }, body)
    }

    /// Runs `body` with a transport and a server that writes the result of `respond` for each HEADERS frame.
    static func with<Result>(
        opening: [H2Frame] = hello, responding respond: @escaping @Sendable (H2Frame) -> [ByteAction] = { ok($0.stream) },
        all: Bool = false, configure: (inout NIOTransport.Configuration) -> Void = { _ in },
        _ body: (NIOTransport, FrameServer) async throws -> Result
    ) async throws -> Result {
        let server = try await FrameServer(opening.together) { all || $0.type == 1 ? respond($0) : [] }
        return try await server.use(configure, body)
    }

    private func use<Result>(
        _ configure: (inout NIOTransport.Configuration) -> Void, _ body: (NIOTransport, FrameServer) async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await withNIO {
                // Reading the roots of the system takes 100 ms.
                $0.tls.uncheckedHostsForTesting = .loopback
                configure(&$0)
            } _: {
                try await body($0, self)
            }
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    /// An empty response.
    static func ok(_ stream: UInt32) -> [ByteAction] { [H2Frame.headers(stream, ends: true)].together }

    /// A response with a body.
    static func ok(_ stream: UInt32, _ body: String) -> [ByteAction] {
        [H2Frame.headers(stream), .data(stream, Array(body.utf8))].together
    }

    func request(_ method: HTTPRequest.Method = .get, body: RequestBody = .empty) throws -> Request {
        try Request(method, url: url, body: body).within(.seconds(10))
    }

    /// The codes of the frames of a type that the clients have sent: 3 is RST_STREAM, 7 is GOAWAY.
    func codes(of type: UInt8) -> [UInt8] { frames.value.filter { $0.type == type }.compactMap(\.payload.last) }

    /// Waits for a GOAWAY of the client with a code.
    func goAway(_ code: UInt8) async throws {
        try await frames.wait("a GOAWAY with \(code)") { frames in
            frames.contains { $0.type == 7 && $0.payload.count >= 8 && $0.payload[7] == code }
        }
    }

    func noConnectionIsOpen() async throws {
        try await poll("the connections to be closed", value: { server.openConnections }) { $0 == 0 }
    }
}
#endif
