import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShorthandTests {
    @Test func retryTakesANumberOfAttempts() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "0"]), repeatingLast: true))
        let response = try await stub.retry(2).send(Request(.get, url: "https://a.example/"))
        #expect(response.status == .serviceUnavailable && stub.requests.count == 2, "the first attempt is included")
        #expect(StubTransport().retry(3, budget: nil).contains(.retry))
    }
}
