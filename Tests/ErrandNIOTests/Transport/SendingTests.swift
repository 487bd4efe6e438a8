#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandTesting
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import ErrandNIO

/// Holds what is flushed until it is released: a slow network.
private final class HoldingHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private var context: ChannelHandlerContext?
    private var isHolding = true

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }
    func flush(context: ChannelHandlerContext) { if !isHolding { context.flush() } }

    func release() {
        isHolding = false
        context?.flush()
    }
}

/// One connection that its pool does not know, and whose requests are held.
private struct LoneConnection {
    let origin: Origin
    let channel: any Channel
    let connection: Connection
    private let owner: TransportOwner

    init(_ server: RawServer) async throws {
        let settings = NIOTransport.Configuration()
        let pool = Pool(settings, Connector(settings: settings, tls: TLSIdentity()), on: MultiThreadedEventLoopGroup.singleton)
        let origin = Origin("http://127.0.0.1:\(server.port)")
        (owner, self.origin) = (TransportOwner(pool), origin)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = ConnectionStart(1, to: Route(origin), of: pool, isSecure: false)
                    try channel.pipeline.syncOperations.addHandlers(HoldingHandler(), handler)
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
        let ready = channel.eventLoop.makePromise(of: Connection.self)
        channel.eventLoop.execute {
            do {
                try channel.pipeline.syncOperations.handler(type: ConnectionStart.self).whenReady(ready)
            } catch {
                ready.fail(error)
            }
        }
        self.channel = channel
        connection = try await ready.futureResult.get()
    }

    func send(_ request: Request) async throws -> Response {
        let exchange = Exchange(request, to: Route(origin), owner: owner)
        exchange.events?.record(.start)
        return try await withUnsafeThrowingContinuation { waiter in
            _ = exchange.register(waiter)
            connection.dispatch(exchange)
        }
    }

    func release() async throws {
        try await channel.eventLoop.submit { [channel] in
            try channel.pipeline.syncOperations.handler(type: HoldingHandler.self).release()
        }.get()
    }
}

extension NIOTransportTests {
    /// A request on its way to the network.
    @Suite(.timeLimit(.minutes(5))) struct SendingTests {
        enum Body: Sendable, CaseIterable {
            case none, joined, memory, length, chunked

            var body: RequestBody {
                let data = Data(repeating: 1, count: 100_000)
                return switch self {
                case .none: .empty
                case .joined: .data(Data("small".utf8))
                case .memory: .data(data)
                case .length: .stream(AsyncStream<Data> { Self.fill($0, data) }, length: Int64(data.count))
                case .chunked: .stream(AsyncStream<Data> { Self.fill($0, data) })
                }
            }

            private static func fill(_ continuation: AsyncStream<Data>.Continuation, _ data: Data) {
                continuation.yield(data)
                continuation.finish()
            }
        }

        @Test(arguments: Body.allCases)
        func theWaitForTheResponseBeginsWhenTheRequestHasLeft(body: Body) async throws {
            let server = try RawServer { connection in connection.waitForEnd() }
            defer { server.stop() }
            let lone = try await LoneConnection(server)
            let sink = RecordingEventSink()
            var request = try Request(.put, url: server.url(), body: body.body)
            request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .milliseconds(30)))
            request.options.eventSink = sink
            let limited = request
            let sending = Task { try await lone.send(limited) }
            try await sink.wait(for: .requestHeadSent)
            // This wait is longer than the limit, which is a time of the event loop. The limit has not begun.
            try await Task.sleep(for: .milliseconds(60))
            #expect(!sink.kinds.contains(.requestSent))
            try await lone.release()
            let error = await #expect(throws: TransportError.self) { _ = try await sending.value }
            #expect(error?.code == .timedOut)
            #expect(error?.phase == .response)
            #expect(error?.message.contains("firstByte is 30 ms") == true)
            #expect(sink.kinds.contains(.requestSent))
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            try await lone.channel.closeFuture.get()
        }

        @Test(arguments: [ExchangeEvent.Kind.connectionAcquired, .requestHeadSent])
        func aSinkMayCancelTheRequest(at kind: ExchangeEvent.Kind) async throws {
            let server = try RawServer { connection in connection.waitForEnd() }
            defer { server.stop() }
            let opened = Watched(0)
            try await withNIO { transport in
                let sink = CancellingEventSink(at: kind)
                let body = RequestBody.stream { _ in
                    opened.change { $0 += 1 }
                    throw TestError()
                }
                var request = try Request(.put, url: server.url(), body: body).within(.seconds(2))
                request.options.eventSink = sink
                let watched = request
                let task = Task {
                    try await sink.isReady()
                    _ = try await transport.send(watched)
                }
                sink.cancels(task)
                await #expect(throws: CancellationError.self) { try await task.value }
                try await poll("the end of the connection", value: { transport.openConnections.count }) { $0 == 0 }
                // Nothing says that the body will not be opened. That of the next request is opened later.
                let isNextOpened = Watched(false)
                let next = RequestBody.stream { _ in
                    isNextOpened.change { $0 = true }
                    throw TestError()
                }
                _ = try? await transport.send(Request(.put, url: server.url(), body: next).within(.seconds(10)))
                #expect(isNextOpened.value)
            }
            #expect(opened.value == 0)
        }
    }
}
#endif
