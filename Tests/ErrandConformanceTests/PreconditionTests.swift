import Errand
import ErrandConformance
import ErrandTesting
import Testing

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
/// A broken precondition names the parameter, the rule and the value.
@Suite(.timeLimit(.minutes(5))) struct PreconditionTests {
    private func message(of result: ExitTest.Result?) -> String { String(decoding: result?.standardErrorContent ?? [], as: UTF8.self) }

    @Test func preconditionsOfTheConformanceSuitesNameTheValue() async {
        let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = TransportBehavior.all(excluding: ["brotly": "some reason"])
        }
        #expect(message(of: unknown).contains("excluding must have only names of behaviors (has 'brotly'; the nearest is 'Brotli')"))
        let unreasoned = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = TransportBehavior.all(excluding: ["Brotli": ""])
        }
        #expect(message(of: unreasoned).contains("the reason for 'Brotli' in excluding must not be empty"))
    }

    @Test func preconditionsOfMiddlewareNameTheValue() async {
        let attempts = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = RetryPolicy(maxAttempts: 0) }
        #expect(message(of: attempts).contains("maxAttempts must be at least 1 (is 0)"))
        let slow = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreakerPolicy(failureRatio: 0.5, slowCallRatio: 2)
        }
        #expect(message(of: slow).contains("slowCallRatio must be from 0 to 1 (is 2.0)"))
        let threshold = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreakerPolicy(callTimeoutThreshold: .seconds(-1))
        }
        #expect(message(of: threshold).contains("callTimeoutThreshold must be at least zero (is -1 s)"))
        let initial = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConcurrencyLimit.adaptive(initial: 5, minimum: 10)
        }
        #expect(message(of: initial).contains("initial must be from 10 to 200 (is 5)"))
        let perSecond = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RetryBudget(perSecond: -1)
        }
        #expect(message(of: perSecond).contains("perSecond must be at least 0 (is -1.0)"))
        let idleRead = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = PhaseTimeouts(connect: .seconds(1), idleRead: .zero)
        }
        #expect(message(of: idleRead).contains("idleRead must be more than zero, or nil (is 0 s)"))
        let host = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RequestCondition.host("a.example", "a b")
        }
        #expect(message(of: host).contains("hosts must be names or addresses, with or without a port (one is 'a b')"))
    }

    @Test func preconditionsOfTheTestKitNameTheValue() async {
        let upload = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NetworkConditions(uploadBytesPerSecond: 0)
        }
        #expect(message(of: upload).contains("uploadBytesPerSecond must be more than 0, or nil (is 0)"))
        let advance = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            ManualClock().advance(by: .seconds(-1))
        }
        #expect(message(of: advance).contains("duration must be at least zero (is -1 s)"))
    }
}
#endif
