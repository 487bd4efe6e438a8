import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// The attempts of a call, and the requests between the attempts.
@Suite(.timeLimit(.minutes(10))) struct CallAttemptsTests {
    @Test func hugeDurationsDoNotCrash() async {
        await #expect(processExitsWith: .success) {
            let transport = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
            for long in [Duration.seconds(Int64.max), .nanoseconds(Int64.max)] {
                let stack = HTTPStack(transport).phaseTimeouts(connect: long, firstByte: long, idleRead: long, attempt: long)
                    .fallback(to: transport, deadlineShare: 0.999_999_999).timeout(long)
                _ = try await stack.send(.sample()).body.collect()
            }
            for odd in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .seconds(-1)] {
                var request = Request.sample()
                request.options.timeout = .use(odd)
                request.options.attemptTimeout = .use(odd)
                _ = try? await HTTPStack(transport).fallback(to: transport).send(request)
            }
            try await Request.sample().wait(for: .seconds(Int64.min))
        }
    }

    @Test func aCountOfAttemptsDoesNotTrap() async {
        await #expect(processExitsWith: .success) {
            var request = Request.sample()
            request.options.resendCount = Int.max
            request.countResend(after: .failure(TestError()))
        }
    }

    /// A count of attempts that layers inside have made is not lost.
    @Test func theCountOfAttemptsCoversAllLayers() async throws {
        let counts = RecordingList<Int>()
        let transport = ClosureTransport { request in
            counts.record(request.options.resendCount)
            return Response(head: HTTPResponse(status: .serviceUnavailable), request: request)
        }
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .validate(ResponseValidator("again") { _, _, retries in retries < 2 ? .retry(.constant(.zero), atMost: 2) : .next })
        let response = try await stack.send(.sample())
        #expect(counts.all == [0, 1, 2, 3, 4, 5])
        #expect(response.metadata.attempts.map(\.number) == [1, 2, 3, 4, 5])
    }

    /// The warnings of released responses reach the caller once, in order, also over a redirect.
    @Test func theWarningsOfReleasedResponsesReachTheCaller() async throws {
        let numbers = RecordingList<Int>()
        let transport = ClosureTransport { request in
            numbers.record(numbers.all.count + 1)
            let number = numbers.all.count
            let status: HTTPResponse.Status = number < 3 ? .serviceUnavailable : number == 3 ? .found : .ok
            var response = Response(
                head: HTTPResponse(status: status, headerFields: number == 3 ? [.location: "/new"] : [:]), request: request)
            response.metadata.warnings = ["warning \(number)"]
            return response
        }
        let stack = HTTPStack(transport).redirect().retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .validate(
                ResponseValidator("again") { _, response, _ in
                    response.head.status == .ok ? .next : .retry(.constant(.zero), atMost: 2)
                })
        let response = try await stack.send(.sample())
        #expect(response.head.status == .ok && numbers.all == [1, 2, 3, 4])
        #expect(response.metadata.warnings == (1...4).map { "warning \($0)" })
        #expect(response.metadata.attempts.count == 2, "a hop of a redirect is not an attempt")
    }

    /// A request that a validator sends in between obeys the deadline of the call.
    @Test func theRequestInBetweenObeysTheDeadlineOfTheCall() async throws {
        let deadlines = RecordingList<Bool>()
        let transport = ClosureTransport { request in
            deadlines.record(request.deadline != nil)
            return Response(head: HTTPResponse(status: .accepted), request: request)
        }
        let stack = HTTPStack(transport).validate(
            ResponseValidator("renew") { _, _, retries in retries == 0 ? .retryAfterSending(.sample("/renew")) : .next }
        ).timeout(.seconds(30))
        _ = try await stack.send(.sample())
        #expect(deadlines.all == [true, true, true])
    }

    /// The first response is released when the fallback is cancelled.
    @Test func aResponseIsReleasedWhenItsFallbackIsCancelled() async throws {
        let source = ScriptedBodySource(["ab"])
        let kept = RecordingList<Response>()
        let transport = ClosureTransport { request in
            let response = Response(
                head: HTTPResponse(status: .serviceUnavailable), body: ResponseBody(source), request: request, exchange: ExchangeLifetime())
            kept.record(response)
            return response
        }
        let begun = Signal()
        let stack = HTTPStack(transport).fallback(statuses: [503]) { _, _ in
            begun.signal()
            try await untilCancelled()
        }
        let call = Task { try await stack.send(.sample()) }
        await begun.waitIgnoringCancellation()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(source.abandonCount == 1)
        withExtendedLifetime(kept) {}
    }
}
