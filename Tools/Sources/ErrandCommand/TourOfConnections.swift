import Errand
import ErrandNIO
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix

/// The chapter of the tour about HTTP/2 and proxies. It has its own server and proxy, because the demo server speaks only HTTP/1.1.
enum TourOfConnections {
    static func walk() async throws {
        try await speakHTTP2()
        try await goThroughAProxy()
    }

    private static func speakHTTP2() async throws {
        Tour.step("A hundred requests at once on one HTTP/2 connection, without TLS", "configuration.usesHTTP2WithoutTLS = true")
        try await withServer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = NIOHTTP2Handler(
                    mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: .init(), streamConfiguration: .init()
                ) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        try stream.pipeline.syncOperations.addHandlers(HTTP2FramePayloadToHTTP1ServerCodec(), Mirror())
                    }
                }
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        } _: { port in
            var configuration = NIOTransport.Configuration()
            configuration.usesHTTP2WithoutTLS = true
            try await withTransport(NIOTransport(configuration)) { transport in
                let texts = try await withThrowingTaskGroup(of: String.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            try await text(of: "http://127.0.0.1:\(port)/\(number)", by: transport)
                        }
                    }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                let connections = transport.openConnections
                try Tour.expect(
                    texts == Set((0..<100).map { "GET /\($0)" }) && connections.count == 1 && connections.first?.httpVersion == .http2,
                    "\(SafeText.counted(texts.count, "response")), over "
                        + connections.map { $0.httpVersion?.rawValue ?? "HTTP/?" }.joined(separator: ", "))
            }
        }
    }

    private static func goThroughAProxy() async throws {
        Tour.step(
            "A proxy, with exceptions by curl's rules", "configuration.proxy = .environment([\"http_proxy\": …, \"no_proxy\": …])")
        try await withServer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                try channel.pipeline.syncOperations.addHandler(Mirror())
            }
        } _: { port in
            var configuration = NIOTransport.Configuration()
            configuration.proxy = .environment(["http_proxy": "http://127.0.0.1:\(port)", "no_proxy": "127.0.0.0/8"])
            try await withTransport(NIOTransport(configuration)) { transport in
                // The name of the host does not exist: the proxy gets the whole URL, and would look the name up.
                let proxied = try await text(of: "http://notes.invalid/v1/notes", by: transport)
                try Tour.expect(proxied == "GET http://notes.invalid/v1/notes", "through the proxy: \(proxied)")
                let direct = try await text(of: "http://127.0.0.1:\(port)/v1/notes", by: transport)
                try Tour.expect(direct == "GET /v1/notes", "without the proxy: \(direct)")
            }
        }
    }

    private static func text(of url: String, by transport: NIOTransport) async throws -> String {
        String(decoding: try await transport.send(Request(.get, url: url)).body.collect(), as: UTF8.self)
    }

    private static func withServer(
        _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>, _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer(initialize).bind(host: "127.0.0.1", port: 0).get()
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server.localAddress?.port ?? 0))
        } catch {
            result = .failure(error)
        }
        try await server.close()
        try result.get()
    }

    /// Responds with the method and the target of a request.
    private final class Mirror: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private var line = ""

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): line = "\(head.method.rawValue) \(head.uri)"
            case .body: break
            case .end:
                let fields: HTTPHeaders = ["content-length": "\(line.utf8.count)"]
                context.write(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: fields))), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: line)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
