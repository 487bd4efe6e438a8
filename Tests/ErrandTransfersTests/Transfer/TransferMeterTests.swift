import ErrandCore
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferMeterTests {
    private struct Failure: Error, CustomStringConvertible { let description = "broken" }

    @Test func aMeterBeginsIdle() {
        let meter = TransferMeter(clock: ManualClock())
        #expect(meter.value.description == "idle, 0 bytes")
        #expect(meter.value.bytesPerSecond == nil && meter.value.timeLeft == nil)
    }

    @Test func theBytesAreCountedFromTheOffset() {
        let clock = ManualClock()
        let meter = TransferMeter(clock: clock)
        meter.set(40, total: 100)
        #expect(meter.value.progress.bytes == 40 && meter.value.phase.description == "idle")
        meter.enter(.connecting)
        meter.begin(at: 40, total: 100)
        clock.advance(by: .milliseconds(100))
        meter.record(10)
        #expect(meter.value.progress.bytes == 50 && meter.value.progress.total == 100)
        #expect(meter.value.phase.description == "transferring")
    }

    /// Bytes of an earlier connection do not count for the rate, and the time before the first byte does not count either.
    @Test func theRateIsThatOfTheConnection() throws {
        let clock = ManualClock()
        let meter = TransferMeter(clock: clock)
        for start in [Int64(0), 30_000] {
            clock.advance(by: .seconds(60))
            meter.begin(at: start, total: 100_000)
            for second in 1...3 {
                clock.advance(by: .seconds(1))
                meter.record(10_000)
                #expect((meter.value.bytesPerSecond == nil) == (second < 2))
            }
            let rate = try #require(meter.value.bytesPerSecond)
            #expect(abs(rate - 10_000) < 1)
            meter.enter(.waiting(.seconds(1), after: Failure()))
            #expect(meter.value.bytesPerSecond == nil && meter.value.timeLeft == nil)
        }
    }

    @Test func theTimeLeftIsEstimated() throws {
        let clock = ManualClock()
        let meter = TransferMeter(clock: clock)
        meter.begin(at: 0, total: 100_000)
        for _ in 1...4 {
            clock.advance(by: .seconds(1))
            meter.record(10_000)
        }
        let left = try #require(meter.value.timeLeft)
        #expect(left > .milliseconds(5_990) && left < .milliseconds(6_010))
        #expect(meter.value.description == "transferring, 40000 of 100000 bytes (40 %), 10 kB/s, 6 s left")
    }

    @Test func readersGetAtMostTenStatesInASecond() async {
        let clock = ManualClock()
        let meter = TransferMeter(clock: clock)
        meter.begin(at: 0, total: nil)
        let begun = meter.value.progress.bytes
        for _ in 0..<99 {
            clock.advance(by: .milliseconds(1))
            meter.record(1)
        }
        #expect(begun == 0 && meter.value.progress.bytes == 0)
        clock.advance(by: .milliseconds(1))
        meter.record(1)
        #expect(meter.value.progress.bytes == 100)
        // A new phase is reported at once, with all bytes.
        meter.record(1)
        meter.enter(.paused)
        #expect(meter.value.progress.bytes == 101)
    }

    @Test(arguments: [TransferState.Phase.complete, .failed(Failure())]) func theStatesEndAfterAFinalPhase(_ phase: TransferState.Phase)
        async
    {
        let meter = TransferMeter(clock: ManualClock())
        let states = meter.states
        meter.enter(phase)
        var phases: [String] = []
        for await state in states { phases.append(state.phase.description) }
        #expect(phases.last == phase.description)
        // A later reader gets the final state too.
        var iterator = meter.states.makeAsyncIterator()
        #expect(await iterator.next()?.phase.isFinal == true)
        #expect(await iterator.next() == nil)
    }

    @Test func aSlowReaderGetsTheNewestState() async {
        let meter = TransferMeter(clock: ManualClock())
        var iterator = meter.states.makeAsyncIterator()
        for bytes in 1...1_000 { meter.set(Int64(bytes), total: nil) }
        var last: Int64 = 0
        repeat { last = await iterator.next()?.progress.bytes ?? -1 } while last == 0
        #expect(last == 1_000)
    }

    @Test(
        arguments: [
            (.idle, "idle"), (.connecting, "connecting"), (.transferring, "transferring"), (.paused, "paused"), (.verifying, "verifying"),
            (.waiting(.seconds(2), after: Failure()), "waiting 2 s after: broken"), (.complete, "complete"),
            (.failed(Failure()), "failed: broken"),
        ] as [(TransferState.Phase, String)])
    func eachPhaseHasAText(_ phase: TransferState.Phase, _ text: String) {
        #expect(phase.description == text)
        #expect(phase.isFinal == (text == "complete" || text.hasPrefix("failed")))
    }
}
