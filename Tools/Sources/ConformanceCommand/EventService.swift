import ErrandNIO
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A small server that starts readers of event streams, passes commands to them, and stops them. See ``EventServiceCommand``.
struct EventService {
    /// The parameters by which a harness starts a client.
    struct Parameters: Decodable {
        var streamUrl: String
        var callbackUrl: String
        var initialDelayMs: Int64?
        var readTimeoutMs: Int64?
        var lastEventId: String?
        var headers: [String: String]?
        var method: String?
        var body: String?
    }

    struct Command: Decodable { var command: String }

    private static let capabilities = [
        "bom", "comments", "headers", "last-event-id", "post", "read-timeout", "report", "restart", "server-directed-shutdown-request",
    ]

    let port: Int

    /// Serves until `DELETE /` arrives, or the task is cancelled.
    func run() async throws {
        let transport = NIOTransport()
        let (orders, order) = AsyncStream.makeStream(of: Order.self)
        var logger = Logger(label: "sse-service")
        logger.logLevel = .critical
        let app = Application(
            router: router(order), configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await app.run() }
            group.addTask { await serve(orders, over: transport) }
            // The task that ends first ends the other task.
            try await group.next()
            group.cancelAll()
        }
        try await transport.shutdown()
    }

    private enum Order: Sendable {
        case start(EventServiceClient)
        case end
    }

    /// Runs the clients.
    private func serve(_ orders: AsyncStream<Order>, over transport: NIOTransport) async {
        await withTaskGroup(of: Void.self) { group in
            for await order in orders {
                guard case .start(let client) = order else { break }
                group.addTask { await client.run(over: transport) }
            }
            group.cancelAll()
        }
    }

    private func router(_ order: AsyncStream<Order>.Continuation) -> Router<BasicRequestContext> {
        let clients = Mutex<(all: [Int: EventServiceClient], count: Int)>(([:], 0))
        let router = Router()
        router.get("/") { _, _ in
            let names = Self.capabilities.map { "\"\($0)\"" }.joined(separator: ",")
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(string: #"{"name":"errand","capabilities":[\#(names)]}"#)))
        }
        router.post("/") { request, _ -> Response in
            let body = try await request.body.collect(upTo: 1 << 20)
            guard let parameters = try? JSONDecoder().decode(Parameters.self, from: Data(body.readableBytesView)),
                let client = try? EventServiceClient(parameters)
            else { return Response(status: .badRequest) }
            let number = clients.withLock { clients in
                clients.count += 1
                clients.all[clients.count] = client
                return clients.count
            }
            order.yield(.start(client))
            return Response(status: .created, headers: [.location: "/clients/\(number)"])
        }
        router.delete("/") { _, _ in
            order.yield(.end)
            return HTTPResponse.Status.noContent
        }
        router.post("/clients/:number") { request, context -> HTTPResponse.Status in
            let number = try context.parameters.require("number", as: Int.self)
            guard let client = clients.withLock({ $0.all[number] }) else { return .notFound }
            let body = try await request.body.collect(upTo: 1 << 20)
            guard let command = try? JSONDecoder().decode(Command.self, from: Data(body.readableBytesView)), command.command == "restart"
            else {
                return .badRequest
            }
            client.restart()
            return .accepted
        }
        router.delete("/clients/:number") { _, context -> HTTPResponse.Status in
            let number = try context.parameters.require("number", as: Int.self)
            guard let client = clients.withLock({ $0.all.removeValue(forKey: number) }) else { return .notFound }
            client.stop()
            return .noContent
        }
        return router
    }
}
