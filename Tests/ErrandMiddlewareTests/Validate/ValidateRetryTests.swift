import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// The work of a validator before a call is sent again, and the values that are known after the call.
@Suite(.timeLimit(.minutes(5))) struct ValidateRetryTests {
    // MARK: Retry after something else

    @Test func aRequestIsRepeatedAfterSomeWork() async throws {
        let token = Mutex("old")
        let stub = StubTransport(
            Stub().header(.authorization, "new").responds(.status(.ok)), Stub().responds(.stream(streamed, status: .unauthorized)))
        let stack = stub.transformRequest { $0.head.headerFields[.authorization] = token.withLock { $0 } }
            .validate(
                again(
                    on: .unauthorized,
                    .retryAfterRunning {
                        #expect(stub.openBodyCount == 0, "the refused response holds nothing that the work may need")
                        token.withLock { $0 = "new" }
                    }))
        let response = try await stack.send(try request())
        #expect(response.status == .ok && response.metadata.attempts.count == 1)
        #expect(stub.requests.map { $0.headers[.authorization] } == ["old", "new"])
    }

    @Test func workRunsOnce() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.unauthorized)))
        let error = await #expect(throws: ResponseValidationError.self) {
            try await stub.validate(again(on: .unauthorized, .retryAfterRunning { passage.record("work") })).send(try request())
        }
        #expect(error?.retryStop == .attemptsUsedUp && error?.retries == 1)
        #expect(passage.all == ["work"] && stub.requests.count == 2)
        #expect("\(try #require(error))".contains("after 1 retry; "))
    }

    @Test func workThatFailsFailsTheCall() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .unauthorized)))
        await #expect(throws: TestError("work")) {
            try await stub.validate(again(on: .unauthorized, .retryAfterRunning { throw TestError("work") })).send(try request())
        }
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
    }

    @Test func workEndsWithTheDeadline() async throws {
        let (clock, deadlines) = (ManualClock(), ManualClock())
        let stub = StubTransport(Stub().responds(.status(.unauthorized)))
        let stack = stub.validate(again(on: .unauthorized, .retryAfterRunning { try await clock.sleep(for: .seconds(3_600)) }))
        let task = Task {
            var request = try request()
            request.deadline = Deadline(after: .seconds(2), clock: deadlines)
            return try await stack.send(request)
        }
        try await clock.sleepers(atLeast: 1)
        try await deadlines.sleepers(atLeast: 1)
        deadlines.advance(by: .seconds(2))
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.phase == .backoff && error?.elapsed == .seconds(2))
        #expect(clock.sleeperCount == 0 && stub.requests.count == 1)
    }

    @Test func aRequestIsRepeatedAfterAnotherRequest() async throws {
        let passage = RecordingList<String>()
        let isAwake = Mutex(false)
        let stub = StubTransport(
            Stub(.post, "/wake").responds(
                .custom { _ in
                    isAwake.withLock { $0 = true }
                    return (HTTPResponse(status: .ok), Data(repeating: 1, count: 200_000))
                }),
            Stub(.get, "/x").responds(
                .custom { _ in (HTTPResponse(status: isAwake.withLock { $0 } ? .ok : .unauthorized), Data("x".utf8)) }))
        let wake = try Request(.post, url: "https://a.example/wake")
        let stack = stub.wrapped(by: RecordingMiddleware(name: "inner", list: passage)).validate(
            again(on: .unauthorized, .retryAfterSending(wake)))
        var request = try request()
        request.deadline = Deadline(after: .seconds(60))
        #expect(try await stack.send(request).status == .ok)
        #expect(stub.requests.map(\.path) == ["/x", "/wake", "/x"])
        #expect(stub.requests[1].request.deadline != nil, "it obeys the call's deadline")
        #expect(passage.all.count == 6, "each went through the layers inside")
        #expect(stub.openBodyCount == 0)
    }

    @Test func aFailureOfTheOtherRequestFailsTheCall() async throws {
        let stub = StubTransport(
            Stub(.post, "/wake").responds(
                .failure(TransportError(.cannotConnect, phase: .connect, message: "the other", request: nil, delivery: .notSent))),
            Stub(.get, "/x").responds(.stream(streamed, status: .unauthorized)))
        let wake = try Request(.post, url: "https://a.example/wake")
        let error = await #expect(throws: TransportError.self) {
            try await stub.validate(again(on: .unauthorized, .retryAfterSending(wake))).send(try request())
        }
        #expect(error?.code == .cannotConnect && error?.message == "the other")
        #expect(stub.requests.map(\.path) == ["/x", "/wake"] && stub.openBodyCount == 0)
    }

    @Test func aBrokenBodyOfTheOtherRequestFailsTheCall() async throws {
        let stub = StubTransport(
            Stub(.post, "/wake").responds(.stream(streamed).breaking(afterBytes: 4)), Stub(.get, "/x").responds(.status(.unauthorized)))
        let wake = try Request(.post, url: "https://a.example/wake")
        let error = await #expect(throws: TransportError.self) {
            try await stub.validate(again(on: .unauthorized, .retryAfterSending(wake))).send(try request())
        }
        #expect(error?.code == .connectionLost && stub.openBodyCount == 0)
    }

    // MARK: Attempts

    @Test func attemptsOfValidatorsAndRetryAreNumberedTogether() async throws {
        let busy = StubResponse.status(.serviceUnavailable)
        let stub = StubTransport(Stub().responds(busy, .status(.unauthorized), busy, .status(.ok)))
        let stack = stub.retry(clock: ManualClock(), random: { 0 }).validate(again(on: .unauthorized, .retry(.immediate, atMost: 1)))
        let response = try await stack.send(try request())
        #expect(response.metadata.attempts.map(\.number) == [1, 2, 3])
        let statuses = response.metadata.attempts.map { if case .status(let status) = $0.outcome { status.code } else { 0 } }
        #expect(statuses == [503, 401, 503])
    }

    @Test func aFailureAfterARetryHasTheAttempts() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stub = StubTransport(Stub().responds(.status(.unauthorized), .failure(lost)))
        let error = await #expect(throws: TransportError.self) {
            try await stub.validate(again(on: .unauthorized, .retry(.immediate, atMost: 1))).send(try request())
        }
        #expect(error?.attempts.map(\.number) == [1])
    }

    @Test func aReplacementResponseHasTheAttempts() async throws {
        let stub = StubTransport(Stub().responds(.status(.unauthorized), .status(.notFound)))
        let empty = ResponseValidator("empty") { request, response, _ in
            response.status == .notFound ? .accept(Response(head: HTTPResponse(status: .ok), request: request)) : .next
        }
        let response = try await stub.validate(again(on: .unauthorized, .retry(.immediate, atMost: 1)), empty).send(try request())
        #expect(response.status == .ok && response.metadata.attempts.count == 1)
    }

    // MARK: Cancellation

    @Test func cancellingEndsARetryDuringItsWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .unauthorized)))
        let slow: @Sendable () async throws -> Void = {
            do {
                try await clock.sleep(for: .seconds(60))
            } catch {
                throw TestError("by another name")
            }
        }
        let validators = [
            again(on: .unauthorized, .retry(.constant(.seconds(60)), atMost: 1)), again(on: .unauthorized, .retryAfterRunning(slow)),
            ResponseValidator("slow") { _, _, _ in
                try await slow()
                return .next
            },
        ]
        for (index, validator) in validators.enumerated() {
            let task = Task { try await stub.validate(validator, clock: clock).send(try request()) }
            try await clock.sleepers(atLeast: 1)
            task.cancel()
            await #expect(throws: CancellationError.self, "\(index)") { try await task.value }
            #expect(stub.openBodyCount == 0 && clock.sleeperCount == 0 && stub.requests.count == index + 1)
        }
    }
}
