import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferRateTests {
    @Test func aSteadyRateIsMeasured() throws {
        var rate = TransferRate()
        rate.record(0, at: .zero)
        for tenth in 1...50 {
            rate.record(1_000, at: .milliseconds(100 * tenth))
            let measured = rate.bytesPerSecond(at: .milliseconds(100 * tenth))
            #expect((measured == nil) == (tenth < 20))
        }
        let measured = try #require(rate.bytesPerSecond(at: .seconds(5)))
        #expect(abs(measured - 10_000) < 1)
    }

    @Test func aChangedRateIsFollowedInSeconds() throws {
        var rate = TransferRate()
        rate.record(0, at: .zero)
        for second in 1...10 { rate.record(10_000, at: .seconds(second)) }
        for second in 11...15 { rate.record(0, at: .seconds(second)) }
        let measured = try #require(rate.bytesPerSecond(at: .seconds(15)))
        // After one time constant, 1/e of the old rate is left.
        #expect(abs(measured - 3_679) < 10)
    }

    @Test(
        arguments: [
            (0, "0 B/s"), (999, "999 B/s"), (1_000, "1.0 kB/s"), (1_240, "1.2 kB/s"), (34_000_000, "34 MB/s"), (2.5e9, "2.5 GB/s"),
            (-1, "0 B/s"),
        ] as [(Double, String)])
    func aRateInWords(_ rate: Double, _ words: String) { #expect(TransferRate.inWords(rate) == words) }
}
