import Errand
import ErrandTesting
import TestSupport
import Testing

/// How tests wait.
@Suite(.timeLimit(.minutes(5))) struct SignalTests {
    @Test func allWaitersContinue() async throws {
        let (signal, waiting, ended) = (Signal(), Counter(), Counter())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    waiting.add()
                    if index.isMultiple(of: 2) { try await signal.wait() } else { await signal.waitIgnoringCancellation() }
                    ended.add()
                }
            }
            await eventually { waiting.value == 20 }
            #expect(!signal.hasCome && ended.value == 0)
            signal.signal()
            try await group.waitForAll()
        }
        #expect(signal.hasCome && ended.value == 20)
    }

    @Test func anEventThatHasHappenedNeedsNoWait() async throws {
        let signal = Signal()
        signal.signal()
        signal.signal()
        try await signal.wait()
        await signal.waitIgnoringCancellation()
    }

    @Test func aCancelledTaskLeaves() async throws {
        let signal = Signal()
        let (first, second) = (Task { try await signal.wait() }, Task { try await signal.wait() })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        signal.signal()
        try await second.value
    }

    @Test func aWaitThatIgnoresItsCancellationEndsWithTheEvent() async throws {
        let (signal, hasBegun, hasEnded) = (Signal(), Signal(), Counter())
        let task = Task {
            hasBegun.signal()
            await signal.waitIgnoringCancellation()
            hasEnded.add()
        }
        try await hasBegun.wait()
        task.cancel()
        for _ in 0..<100 { await Task.yield() }
        #expect(hasEnded.value == 0)
        signal.signal()
        await task.value
        #expect(hasEnded.value == 1)
    }

    @Test func aWaitUntilTheCancellationThrows() async throws {
        let task = Task { try await untilCancelled() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: The end of an exchange

    private func response(_ exchange: ExchangeLifetime) -> Response {
        Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource()),
            request: Request(head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")), exchange: exchange)
    }

    @Test func theEndOfAnExchangeIsItsOutcome() async throws {
        let exchange = ExchangeLifetime()
        let response = response(exchange)
        async let end = response.end()
        exchange.end(.abandoned)
        guard case .abandoned = try await end else { return #expect(Bool(false), "another outcome") }
    }

    @Test func anExchangeThatDoesNotEndIsReported() async throws {
        let response = response(ExchangeLifetime())
        let error = await #expect(throws: WaitTimeout.self) { try await response.end(upTo: .milliseconds(1)) }
        #expect(error?.description == "waited 1 ms for the end of the exchange")
        let task = Task { try await response.end() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
