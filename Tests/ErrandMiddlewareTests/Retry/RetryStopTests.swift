import Errand
import ErrandTesting
import TestSupport
import Testing

/// The reason why there is no further attempt: in the failure, in the response, and in the printed texts.
@Suite(.timeLimit(.minutes(5))) struct RetryStopTests {
    private let busy = StubTransport(Stub().responds(.status(.serviceUnavailable)))

    private func stack(_ stub: StubTransport, _ policy: RetryPolicy = .standard, budget: RetryBudget? = nil) -> HTTPStack {
        stub.retry(policy, budget: budget, clock: ManualClock(), random: { 0 })
    }

    @Test func theErrorNamesASpentBudget() async throws {
        let stack = stack(busy, budget: RetryBudget(reserve: 2, clock: ManualClock())).validateStatus()
        let first = try await failure(StatusError.self) { try await stack.send(try request()) }
        #expect(first.attempts.count == 2 && first.retryStop == .attemptsUsedUp)
        #expect(
            first.description
                == "GET https://a.example/x: status 503 Service Unavailable; attempt 1: 503; attempt 2: 503; "
                + "no further attempt: all attempts are used up")
        let second = try await failure(StatusError.self) { try await stack.send(try request()) }
        #expect(second.attempts.isEmpty && second.retryStop == .budgetUsedUp)
        #expect(
            second.description
                == "GET https://a.example/x: status 503 Service Unavailable; no further attempt: the retry budget of this origin is used up"
        )
    }

    @Test func aTransportErrorNamesTheReasonWithoutARetry() async throws {
        let refused = TransportError(
            .cannotConnect, phase: .connect, message: "connection refused", request: try request(), delivery: .notSent)
        let stub = StubTransport(Stub().responds(.failure(refused)))
        let error = try await transportError { try await stack(stub, budget: RetryBudget(reserve: 0)).send(try request()) }
        #expect(error.retryStop == .budgetUsedUp && error.attempts.isEmpty)
        #expect(
            error.description
                == "GET https://a.example/x: cannot connect: connection refused (not sent); no further attempt: the retry budget of this origin is "
                + "used up")
    }

    @Test func aReturnedResponseNamesTheReasonWithoutARetry() async throws {
        let patient = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "999"])))
        #expect(try await stack(patient).send(try request()).metadata.retryStop == .retryAfterTooLong)
        let stream = RequestBody.stream(AsyncThrowingStream<Data, any Error> { $0.finish() })
        #expect(try await stack(busy).send(try request(.put, body: stream)).metadata.retryStop == .bodyCannotBeReplayed)
        let clock = ManualClock()
        var hurried = try request()
        hurried.deadline = Deadline(after: .milliseconds(50), clock: clock)
        let waiting = busy.retry(budget: nil, clock: clock, random: { 0.9 })
        #expect(try await waiting.send(hurried).metadata.retryStop == .deadlineTooNear)
    }

    @Test func aFinalOutcomeHasNoReason() async throws {
        let stub = StubTransport(Stub(.get).responds(.status(.ok)), Stub(.post).responds(.status(.serviceUnavailable)))
        #expect(try await stack(stub).send(try request()).metadata.retryStop == nil)
        #expect(try await stack(StubTransport(Stub().responds(.status(.notFound)))).send(try request(.post)).metadata.retryStop == nil)
        let lost = TransportError(.tls, phase: .connect, request: nil, delivery: .notSent)
        let error = try await transportError {
            try await stack(StubTransport(Stub().responds(.failure(lost)))).send(try request())
        }
        #expect(error.retryStop == nil && error.description == "TLS failure (not sent)")
    }

    @Test func theErrorOfAPOSTNamesTheIdempotencyKey() async throws {
        let error = try await failure(StatusError.self) { try await stack(busy).validateStatus().send(try request(.post)) }
        #expect(error.retryStop == .notIdempotent && error.attempts.isEmpty)
        #expect(
            error.description
                == "POST https://a.example/x: status 503 Service Unavailable; no further attempt: the method is not idempotent, and the request may "
                + "have been processed; an idempotency key (options.idempotencyKey = .attached) would permit another attempt")
        let lost = TransportError(.connectionLost, phase: .response, request: try request(.post), delivery: .unknown)
        let stub = StubTransport(Stub().responds(.failure(lost)))
        #expect(try await transportError { try await stack(stub).send(try request(.post)) }.retryStop == .notIdempotent)
        var keyed = try request(.post)
        keyed.options.idempotencyKey = .attached
        #expect(try await stack(busy).send(keyed).metadata.retryStop == .attemptsUsedUp)
    }

    @Test func aTimeoutHasNoReason() async throws {
        let clock = ManualClock()
        let stack = StubTransport(Stub().responds(.never)).retry(budget: nil, clock: clock).timeout(.seconds(30), clock: clock)
        let error = try await transportError { try await clock.advancingToSleepers { try await stack.send(try request()) } }
        #expect(error.retryStop == nil)
        #expect(
            error.description
                == "GET https://a.example/x: timed out while waiting for the response after 30 s: the limit timeout is 30 s, set by .timeout "
                + "(may have been sent)")
    }

    @Test func theStackShowsTheBudget() {
        let stub = StubTransport()
        #expect(stub.retry().description.hasPrefix("retry(3 attempts, "))
        #expect(stub.retry().description.hasSuffix(", budget 5 + 20 % of successes) > StubTransport"))
        #expect(stub.retry(budget: nil).description.hasSuffix(", no budget) > StubTransport"))
        #expect(
            stub.retry(budget: RetryBudget(reserve: 2.5, perSuccess: 0.125, perSecond: 0)).description
                .hasSuffix(", budget 2.5 + 12.5 % of successes) > StubTransport"))
        #expect(stub.retry(budget: RetryBudget(perSuccess: 0)).description.hasSuffix(", budget 5) > StubTransport"))
        #expect(RetryBudget().description == "5 retries, plus 0.2 for each success and 0.1 for each second")
        #expect(RetryBudget(perSuccess: 0, perSecond: 0).description == "5 retries")
    }
}
