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

    @Test func aTimeoutOfARequestIsWrittenAsADuration() throws {
        var request = try Request(.get, "/x")
        request.options.timeout = .seconds(5)
        #expect(request.options.timeout == .use(.seconds(5)))
        request.options.timeout = .seconds(0.5)
        request.options.attemptTimeout = .milliseconds(500)
        #expect(request.options.timeout == .use(.milliseconds(500)) && request.options.attemptTimeout == request.options.timeout)
        request.options.timeout = .off
        #expect(request.options.timeout.isOff)
    }
}
