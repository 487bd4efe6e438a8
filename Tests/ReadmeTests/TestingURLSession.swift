import Errand
import ErrandTesting
import ErrandURLSessionTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// A sample of the article "Testing", unchanged: `ReadmeTests` compares each sample with this file.

func ticket(_ id: Int, from session: URLSession) async throws -> Ticket {
    let url = try #require(URL(string: "https://desk.example/tickets/\(id)"))
    let (data, _) = try await session.data(from: url)
    return try JSONDecoder().decode(Ticket.self, from: data)
}

@Test func otherCodeIsServedByAStub() async throws {
    let stub = StubTransport(Stub(.get, "/tickets/7").responds(.json(Ticket(id: 7))), Stub().responds(.offline))
    let configuration = URLSessionConfiguration.ephemeral
    StubURLProtocol.serve(stub, to: configuration)
    let session = URLSession(configuration: configuration)
    #expect(try await ticket(7, from: session) == Ticket(id: 7))
    let error = await #expect(throws: URLError.self) { try await ticket(8, from: session) }
    #expect(error?.code == .notConnectedToInternet && stub.requests.map(\.path) == ["/tickets/7", "/tickets/8"])
}
