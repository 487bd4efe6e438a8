import ErrandTesting
import Testing

@testable import ErrandConformance

/// The maximum times of a behavior.
@Suite(.timeLimit(.minutes(5))) struct PatienceTests {
    private struct Own: Error {}

    @Test func theResultAndTheErrorOfAStepAreReturned() async throws {
        #expect(try await withPatience("a step") { 7 } == 7)
        await #expect(throws: Own.self) { try await withPatience("a step") { throw Own() } }
    }

    /// A step that ignores its cancellation can't hold up a suite.
    @Test func aLateStepIsCancelledAndLeftAlone() async throws {
        let (gate, wasCancelled) = (Signal(), Signal())
        let error = await #expect(throws: WaitTimeout.self) {
            try await withPatience("a step", within: .milliseconds(1)) {
                await withTaskCancellationHandler {
                    await gate.waitIgnoringCancellation()
                } onCancel: {
                    wasCancelled.signal()
                }
            }
        }
        #expect(error?.description == "waited 1 ms for a step")
        try await wasCancelled.wait()
        gate.signal()
    }

    @Test func aCancelledCallerCancelsItsStep() async throws {
        let (hasBegun, wasCancelled) = (Signal(), Signal())
        let task = Task {
            try await withPatience("a step") {
                hasBegun.signal()
                do { try await untilCancelled() } catch { wasCancelled.signal() }
            }
        }
        try await hasBegun.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await wasCancelled.wait()
    }

    @Test func theLimitOfACheckHoldsForItsSteps() async throws {
        try await Patience.bounded("a behavior", .seconds(3)) { #expect(Patience.forOne == .seconds(3)) }
        #expect(Patience.forOne == .seconds(20))
        let error = await #expect(throws: WaitTimeout.self) {
            try await Patience.bounded("a behavior", .milliseconds(1)) { try await untilCancelled() }
        }
        #expect(error?.description == "waited 2 ms for the end of a behavior")
    }

    @Test func aStepThatEndsWithItsCancellationPasses() async throws {
        let hasBegun = Signal()
        try await expectCancellation(when: hasBegun) {
            hasBegun.signal()
            try await untilCancelled()
        }
    }

    @Test func aStepWithoutAnEndIsAnIssue() async throws {
        let (hasBegun, gate) = (Signal(), Signal())
        await withKnownIssue {
            try await Patience.$forOne.withValue(.milliseconds(20)) {
                try await expectCancellation(when: hasBegun) {
                    hasBegun.signal()
                    await gate.waitIgnoringCancellation()
                }
            }
        }
        gate.signal()
    }
}
