#if SWIFT_NIO && MockServer
import Errand
import Foundation
import Synchronization
import TestSupport
import Testing

/// Event streams over real connections: lost ones, new ones, and those that their reader closes.
@Suite(TestedOverURLSession(), .timeLimit(.minutes(5))) struct EventStreamFaultTests {
    private struct Seen: Sendable {
        var lastEventIDs: [String?] = []
        var bodies: [String] = []
    }

    /// A server that responds to each request by the next script, and then closes the connection.
    private func server(
        _ scripts: [@Sendable (RawConnection) throws -> Void], _ seen: Watched<Seen>
    ) throws -> RawServer {
        let next = Mutex(scripts[...])
        return try RawServer.responding { connection, request, body in
            seen.change { seen in
                seen.lastEventIDs.append(request.value("last-event-id"))
                seen.bodies.append(String(decoding: body, as: UTF8.self))
            }
            guard let script = next.withLock({ $0.popFirst() }) else {
                try connection.respond("204 No Content", bodyIsSent: false)
                throw TestError()
            }
            try script(connection)
            throw TestError()
        }
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

    private func client(_ transport: any HTTPTransport, _ server: RawServer) -> APIClient {
        APIClient(HTTPStack(transport).timeout(.milliseconds(1)).server("http://127.0.0.1:\(server.port)"))
    }

    private let soon = EventStreamPolicy(reconnectionTime: .milliseconds(1), backoff: .immediate, silenceTimeout: .seconds(20))

    @Test(arguments: TestedTransport.allCases) func eventsContinueAfterLostConnections(_ tested: TestedTransport) async throws {
        let seen = Watched(Seen())
        let head = Self.head
        let server = try server(
            [
                { try $0.write(head + "\r\nid: né 1\ndata: a\n\nid: 2\ndata: cut") },
                { connection in
                    try connection.write(head + "Transfer-Encoding: chunked\r\n\r\nb\r\ndata: b\r\n\r\n\r\n6\r\ndata: \r\n")
                    connection.pause(milliseconds: 20)
                    connection.resetAtEnd()
                },
                { try $0.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") },
                { connection in
                    for byte in Array((head + "\r\n").utf8) + Array("\u{FEFF}: hi\r\rretry: 2\r\nid\r\ndata: ü\r\n\r\n".utf8) {
                        try connection.write([byte])
                    }
                },
            ], seen)
        defer { server.stop() }
        let events = try await tested.run { transport in
            var events: [ServerSentEvent] = []
            for try await event in client(transport, server).events("/", policy: soon) { events.append(event) }
            return events
        }
        #expect(events.map(\.data) == ["a", "b", "ü"])
        #expect(events.map(\.lastEventID) == ["né 1", "né 1", ""])
        #expect(seen.value.lastEventIDs == [nil, "né 1", "né 1", "né 1", nil])
    }

    @Test(arguments: TestedTransport.allCases) func aPostIsSentAgainWithItsBody(_ tested: TestedTransport) async throws {
        let seen = Watched(Seen())
        let stream = Self.head + "\r\nid: 1\ndata: a\n\n"
        let server = try server([{ try $0.write(stream) }, { try $0.write(stream) }], seen)
        defer { server.stop() }
        try await tested.run { transport in
            let endpoint = Endpoint<Void>.post("/", body: .json(["q": 1]))
            for try await event in client(transport, server).events(endpoint, policy: soon) { #expect(event.data == "a") }
        }
        #expect(seen.value.bodies == Array(repeating: #"{"q":1}"#, count: 3))
    }

    @Test(arguments: TestedTransport.allCases) func aReaderThatIsCancelledClosesItsConnection(_ tested: TestedTransport) async throws {
        let stream = Self.head + "\r\ndata: a\n\n"
        let ended = Watched(false)
        let server = try server(
            [
                { connection in
                    try connection.write(stream)
                    _ = connection.waitForEnd()
                    ended.change { $0 = true }
                }
            ], Watched(Seen()))
        defer { server.stop() }
        try await tested.run { transport in
            let received = Watched(0)
            let events = client(transport, server).events("/", policy: soon)
            let reader = Task { for try await _ in events { received.change { $0 += 1 } } }
            try await received.wait { $0 == 1 }
            #expect(!ended.value)
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            try await ended.wait { $0 }
        }
    }

    @Test(arguments: TestedTransport.allCases) func aConnectionToASilentServerIsClosed(_ tested: TestedTransport) async throws {
        let seen = Watched(Seen())
        let stream = Self.head + "\r\nid: 1\ndata: a\n\n"
        let server = try server(
            [
                { connection in
                    try connection.write(stream)
                    _ = connection.waitForEnd()
                }
            ], seen)
        defer { server.stop() }
        var policy = soon
        policy.silenceTimeout = .milliseconds(200)
        try await tested.run { transport in
            for try await event in client(transport, server).events("/", policy: policy) { #expect(event.lastEventID == "1") }
        }
        #expect(seen.value.lastEventIDs == [nil, "1"])
    }
}
#endif
