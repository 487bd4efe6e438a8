import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandMiddleware

/// What the machines beneath coalescing decide at moments that a caller meets only in a race.
@Suite(.timeLimit(.minutes(5))) struct SharedExchangeStateTests {
    private static func streamed() throws -> Response {
        Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource()), request: try request(), exchange: ExchangeLifetime())
    }

    @Test func noCallerJoinsAfterTheFirstByteTheEndOrAFailure() throws {
        var read = SharedExchangeState()
        _ = read.receive(.success(try Self.streamed()))
        #expect(read.join(mayWait: false) != nil)
        _ = read.receive(Data("a".utf8), limitBytes: 10)
        #expect(read.join(mayWait: true) == nil)

        var ended = SharedExchangeState()
        _ = ended.receive(.success(try Self.streamed()))
        _ = ended.end(.complete)
        #expect(ended.join(mayWait: true) == nil)

        var buffered = SharedExchangeState()
        _ = buffered.receive(.success(Response(head: HTTPResponse(status: .ok), request: try request())))
        #expect(buffered.join(mayWait: true) == nil)

        var failed = SharedExchangeState()
        _ = failed.receive(.failure(CancellationError()))
        #expect(failed.join(mayWait: true) == nil)
    }

    @Test func callersOfAFailureShareOneRandomNumber() {
        let shared = SharedRetry()
        #expect(shared.random { 0.25 } == 0.25)
        #expect(shared.random { 0.75 } == 0.25)
    }

    @Test func aRepeatedRequestDoesNotUseTheRandomNumberOfAnEarlierFailure() async throws {
        let earlier = SharedRetry()
        _ = earlier.random { 0.99 }
        let stub = StubTransport(
            Stub().responds(
                .custom { throw TransportError(.connectionLost, phase: .response, request: $0.request, delivery: .unknown) }, .status(.ok)))
        let clock = ManualClock()
        let stack = stub.retry(RetryPolicy(backoff: .constant(.seconds(10))), clock: clock, random: { 0.5 })
        var again = try request()
        again.options.sharedRetry = earlier
        let sent = again
        let call = Task { try await stack.send(sent).status }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .seconds(5))
        clock.advanceToNextSleeper()
        #expect(try await call.value == .ok)
    }
}
