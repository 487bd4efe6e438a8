import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PhaseWatchTests {
    /// Calls a closure when a sleep starts.
    private struct CallbackClock: Clock {
        let base: ManualClock
        let tell: @Sendable () -> Void

        var now: ManualClock.Instant { base.now }
        var minimumResolution: Duration { base.minimumResolution }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            tell()
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }

    /// The request's head leaves between the look at the phase and the wait for its change.
    @Test func aChangeOfPhaseBeforeItsWaitIsSeen() async throws {
        let simulation = Simulation()
        let watching = Watched<PhaseWatch?>(nil)
        let request = Request.sample()
        let clock = CallbackClock(base: simulation.clock) {
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
