import Errand
import ErrandNIO
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

@testable import ConformanceCommand

/// The service that a harness commands, and a small harness.
@Suite(.timeLimit(.minutes(2)), .serialized) struct EventServiceTests {
    /// What the harness has seen.
    private struct Seen {
        var reports: [String] = []
        var lastEventIDs: [String?] = []
        var bodies: [String] = []
    }

    /// A server of event streams that also takes the reports. Each connection gets the next of the streams, and the last one again.
    private func withHarness(
        _ streams: [String], holdsOpen: Bool = false,
        _ body: @escaping @Sendable (String, @escaping @Sendable () -> Seen) async throws -> Void
    ) async throws {
        let seen = Mutex(Seen())
        let router = Router()
        router.on("/stream", method: .get) { request, _ in try await stream(request) }
        router.on("/stream", method: .post) { request, _ in try await stream(request) }
        @Sendable func stream(_ request: Hummingbird.Request) async throws -> Hummingbird.Response {
            let body = try await request.body.collect(upTo: 1 << 20)
            let number = seen.withLock { seen in
                seen.lastEventIDs.append(HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] })
                seen.bodies.append(String(buffer: body))
                return seen.lastEventIDs.count
            }
            let text = streams[min(number, streams.count) - 1]
            if text == "204" { return Hummingbird.Response(status: .noContent) }
            return Hummingbird.Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: text))
                    if holdsOpen { try await Task.sleep(for: .seconds(60)) }
                    try await writer.finish(nil)
                })
        }
        router.post("/callback/:number") { request, context in
            let body = try await request.body.collect(upTo: 1 << 20)
            let number = try context.parameters.require("number", as: Int.self)
            seen.withLock { seen in
                if seen.reports.count == number - 1 { seen.reports.append(String(buffer: body)) }
            }
            return HTTPResponse.Status.ok
        }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "harness")
        logger.logLevel = .critical
        let app = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await app.run() }
            var numbers = ports.makeAsyncIterator()
            let port = try #require(await numbers.next())
            try await body("http://127.0.0.1:\(port)") { seen.withLock { $0 } }
            group.cancelAll()
        }
    }

    /// Runs the service, and sends it commands.
    private func withService(_ body: @escaping @Sendable (APIClient) async throws -> Void) async throws {
        let listener = try #require(try? FreePort.find())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await EventService(port: listener).run() }
            let transport = NIOTransport()
            let client = APIClient(transport.retry(20).server("http://127.0.0.1:\(listener)"))
            let names = try await client.get("/", as: String.self)
            #expect(names.contains("server-directed-shutdown-request") && names.hasPrefix(#"{"name":"errand""#))
            try await body(client)
            _ = try await client.send(Request(.delete, "/"))
            // It has ended by itself.
            try await group.waitForAll()
            try await transport.shutdown()
        }
    }

    private func wait(_ seen: @Sendable () -> Seen, for reports: Int) async throws -> Seen {
        for _ in 0..<500 where seen().reports.count < reports { try await Task.sleep(for: .milliseconds(10)) }
        return seen()
    }

    private func start(_ client: APIClient, _ parameters: String) async throws -> String {
        let response = try await client.send(Request(.post, "/", body: .text(parameters)))
        #expect(response.status == .created)
        return try #require(response.headers[.location])
    }

    @Test func eventsAndCommentsAreReportedInOrder() async throws {
        try await withHarness([": hi\nid: 1\ndata: a\n\n", "event: x\ndata: b\n\n", "204"]) { harness, seen in
            try await withService { client in
                _ = try await start(
                    client,
                    #"{"streamUrl": "\#(harness)/stream", "callbackUrl": "\#(harness)/callback", "initialDelayMs": 0, "method": "POST", "body": "q"}"#
                )
                let all = try await wait(seen, for: 3)
                #expect(all.reports.count == 3)
                #expect(all.reports.first?.contains(#""comment":" hi""#) == true)
                #expect(all.reports.last?.contains(#""data":"b""#) == true && all.reports.last?.contains(#""id":"1""#) == true)
                #expect(all.lastEventIDs.prefix(2) == [nil, "1"] && all.bodies.prefix(2) == ["q", "q"])
            }
        }
    }

    @Test func aRestartConnectsAgainAtOnce() async throws {
        try await withHarness(["id: 7\ndata: a\n\n"], holdsOpen: true) { harness, seen in
            try await withService { client in
                let path = try await start(
                    client, #"{"streamUrl": "\#(harness)/stream", "callbackUrl": "\#(harness)/callback", "initialDelayMs": 60000}"#)
                _ = try await wait(seen, for: 1)
                let command = try await client.send(
                    Request(.post, PathTemplate(verbatim: path), body: .text(#"{"command": "restart"}"#)))
                #expect(command.status == .accepted)
                let all = try await wait(seen, for: 2)
                #expect(all.reports.count == 2 && all.lastEventIDs == [nil, "7"])
                #expect(try await client.send(Request(.delete, PathTemplate(verbatim: path))).status == .noContent)
                #expect(try await client.stack.send(Request(.delete, PathTemplate(verbatim: path))).status == .notFound)
            }
        }
    }

    @Test func whatCannotBeUnderstoodIsRefused() async throws {
        try await withService { client in
            #expect(try await client.stack.send(Request(.post, "/", body: .text("{}"))).status == .badRequest)
            #expect(try await client.stack.send(Request(.post, "/clients/9", body: .text("{}"))).status == .notFound)
        }
    }
}

/// A port that is free now.
private enum FreePort {
    struct None: Error {}

    static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard found else { throw None() }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
