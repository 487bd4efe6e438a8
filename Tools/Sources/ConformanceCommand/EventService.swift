import Errand
import ErrandNIO
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A small server that starts, commands and stops readers of event streams. See ``EventServiceCommand``.
struct EventService {
    /// What a harness sends to start a client.
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
            // Whichever ends first ends the other.
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
        let clients = Mutex<[Int: EventServiceClient]>([:])
        let router = Router()
        router.get("/") { _, _ in
            let names = Self.capabilities.map { "\"\($0)\"" }.joined(separator: ",")
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(string: #"{"name":"errand","capabilities":[\#(names)]}"#)))
        }
        router.post("/") { request, _ -> Response in
            let body = try await request.body.collect(upTo: 1 << 20)
            guard let parameters = try? JSONDecoder().decode(Parameters.self, from: Data(buffer: body)),
                let client = try? EventServiceClient(parameters)
            else { return Response(status: .badRequest) }
            let number = clients.withLock { clients in
                let number = clients.count + 1
                clients[number] = client
                return number
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
            guard let client = clients.withLock({ $0[number] }) else { return .notFound }
            let body = try await request.body.collect(upTo: 1 << 20)
            guard let command = try? JSONDecoder().decode(Command.self, from: Data(buffer: body)), command.command == "restart" else {
                return .badRequest
            }
            client.restart()
            return .accepted
        }
        router.delete("/clients/:number") { _, context -> HTTPResponse.Status in
            let number = try context.parameters.require("number", as: Int.self)
            guard let client = clients.withLock({ $0.removeValue(forKey: number) }) else { return .notFound }
            client.stop()
            return .noContent
        }
        return router
    }
}

/// Reads one event stream, and reports what it brings.
final class EventServiceClient: Sendable {
    private enum Signal: Sendable {
        case restart
        case stop
    }

    private struct Report: Encodable, Sendable {
        struct Event: Encodable, Sendable {
            var type: String
            var data: String
            var id: String
        }

        var kind: String
        var event: Event?
        var comment: String?
        var error: String?
    }

    private let url: HTTPURL
    private let endpoint: Endpoint<Void>
    private let policy: EventStreamPolicy
    private let callbackURL: String
    private let signals: AsyncStream<Signal>
    private let signal: AsyncStream<Signal>.Continuation
    private let reports: AsyncStream<Report>
    private let report: AsyncStream<Report>.Continuation
    /// With which a stream begins that is read anew.
    private let lastEventID: Mutex<String>

    init(_ parameters: EventService.Parameters) throws {
        url = try HTTPURL(parameters.streamUrl)
        var headers = HTTPFields()
        for (name, value) in parameters.headers ?? [:] { if let name = HTTPField.Name(name) { headers[name] = value } }
        endpoint = Endpoint(
            HTTPRequest.Method(parameters.method ?? "GET") ?? .get, PathTemplate(verbatim: url.target), headers: headers,
            body: parameters.body.map { .text($0, contentType: headers[.contentType] ?? "text/plain") } ?? .none, decoding: .none)
        policy = EventStreamPolicy(
            reconnectionTime: .milliseconds(parameters.initialDelayMs ?? 1000), backoff: .immediate,
            silence: parameters.readTimeoutMs.map { .milliseconds($0) }, maxEventBytes: 32 * 1024 * 1024, resendsNonIdempotent: true)
        lastEventID = Mutex(parameters.lastEventId ?? "")
        callbackURL = parameters.callbackUrl
        (signals, signal) = AsyncStream.makeStream()
        (reports, report) = AsyncStream.makeStream()
    }

    func restart() { signal.yield(.restart) }
    func stop() { signal.yield(.stop) }

    /// Reads the stream until it is over, or the client is stopped.
    func run(over transport: NIOTransport) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.send(over: transport) }
            group.addTask { await self.read(over: transport) }
            // The end of the stream does not end the client: a harness may still command it.
            await group.next()
            group.cancelAll()
        }
    }

    private func read(over transport: NIOTransport) async {
        let client = APIClient(transport.redirect().server(url.origin.description))
        var signals = signals.makeAsyncIterator()
        while true {
            let reading = Task { await self.readOnce(client) }
            let signal = await signals.next()
            reading.cancel()
            await reading.value
            guard signal == .restart else { return report.finish() }
        }
    }

    /// Reads the stream until it ends or the task is cancelled.
    private func readOnce(_ client: APIClient) async {
        var policy = policy
        policy.lastEventID = lastEventID.withLock { $0 }
        let report = report
        let stream = client.events(
            endpoint, policy: policy, onComment: { report.yield(Report(kind: "comment", comment: $0)) },
            onState: { state in
                if case .waiting(_, let error?) = state { report.yield(Report(kind: "error", error: "\(error)")) }
            })
        var events = stream.makeAsyncIterator()
        do {
            while let event = try await events.next() {
                report.yield(Report(kind: "event", event: .init(type: event.event, data: event.data, id: event.id)))
                lastEventID.withLock { $0 = events.lastEventID }
            }
        } catch is CancellationError {
        } catch {
            report.yield(Report(kind: "error", error: "\(error)"))
        }
        lastEventID.withLock { $0 = events.lastEventID }
    }

    /// Sends the reports, one after the other.
    private func send(over transport: NIOTransport) async {
        var number = 0
        for await report in reports {
            number += 1
            do {
                let body = RequestBody.data(try JSONEncoder().encode(report))
                var request = try Request(.post, url: "\(callbackURL)/\(number)", body: body)
                request.headers[.contentType] = "application/json"
                _ = try await transport.send(request).body.collect()
            } catch {
                // The harness has gone.
                return
            }
        }
    }
}
