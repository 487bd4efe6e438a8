import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct NumbersInWordsTests {
    @Test(
        arguments: [
            (.seconds(30), "30 s"), (.seconds(60), "1 min"), (.seconds(90), "90 s"), (.seconds(120), "2 min"), (.seconds(3600), "1 h"),
            (.seconds(5400), "90 min"), (.seconds(3601), "3601 s"), (.milliseconds(1500), "1.5 s"), (.microseconds(1_234_567), "1.235 s"),
            (.milliseconds(250), "250 ms"), (.microseconds(12_345), "12 ms"), (.microseconds(2_345), "2.345 ms"),
            (.microseconds(999_499), "999 ms"), (.microseconds(999_500), "1 s"), (.microseconds(59_999_600), "1 min"),
            (.microseconds(9_999), "9.999 ms"), (.nanoseconds(9_999_900), "10 ms"), (.microseconds(200), "0.2 ms"), (.zero, "0 s"),
            (.nanoseconds(1), "1 ns"), (.nanoseconds(499), "499 ns"), (.nanoseconds(-20), "-20 ns"), (.nanoseconds(999), "999 ns"),
            (.microseconds(1), "0.001 ms"), (Duration(secondsComponent: 0, attosecondsComponent: 999_600_000_000), "0.001 ms"),
            (Duration(secondsComponent: 0, attosecondsComponent: 1), "<1 ns"),
            (.seconds(-2), "-2 s"), (.milliseconds(-20), "-20 ms"), (.seconds(-120), "-2 min"),
        ] as [(Duration, String)])
    func durationsHaveFittingUnits(_ duration: Duration, _ text: String) { #expect(duration.inWords == text) }

    @Test(
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1000, "1000 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1025, "1025 bytes"),
            (1536, "1536 bytes"), (65_536, "64 KiB"), (16_777_216, "16 MiB"), (268_435_456, "256 MiB"), (268_436_480, "262145 KiB"),
            (1 << 30, "1 GiB"), (50_000_000, "50000000 bytes"), (.max, "9223372036854775807 bytes"),
        ] as [(Int64, String)])
    func bytesHaveFittingUnits(_ bytes: Int64, _ text: String) { #expect(bytes.bytesInWords == text) }

    @Test(arguments: [(0.5, "50 %"), (0.999, "99.9 %"), (1, "100 %"), (1.0 / 3, "33.333 %"), (0, "0 %")] as [(Double, String)])
    func sharesAreShownInPercent(_ share: Double, _ text: String) { #expect(share.inPercent == text) }

    @Test(arguments: [(1, "1 retry"), (0.9999, "1 retry"), (0, "0 retries"), (2.5, "2.5 retries"), (5, "5 retries")] as [(Double, String)])
    func countsHaveANoun(_ number: Double, _ text: String) { #expect(number.counted("retry", "retries") == text) }

    @Test func publicCountsHaveANoun() {
        #expect(SafeText.counted(1, "retry", "retries") == "1 retry" && SafeText.counted(3, "byte") == "3 bytes")
    }

    @Test func hugeDurationsAreShown() { #expect(Duration.seconds(Int64.max).inWords.hasSuffix(" s")) }
}
