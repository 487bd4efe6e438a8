import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct NumbersInWordsTests {
    @Test(
        arguments: [
            (.seconds(30), "30 s"), (.seconds(3600), "3600 s"), (.milliseconds(1500), "1.5 s"), (.milliseconds(250), "250 ms"),
            (.microseconds(200), "0.2 ms"), (.zero, "0 s"), (.nanoseconds(1), "0 ms"), (.seconds(-2), "-2 s"),
        ] as [(Duration, String)])
    func durations(_ duration: Duration, _ text: String) { #expect(duration.inWords == text) }

    @Test(arguments: [(0.5, "50 %"), (0.999, "99.9 %"), (1, "100 %"), (1.0 / 3, "33.333 %"), (0, "0 %")] as [(Double, String)])
    func shares(_ share: Double, _ text: String) { #expect(share.inPercent == text) }

    @Test func hugeDurationsAreShownAsWell() { #expect(Duration.seconds(Int64.max).inWords.hasSuffix(" s")) }
}
