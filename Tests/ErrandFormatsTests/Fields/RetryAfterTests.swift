import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct RetryAfterTests {
    private let now = HTTPDate(secondsSinceEpoch: 784_111_700)

    @Test(
        arguments: [
            ("0", 0), ("120", 120), (" 7\t", 7), ("007", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 77), ("Sunday, 06-Nov-94 08:49:37 GMT", 77),
            ("Sun Nov  6 08:49:37 1994", 77), ("Sun, 06 Nov 1994 08:40:00 GMT", 0), ("1099511627776", 1 << 40),
            ("9223372036854775807", 1 << 40),
            ("99999999999999999999999999", 1 << 40),
        ] as [(String, Int64)])
    func secondsAndDatesAreReadAsAWait(_ value: String, _ seconds: Int64) {
        #expect(RetryAfter.wait(value, date: nil, now: now) == .seconds(seconds))
    }

    @Test(arguments: ["", " ", "-1", "+1", "1.5", "1s", "soon", "0x10", "１", "1 2", "Sun, 06 Nov 1994"])
    func anInvalidValueIsNil(_ value: String) {
        #expect(RetryAfter.wait(value, date: nil, now: now) == nil)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:27 GMT", 10), ("Sun, 06 Nov 1994 08:50:00 GMT", 0), ("junk", 77), ("", 77),
        ] as [(String, Int64)])
    func theWaitCountsFromTheDateOfTheServer(_ date: String, _ seconds: Int64) {
        #expect(RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT", date: date, now: now) == .seconds(seconds))
        #expect(RetryAfter.wait("30", date: date, now: now) == .seconds(30))
    }
}
