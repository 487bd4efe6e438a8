import Errand
import ErrandTesting
import TestSupport
import Testing

/// A decision of the app's own, before that of the policy.
@Suite(.timeLimit(.minutes(5))) struct RetryDecidingTests {
    private func stack(
        _ stub: StubTransport, _ policy: RetryPolicy = .standard, budget: RetryBudget? = nil, clock: ManualClock = ManualClock(),
        _ decide: @escaping @Sendable (RetryPolicy.Attempt) -> RetryPolicy.Choice
    ) -> HTTPStack {
        stub.retry(policy.deciding(decide), budget: budget, clock: clock, random: { 0 })
    }

    @Test func aDecisionSeesRequestResponseAndPolicy() async throws {
        let seen = Watched([RetryPolicy.Attempt]())
        let stub = StubTransport(
            Stub().responds(.status(.serviceUnavailable, headers: [.eTag: "1"]), .failure(TestError()), .status(.ok)))
        let response = try await stack(stub) { attempt in
            seen.change { $0.append(attempt) }
            return attempt.error is TestError ? .retry : .byPolicy
        }.send(try request())
        #expect(response.status == .ok && response.metadata.attempts.count == 2)
        #expect(seen.value.map(\.number) == [1, 2, 3])
        #expect(seen.value.map { $0.response?.status.code } == [503, nil, 200])
        #expect(seen.value[0].response?.headerFields[.eTag] == "1" && seen.value[0].request.head.path == "/x" && seen.value[0].error == nil)
        #expect(seen.value[0].decision == .retry(after: .zero, countsAsAttempt: true))
        #expect(seen.value[1].error is TestError && seen.value[1].decision == .stop(.final))
        #expect(seen.value[2].decision == .stop(.final))
    }

    @Test func aDecisionCanRetryAFinalOutcome() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.accepted), .status(.ok)))
        let stack = stack(stub, clock: clock) { $0.response?.status == .accepted ? .retry(after: .seconds(7)) : .byPolicy }
        let response = Task { try await stack.send(try request(.post)) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.advanceToNextSleeper() == .seconds(7))
        #expect(try await response.value.status == .ok)
    }

    @Test func aDecisionCanStopARetry() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let response = try await stack(stub) { $0.response?.headerFields[.retryAfter] == nil ? .stop : .byPolicy }.send(try request())
        #expect(response.status == .serviceUnavailable && response.metadata.retryStop == nil && stub.requests.count == 1)
    }

    @Test func attemptsBudgetDeadlineAndBodyLimitADecision() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let used = try await stack(stub) { _ in .retry }.send(try request())
        #expect(used.metadata.retryStop == .attemptsUsedUp && stub.requests.count == 3)
        let spent = try await stack(stub, budget: RetryBudget(reserve: 1, clock: ManualClock())) { _ in .retry }.send(try request())
        #expect(spent.metadata.retryStop == .budgetUsedUp && spent.metadata.attempts.count == 1)
        let clock = ManualClock()
        var hurried = try request()
        hurried.deadline = Deadline(after: .seconds(1), clock: clock)
        let late = try await stack(stub, clock: clock) { _ in .retry(after: .seconds(1)) }.send(hurried)
        #expect(late.metadata.retryStop == .deadlineTooNear)
        let stream = RequestBody.stream(AsyncThrowingStream<Data, any Error> { $0.finish() })
        let once = try await stack(stub) { _ in .retry }.send(try request(.put, body: stream))
        #expect(once.metadata.retryStop == .bodyCannotBeReplayed)
    }

    @Test func aRetryByDecisionWaitsAsLongAsTheServerAsks() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.conflict, headers: [.retryAfter: "30"]), .status(.ok)))
        let stack = stack(stub, clock: clock) { $0.response?.status == .conflict ? .retry : .byPolicy }
        let response = Task { try await stack.send(try request(.post)) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.advanceToNextSleeper() == .seconds(30))
        #expect(try await response.value.status == .ok)
        #expect(RetryPolicy.Choice.retry(after: .seconds(-1)) == .retry(after: .zero))
    }

    @Test func aCancelledCallNeedsNoDecision() async throws {
        let stub = StubTransport(Stub().responds(.failure(CancellationError())))
        await #expect(throws: CancellationError.self) {
            try await stack(stub) { _ in
                Issue.record("asked")
                return .retry
            }.send(try request())
        }
    }

    @Test func theDescriptionNamesTheDecisionAndTheAttemptHasNoSecret() throws {
        #expect(RetryPolicy.standard.deciding { _ in .byPolicy }.description.hasSuffix(", with the app's own decision"))
        let head = HTTPResponse(status: .ok, headerFields: [.setCookie: "hunter2"])
        let attempt = RetryPolicy.Attempt(
            request: try Request(.get, url: "https://a.example/?token=hunter2"), number: 1, result: .success(head), decision: .stop(.final))
        var dumped = ""
        dump(attempt, to: &dumped)
        #expect("\(attempt)" == "attempt 1 of GET https://a.example/?token=REDACTED: 200")
        #expect(!dumped.contains("hunter2") && !String(reflecting: attempt).contains("hunter2"))
    }
}
