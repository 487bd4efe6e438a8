import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// A back end that says "busy" by a code in its bodies.
@Suite(.timeLimit(.minutes(5))) struct ServiceCodeRetryTests {
    private struct Wrapper: ResponseEnvelope {
        var code: Int
        var message: String?
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: message ?? "") }
    }

    private struct User: Codable, Sendable, Equatable { var id: Int }

    private let clock = ManualClock()
    private let busy: JSONValue = ["code": 50_300, "message": "busy"]
    private let fine: JSONValue = ["code": 0, "data": ["id": 7]]

    private func client(_ stub: StubTransport, atMost: Int = 3, backoff: Backoff = .immediate) -> APIClient {
        let stack = stub.validate(.retry(onServiceCodes: [50_300, "busy"], backoff: backoff, atMost: atMost), clock: clock)
        return APIClient(stack.server("https://a.example"), envelope: Wrapper.self)
    }

    @Test(arguments: [HTTPResponse.Status.ok, .serviceUnavailable, .conflict])
    func aCodeIsRepeatedWhateverTheStatus(_ status: HTTPResponse.Status) async throws {
        let stub = StubTransport(Stub().responds(.json(busy, status: status), .json(busy, status: status), .json(fine)))
        let response = try await client(stub).response(Endpoint<User>.post("/users", body: .json(["name": "Ada"])))
        #expect(response.value == User(id: 7) && stub.requests.count == 3 && stub.openBodyCount == 0)
        #expect(response.metadata.attempts.map { "\($0.outcome)" } == ["\(status.code)", "\(status.code)"])
    }

    @Test func theLastErrorIsThatOfTheBackEnd() async throws {
        let stub = StubTransport(Stub().responds(.json(busy)))
        let error = await #expect(throws: ServiceError.self) { try await client(stub, atMost: 2).get("/users", as: User.self) }
        #expect(error?.code == 50_300 && error?.attempts.count == 2 && stub.requests.count == 3)
        let once = StubTransport(Stub().responds(.json(busy)))
        await #expect(throws: ServiceError.self) { try await client(once, atMost: 0).get("/users", as: User.self) }
        #expect(once.requests.count == 1)
    }

    @Test func otherResponsesAreNotRepeated() async throws {
        let other = StubTransport(Stub().responds(.json(["code": 40_401])))
        await #expect(throws: ServiceError.self) { try await client(other).get("/users", as: User.self) }
        #expect(other.requests.count == 1)
        let html = StubTransport(Stub().responds(.status(.badGateway, headers: [.contentType: "text/html"], text: "<html>50300")))
        await #expect(throws: StatusError.self) { try await client(html).get("/users", as: User.self) }
        #expect(html.requests.count == 1)
    }

    @Test func onlyTypedCallsWithTheEnvelopeAreRepeated() async throws {
        let plain = StubTransport(Stub().responds(.json(busy)))
        let bare = try await client(plain).get("/health", as: JSONValue.self, decoding: .json.withoutEnvelope)
        #expect(bare.code.intValue == 50_300 && plain.requests.count == 1)
        let sent = try await client(plain).send(Request(.get, "/users"))
        #expect(try await sent.body.collect().isEmpty == false && plain.requests.count == 2)
        let off = StubTransport(Stub().responds(.json(busy)))
        await #expect(throws: ServiceError.self) { try await client(off).get("/users", as: User.self) { $0.validate = .off } }
        #expect(off.requests.count == 1)
    }

    @Test func aServerThatAsksForAWaitGetsIt() async throws {
        let stub = StubTransport(
            Stub().responds(.json(busy, status: .serviceUnavailable, headers: [.retryAfter: "7"]), .json(fine)))
        let call = Task { try await client(stub).get("/users", as: User.self) }
        try await clock.sleepers(atLeast: 1)
        #expect(stub.requests.count == 1)
        clock.advance(by: .seconds(7))
        #expect(try await call.value == User(id: 7))
        let long = StubTransport(Stub().responds(.json(busy, headers: [.retryAfter: "61"])))
        await #expect(throws: ServiceError.self) { try await client(long).get("/users", as: User.self) }
        #expect(long.requests.count == 1)
    }

    @Test func aWaitPastTheDeadlineEndsWithTheErrorOfTheBackEnd() async throws {
        let stub = StubTransport(Stub().responds(.json(busy)))
        let api = client(stub, backoff: .constant(.seconds(60)))
        await #expect(throws: ServiceError.self) { try await api.get("/users", timeout: .seconds(5), as: User.self) }
        #expect(stub.requests.count == 1)
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let stub = StubTransport(Stub().responds(.json(busy)))
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("{}".utf8))
            continuation.finish()
        }
        await #expect(throws: ServiceError.self) {
            try await client(stub).post("/users", body: .raw(.stream(chunks)), as: User.self)
        }
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: [true, false]) func aPostThatARedirectMadeAGetIsSentOnce(_ isOneShot: Bool) async throws {
        let stub = StubTransport(
            Stub(.post, "/orders").responds(.status(.seeOther, headers: [.location: "/orders/7"])),
            Stub(.get, "/orders/7").responds(.json(busy), repeatingLast: true))
        let stack = stub.redirect().validate(.retry(onServiceCodes: [50_300], backoff: .immediate), clock: clock)
        let api = APIClient(stack.server("https://a.example"), envelope: Wrapper.self)
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("{}".utf8))
            continuation.finish()
        }
        let body: EndpointBody = isOneShot ? .raw(.stream(chunks)) : .json(["name": "tea"])
        let error = await #expect(throws: ServiceError.self) { try await api.post("/orders", body: body, as: User.self) }
        #expect(error?.code == 50_300 && stub.requests.map(\.method) == [.post, .get])
    }

    @Test func aBodyWithoutATypeIsNotRead() async throws {
        let stub = StubTransport(Stub().responds(.data(Data(#"{"code":50300}"#.utf8))))
        await #expect(throws: ServiceError.self) { try await client(stub).get("/users", as: User.self) }
        #expect(stub.requests.count == 1)
    }

    @Test func theDescriptionNamesTheCodes() {
        #expect(client(StubTransport()).stack.description.contains("validate(no service code 50300 busy)"))
    }
}
