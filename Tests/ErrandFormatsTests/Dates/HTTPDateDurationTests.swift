import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPDateDurationTests {
    private func date(_ seconds: Int64) -> HTTPDate { HTTPDate(secondsSinceEpoch: seconds) }

    @Test(
        arguments: [
            (0, .seconds(5), 5), (5, .seconds(-7), -2), (7, .milliseconds(1_999), 8), (.max, .seconds(1), .max),
            (.min, .seconds(-1), .min), (.max, .seconds(Int64.min), -1), (0, .seconds(Int64.max), .max),
        ] as [(Int64, Duration, Int64)])
    func aDateIsAdvancedWithinItsRange(_ start: Int64, _ duration: Duration, _ end: Int64) {
        #expect(date(start).advanced(by: duration) == date(end))
    }

    @Test func theDurationBetweenTwoDatesHasASign() {
        #expect(date(3).duration(to: date(10)) == .seconds(7) && date(10).duration(to: date(3)) == .seconds(-7))
        #expect(date(.min).duration(to: date(.max)) > .seconds(Int64.max))
    }

    @Test func aDateIsLimitedToADurationAfterAnotherDate() {
        #expect(date(10).atMost(.seconds(5), after: date(3)) == date(8))
        #expect(date(7).atMost(.seconds(5), after: date(3)) == date(7))
        #expect(date(7).atMost(.seconds(5), after: date(.max)) == date(7))
    }
}
