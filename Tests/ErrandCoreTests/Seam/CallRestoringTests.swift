import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// A layer that changes a call, and the call outside of the layer.
@Suite(.timeLimit(.minutes(10))) struct CallRestoringTests {
    /// At each layer, for responses and failures.
    @Test(arguments: [false, true]) func theCallIsRestoredAtEachLayer(fails: Bool) async throws {
        let problems = RecordingList<String>()
        @Sendable func check(_ found: Request?, _ wanted: Request, _ layer: String) {
            guard let found else { return }
            if found.deadline?.remaining.rounded != wanted.deadline?.remaining.rounded { problems.record("\(layer): deadline") }
            if (found.options.eventSink == nil) != (wanted.options.eventSink == nil) { problems.record("\(layer): sink") }
            if found.options.call.hasEntered != wanted.options.call.hasEntered { problems.record("\(layer): hasEntered") }
            if found.options.call.hasAttemptDeadline != wanted.options.call.hasAttemptDeadline { problems.record("\(layer): attempt") }
            if (found.options.call.observation == nil) != (wanted.options.call.observation == nil) {
                problems.record("\(layer): observation")
            }
        }
        let transport = ClosureTransport { request in
            if fails { throw TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent) }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        func layer(_ name: String) -> ClosureMiddleware {
            ClosureMiddleware(label: name) { request, next in
                var changed = request
                changed.deadline = Deadline(after: .seconds(Int64.random(in: 1_000...9_000)))
                changed.options.eventSink = Bool.random() ? StubEventSink() : nil
                changed.options.call.hasAttemptDeadline.toggle()
                do {
                    let response = try await next.send(changed)
                    check(response.request, changed, name)
                    return response
                } catch {
                    check((error as? any RequestFailure)?.request, changed, name)
                    throw error
                }
            }
        }
        let outcomes = RecordingList<CallOutcome>()
        let stack = HTTPStack(transport).wrapped(by: layer("1")).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .wrapped(by: layer("2")).wrapped(by: ObservingMiddleware { RecordingObserver(outcomes) }).wrapped(by: layer("3")).redirect()
            .validate(ResponseValidator("any") { _, _, _ in .next }).fallback(statuses: [503]) { _, _ in nil }.timeout(.seconds(100))
        var request = Request.sample()
        request.options.timeout = .use(.seconds(50))
        for _ in 0..<50 {
            do { check(try await stack.send(request).request, request, "app") } catch {
                check((error as? any RequestFailure)?.request, request, "app, failure")
                // What was sent earlier in the call is the same call.
                for attempt in (error as? any RequestFailure)?.attempts ?? [] {
                    if case .failure(let error as any RequestFailure) = attempt.outcome { check(error.request, request, "app, attempt") }
                }
            }
        }
        #expect(Set(problems.all) == [])
        #expect(outcomes.all.count == 50)
    }

    /// The failures in `attempts` must not keep the call: its observers, its sink and its deadline.
    @Test func theErrorOfACallKeepsNoObserver() async throws {
        weak var observer: RecordingObserver<Void>?
        let outcomes = RecordingList<CallOutcome>()
        let transport = ClosureTransport { throw TransportError(.connectionLost, phase: .response, request: $0, delivery: .notSent) }
        let made = Mutex<[RecordingObserver<Void>]>([])
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .wrapped(
                by: ObservingMiddleware {
                    let observer = RecordingObserver(outcomes)
                    made.withLock { $0.append(observer) }
                    return observer
                })
        let error = try await transportError { try await stack.send(.sample()) }
        observer = made.withLock { $0.removeLast() }
        #expect(outcomes.all.count == 1 && error.attempts.count >= 1)
        #expect(observer == nil, "an error that the app keeps holds the observer of the call, by the request of an attempt")
        withExtendedLifetime(error) {}
    }

    /// "Sending such a request again begins a new call."
    @Test func theRequestOfAnAttemptBeginsANewCall() async throws {
        let transport = ClosureTransport { throw TransportError(.connectionLost, phase: .response, request: $0, delivery: .notSent) }
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil).timeout(.seconds(100))
        var request = Request.sample()
        request.options.timeout = .use(.seconds(50))
        let error = try await transportError { try await stack.send(request) }
        guard case .failure(let first as TransportError) = error.attempts.first?.outcome else {
            Issue.record("no attempt")
            return
        }
        #expect(error.request?.options.call.hasEntered == false && error.request?.deadline == nil)
        #expect(first.request?.options.call.hasEntered == false && first.request?.deadline == nil)
    }
}

extension Duration {
    /// To ten seconds.
    fileprivate var rounded: Int64 { components.seconds / 10 }
}
