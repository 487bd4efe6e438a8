import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PhaseWatchTests {
    /// The request's head leaves between the look at the phase and the wait for its change.
    @Test func aChangeOfPhaseBeforeItsWaitIsSeen() async throws {
        let simulation = Simulation()
        let watching = Watched<PhaseWatch?>(nil)
        let request = Request.sample()
        let clock = CallbackClock(simulation.clock) { _ in
            let watch = watching.value
            watching.change { $0 = nil }
            watch?.record(ExchangeEvent(.requestHeadSent, request: request.id))
        }
        let watch = PhaseWatch(
            PhaseTimeouts(connect: .seconds(60), idleWrite: .seconds(1), clock: clock), reportsPhases: true, sink: nil)
        watching.change { $0 = watch }
        let expiry = simulation.begin { try await watch.expiry(of: request) }
        simulation.run()
        let failure = try await expiry.value
        #expect(failure.phase == .send && simulation.elapsed == .seconds(1))
    }
}
