import Errand
import ErrandConformance
import ErrandMockServer
import ErrandTesting
import Testing

// More samples of the article "Testing", which need more than stubs. `ReadmeTests` compares each sample with this file.

#if MockServer
@Test func aTicketIsCreatedOnce() async throws {
    try await withMockServer { server in
        server.enqueue(.text("").fault(.close, at: .responseStart), .status(.created))
        let api = APIClient(HTTPStack.bare.retry().server(server.url()))
        let error = await #expect(throws: TransportError.self) { try await api.post("/tickets", body: .json(Ticket(id: 7))) }
        // A POST that may have been processed is not sent again.
        #expect(error?.delivery == .unknown && server.requests.map(\.path) == ["/tickets"])
    }
}

@Test func ticketsComeOverASocket() async throws {
    try await withMockServer(serving: [Stub(.get, "/tickets/{id}").responds(.json(Ticket(id: 7)))]) { server in
        let api = APIClient(HTTPStack.bare.server(server.url()))
        for _ in 0..<2 { _ = try await api.get("/tickets/7", as: Ticket.self) }
        #expect(server.requests.map(\.connectionIndex) == [0, 0])  // the second request used the same connection
    }
}
#endif

func tickets(over network: HTTPStack, recordedIn path: String, token: String) async throws -> [Ticket] {
    let recording = try Recording(atPath: path, mode: .once, secrets: [token])
    let api = APIClient(network.record(on: recording).server("https://desk.example", headers: [.authorization: "Bearer \(token)"]))
    return try await recording.saving { try await api.get("/tickets") }
}

@Suite(.serialized, .leavesNothingBehind(inParallelRuns: false)) struct TicketTests {
    @Test func aTicketLeavesNothingOpen() async throws {
        let stub = StubTransport(Stub().responds(.json(Ticket(id: 7))))
        #expect(try await APIClient(stub.server("https://desk.example")).get("/tickets/7", as: Ticket.self).id == 7)
        #expect(stub.openBodyCount == 0)
    }
}

@Test func aCancelledCallLeavesNoOpenBody() async throws {
    let stub = StubTransport(Stub().responds(.stream([Data(#"{"id":7,"#.utf8), Data(#""isOpen":true}"#.utf8)])))
    let api = APIClient(stub.server("https://desk.example"))
    _ = try await CancellationTorture().run {
        try await api.get("/tickets/7", as: Ticket.self)
    } accepts: { ticket in
        ticket == Ticket(id: 7)
    } check: { run in
        #expect(stub.openBodyCount == 0, "\(run)")
    }
}
