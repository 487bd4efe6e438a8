import Errand
import ErrandTesting
import Logging
import Testing

/// What holds for each middleware of the library, whatever it does.
@Suite(.timeLimit(.minutes(1))) struct EveryMiddlewareTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let wrap: @Sendable (any HTTPSender) -> HTTPStack
        let switchOff: @Sendable (inout Request) -> Void
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(
            name: "server", wrap: { $0.server("https://b.example/base", headers: [.userAgent: "x"]) },
            switchOff: { $0.options.server = .off }),
        Case(name: "number", wrap: { $0.number() }, switchOff: { $0.options.number = .off }),
        Case(name: "log", wrap: { $0.log(to: recordingLogger().0) }, switchOff: { $0.options.log = .off }),
        Case(name: "timeout", wrap: { $0.timeout(.seconds(60)) }, switchOff: { $0.options.timeout = .off }),
        Case(name: "validateStatus", wrap: { $0.validateStatus() }, switchOff: { $0.options.validateStatus = .off }),
        Case(name: "redirect", wrap: { $0.redirect() }, switchOff: { $0.options.redirect = .off }),
        Case(name: "retry", wrap: { $0.retry(clock: ManualClock()) }, switchOff: { $0.options.retry = .off }),
    ]

    @Test(arguments: cases) func passesTheRequestInAndTheResponseOutInOrder(_ test: Case) async throws {
        let passage = Passage()
        let stub = StubTransport(Stub().answers(.status(.ok)))
        let inner = stub.wrapped(by: RecordingMiddleware(name: "inner", passage: passage))
        let stack = test.wrap(inner).wrapped(by: RecordingMiddleware(name: "outer", passage: passage))
        let response = try await stack.send(try request())
        #expect(response.status == .ok)
        #expect(passage.all == ["> outer", "> inner", "< inner", "< outer"])
    }

    @Test(arguments: cases) func cancellingTheCallerStopsTheWorkBelow(_ test: Case) async throws {
        let stub = StubTransport(Stub().answers(.never))
        let passage = Passage()
        let stack = test.wrap(stub.wrapped(by: RecordingMiddleware(name: "below", passage: passage)))
        let task = Task { try await stack.send(try request()) }
        while stub.requests.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(passage.all == ["> below", "< below"], "what was below has returned")
    }

    @Test(arguments: cases) func aCancelledCallerReachesNobody(_ test: Case) async throws {
        let stub = StubTransport(Stub().answers(.status(.ok)))
        let stack = test.wrap(stub)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await stack.send(try request())
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: cases) func aBodyDroppedUnreadIsReleased(_ test: Case) async throws {
        let stub = StubTransport(Stub().answers(.stream(streamed)))
        let stack = test.wrap(stub)
        func sendAndDrop() async throws {
            let response = try await stack.send(try request())
            #expect(stub.openBodyCount == 1)
            #expect(response.status == .ok)
        }
        try await sendAndDrop()
        #expect(stub.openBodyCount == 0)
    }

    @Test(arguments: cases) func aBodyReadHalfWayIsReleased(_ test: Case) async throws {
        let stub = StubTransport(Stub().answers(.stream(streamed)))
        let response = try await test.wrap(stub).send(try request())
        for try await _ in response.body { break }
        #expect(stub.openBodyCount == 0)
    }

    @Test(arguments: cases) func aRequestSwitchesItOff(_ test: Case) async throws {
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable)))
        var request = try request()
        test.switchOff(&request)
        let response = try await test.wrap(stub).send(request)
        #expect(response.status == .serviceUnavailable)
        #expect(stub.requests.count == 1)
        let seen = try #require(stub.requests.first).request
        #expect(seen.head.headerFields.isEmpty)
        #expect(seen.deadline == nil)
        #expect(seen.options.requestNumber == nil)
        #expect(response.metadata.requestNumber == nil)
    }

    @Test func theDescriptionIsAFlatListOutermostFirst() {
        let stack = StubTransport().retry().validateStatus().timeout(.seconds(30)).number().server("https://a.example/v1?token=t0ps3cret")
        #expect(
            stack.description
                == "server(https://a.example/v1?token=REDACTED) > number > timeout(30.0 seconds) > validateStatus(2xx) > "
                + "retry(3 attempts, 0.1 seconds to 20.0 seconds) > StubTransport")
        #expect(stack.orderProblems.isEmpty)
    }

    @Test func theDescriptionNamesAnOrderThatDefeatsOne() {
        let stack = StubTransport().validateStatus().retry()
        #expect(stack.orderProblems == ["retry stands outside validateStatus: retry would see an error where it looks for a status"])
        #expect(stack.description.contains("retry would see an error"))
    }
}
