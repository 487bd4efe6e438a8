import Errand
import ErrandNIO
import Foundation
import Testing

@testable import ConformanceCommand

/// The service that a harness commands, and a small harness.
@Suite(.timeLimit(.minutes(5)), .serialized) struct EventServiceTests {
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

    private func wait(_ seen: @Sendable () -> EventHarness.Seen, for reports: Int) async throws -> EventHarness.Seen {
        for _ in 0..<500 where seen().reports.count < reports { try await Task.sleep(for: .milliseconds(10)) }
        return seen()
    }

    private func start(_ client: APIClient, _ parameters: String) async throws -> String {
        let response = try await client.send(Request(.post, "/", body: .text(parameters)))
        #expect(response.status == .created)
        return try #require(response.headers[.location])
    }

    @Test func eventsAndCommentsAreReportedInOrder() async throws {
        try await EventHarness.run([": hi\nid: 1\ndata: a\n\n", "event: x\ndata: b\n\n", "204"]) { harness, seen in
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

    @Test func aRestartReconnectsImmediately() async throws {
        try await EventHarness.run(["id: 7\ndata: a\n\n"], holdsOpen: true) { harness, seen in
            try await withService { client in
                let path = try await start(
                    client, #"{"streamUrl": "\#(harness)/stream", "callbackUrl": "\#(harness)/callback", "initialDelayMs": 60000}"#)
                _ = try await wait(seen, for: 1)
                let command = try await client.send(
                    Request(.post, PathTemplate(verbatim: path), body: .text(#"{"command": "restart"}"#)))
                #expect(command.status == .accepted)
                let all = try await wait(seen, for: 2)
                #expect(all.reports.count == 2 && all.lastEventIDs == [nil, "7"])
                let stopped = try await client.stack.send(Request(.delete, PathTemplate(verbatim: path)))
                let gone = try await client.stack.send(Request(.delete, PathTemplate(verbatim: path)))
                #expect(stopped.status == .noContent && gone.status == .notFound)
            }
        }
    }

    @Test func invalidRequestsAreRefused() async throws {
        try await withService { client in
            let bad = try await client.stack.send(Request(.post, "/", body: .text("{}")))
            #expect(bad.status == .badRequest)
            let unknown = try await client.stack.send(Request(.post, "/clients/9", body: .text("{}")))
            #expect(unknown.status == .notFound)
        }
    }
}
