// The samples of the article "Testing", unchanged: `ReadmeTests` compares each sample with this file.

import Errand
import ErrandTesting
import Testing

nonisolated struct Ticket: Codable, Sendable, Equatable {
    var id: Int
    var isOpen = true
}

func closeTicket(_ id: Int, with api: APIClient) async throws -> Ticket {
    try await api.patch("/tickets/\(id, "id")", body: .json(["isOpen": false]))
}

@Test func aTicketIsClosed() async throws {
    // The stub responds in place of the server.
    let stub = StubTransport(Stub(.patch, "/tickets/{id}").responds(.json(Ticket(id: 7, isOpen: false))))
    let api = APIClient(stub.retry().server("https://desk.example"))

    let ticket = try await closeTicket(7, with: api)

    #expect(ticket == Ticket(id: 7, isOpen: false))
    #expect(stub.requests.map(\.path) == ["/tickets/7"])
    #expect(stub.requests.map(\.text) == [#"{"isOpen":false}"#])
}

@Test func aRequestChoosesItsResponse() async throws {
    let stub = StubTransport(
        Stub(.get, "/tickets").query("page", "2").responds(.json([Ticket(id: 2)])),
        Stub(.get, "/tickets").responds(.json([Ticket(id: 1)])),
        Stub(.post, "/tickets").header(.authorization).json(["title": "Printer"]).responds(.status(.created)),
        Stub(matching: .path("/files/**") && !.method(.get)).responds(.status(.forbidden)))
    let api = APIClient(stub.server("https://desk.example", headers: [.authorization: "Bearer t"]))
    #expect(try await api.get("/tickets", query: ["page": 2], as: [Ticket].self) == [Ticket(id: 2)])
    #expect(try await api.get("/tickets", as: [Ticket].self) == [Ticket(id: 1)])
    try await api.post("/tickets", body: .json(["title": "Printer", "room": "7"]))
    await #expect(throws: StatusError.self) { try await api.delete("/files/a/b") }
}

@Test func responsesAreReturnedInOrder() async throws {
    let stub = StubTransport(
        Stub(.get, "/tickets/{id}").responds(.json(Ticket(id: 7)), .json(Ticket(id: 7, isOpen: false)), repeatingLast: true))
    let api = APIClient(stub.server("https://desk.example"))
    var states: [Bool] = []
    for _ in 0..<3 { states.append(try await api.get("/tickets/7", as: Ticket.self).isOpen) }
    #expect(states == [true, false, false])
}

@Test func aTicketIsSentAsJSON() async throws {
    let stub = StubTransport(Stub().responds(.status(.noContent)))
    let api = APIClient(stub.server("https://desk.example"))
    try await api.post("/tickets", query: ["notify": true], body: .json(Ticket(id: 7)))
    let sent = try #require(stub.requests.first)
    #expect(sent.method == .post && sent.path == "/tickets")
    #expect(sent.queryItems == [URLQuery.Item(name: "notify", value: "true")])
    #expect(sent.headers[.contentType] == "application/json")
    #expect(try sent.json(as: Ticket.self) == Ticket(id: 7))
    #expect(stub.unusedStubs.isEmpty && stub.openBodyCount == 0)
}

@Test func anOfflineAppThrowsAnOfflineError() async throws {
    let stub = StubTransport(Stub().responds(.offline))
    let api = APIClient(stub.server("https://desk.example"))
    let error = await #expect(throws: TransportError.self) { try await closeTicket(7, with: api) }
    #expect(error?.isOffline == true && error?.delivery == .notSent)
}

@Test func aBrokenDownloadFails() async throws {
    let stub = StubTransport(Stub().responds(.data(Data(repeating: 7, count: 1000)).breaking(afterBytes: 100)))
    let api = APIClient(stub.server("https://desk.example"))
    let error = await #expect(throws: TransportError.self) { try await api.data(Endpoint<Void>.get("/archive")) }
    #expect(error?.code == .connectionLost && stub.openBodyCount == 0)
}

@Test func aBusyServerIsAskedAgain() async throws {
    let clock = ManualClock()
    let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "20"]), .json(Ticket(id: 7))))
    let api = APIClient(stub.retry(clock: clock).server("https://desk.example"))
    let ticket = try await clock.advancingToSleepers { try await api.get("/tickets/7", as: Ticket.self) }
    #expect(ticket.id == 7 && stub.requests.count == 2)
}

@Test func aSilentServerTimesOut() async throws {
    let clock = ManualClock()
    let stub = StubTransport(Stub().responds(.never))
    let api = APIClient(stub.timeout(.seconds(30), clock: clock).server("https://desk.example"))
    let error = await #expect(throws: TransportError.self) {
        try await clock.advancingToSleepers { try await api.get("/tickets/7", as: Ticket.self) }
    }
    #expect(error?.isTimeout == true)
}

@Test func aStaleTicketIsRevalidated() async throws {
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: #""1""#]
    let stub = StubTransport(Stub().responds(.json(Ticket(id: 7), headers: fields), .status(.notModified, headers: fields)))
    let (clock, store) = (ManualClock(), MemoryCacheStore())
    let start = clock.now
    let cached = stub.cache(in: store, now: { Date(timeIntervalSince1970: start.duration(to: clock.now) / .seconds(1)) })
    let api = APIClient(cached.server("https://desk.example"))
    for _ in 0..<2 { _ = try await api.get("/tickets/7", as: Ticket.self) }
    #expect(stub.requests.count == 1)  // for 60 seconds, the stored response is fresh
    await store.finish()
    clock.advance(by: .seconds(60))
    #expect(try await api.get("/tickets/7", as: Ticket.self) == Ticket(id: 7))
    #expect(stub.requests.map { $0.headers[.ifNoneMatch] } == [nil, #""1""#])
}

@Test func eachAttemptIsReported() async throws {
    let (clock, sink) = (ManualClock(), RecordingEventSink())
    let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .json(Ticket(id: 7))))
    let api = APIClient(stub.retry(clock: clock).events(to: sink).server("https://desk.example"))
    _ = try await clock.advancingToSleepers { try await api.get("/tickets/7", as: Ticket.self) }
    #expect(sink.events.compactMap(\.response?.status) == [.serviceUnavailable, .ok])
    #expect(sink.kinds.last == .callEnd)
}

nonisolated struct Reporter: Codable, Sendable, Equatable {
    var firstName: String
}

@Test func theNamesOfTheServerAreSnakeCase() async throws {
    let coding = JSONCoding(keys: .snakeCase)
    let stub = StubTransport(Stub().responds(.json(Reporter(firstName: "Ada"), coding: coding)))
    let api = APIClient(stub.server("https://desk.example"), json: coding)
    let ada = try await api.post("/reporters", body: .json(Reporter(firstName: "Ada")), as: Reporter.self)
    #expect(ada == Reporter(firstName: "Ada"))
    #expect(stub.requests.map(\.text) == [#"{"first_name":"Ada"}"#])
    #expect(try stub.requests.map { try $0.json(as: Reporter.self, coding: coding) } == [ada])
}
