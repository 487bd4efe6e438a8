import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShorthandTests {
    @Test func retryTakesANumberOfAttempts() async throws {
        for make in [{ $0.retry(2) }, { $0.retry(attempts: 2) }] as [(StubTransport) -> HTTPStack] {
            let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "0"]), repeatingLast: true))
            let response = try await make(stub).send(Request(.get, url: "https://a.example/"))
            #expect(response.status == .serviceUnavailable && stub.requests.count == 2, "the first attempt is included")
        }
        #expect(StubTransport().retry(3, budget: nil).contains(.retry))
    }
}
