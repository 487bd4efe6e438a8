/// An instant as in [RFC 3339, section 5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6): `2026-11-21T12:36:00Z`.
///
/// The letters may be lower case, and a space may replace the `T`. An offset may lack its colon (`+0100`) or its minutes (`+01`),
/// as some servers write it. `-00:00` is UTC. A fraction may have more than nine digits: the digits after the ninth digit must be
/// valid, and are dropped. The whole text has at most 128 bytes.
///
/// A date is refused if its day does not exist, if its hour is 24, or if text follows the date. A second of 60 is treated as the
/// first second of the next month. A second of 60 is accepted only in the last minute of a month in UTC ([RFC 3339, section
/// 5.7](https://www.rfc-editor.org/rfc/rfc3339#section-5.7)).
package struct RFC3339Date: Sendable, Hashable {
    /// The problem of a date, without any part of the text.
    package enum Problem: Error, Sendable, Hashable, CustomStringConvertible {
        case form, tooLong, missingTime, missingTimeZone, invalidTimeZone, noSuchMonth, noSuchDay, noSuchTime, noSuchLeapSecond

        package var description: String {
            switch self {
            case .form: "it does not have the form YYYY-MM-DDThh:mm:ssZ"
            case .tooLong: "it is longer than \(FieldLimits.shortValueBytes) bytes"
            case .missingTime: "it has no time"
            case .missingTimeZone: "it has no time zone"
            case .invalidTimeZone: "its time zone is invalid"
            case .noSuchMonth: "its month does not exist"
            case .noSuchDay: "its day does not exist"
            case .noSuchTime: "its time does not exist"
            case .noSuchLeapSecond: "its second is 60, but no leap second is possible at this time"
            }
        }
    }

    /// The seconds since 1970-01-01T00:00:00Z, rounded down.
    package let secondsSinceEpoch: Int64
    /// The nanoseconds after ``secondsSinceEpoch``: 0 to 999,999,999.
    package let nanoseconds: Int

    /// Whether the text has a time zone. Without a time zone, ``secondsSinceEpoch`` is the time in an unknown zone.
    package let hasTimeZone: Bool

    /// Returns the text of an instant in UTC, without a fraction: `2026-11-21T12:36:00Z`. The calendar is the Gregorian calendar, also
    /// before 1582.
    ///
    /// - Parameter seconds: the seconds since 1970-01-01T00:00:00Z.
    /// - Returns: `nil` for a year outside 0 to 9999, because RFC 3339 has no text for such a year.
    package static func text(secondsSinceEpoch seconds: Int64) -> String? {
        let (days, time) = CivilCalendar.day(ofSecond: seconds)
        let (year, month, day) = CivilCalendar.date(ofDay: days)
        guard (0...9999).contains(year) else { return nil }
        func two(_ number: Int) -> String { DatePattern.padded(number, 2) }
        let date = "\(DatePattern.padded(year, 4))-\(two(month))-\(two(day))"
        return date + "T\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))Z"
    }

    /// Reads a date of at most 128 bytes, in the years 0000 to 9999.
    ///
    /// - Parameter requiresTimeZone: whether a date without a time zone is refused.
    package init(_ text: some StringProtocol, requiresTimeZone: Bool = true) throws(Problem) {
        guard text.utf8.count <= FieldLimits.shortValueBytes else { throw .tooLong }
        var reader = Reader(text)
        let (year, month, day) = try reader.date()
        if reader.isAtEnd { throw .missingTime }
        guard reader.skip("Tt ") else { throw .form }
        let (hour, minute, second) = try reader.time()
        nanoseconds = try reader.fraction()
        hasTimeZone = !reader.isAtEnd
        if !hasTimeZone, requiresTimeZone { throw .missingTimeZone }
        let offset = hasTimeZone ? try reader.offset() : 0
        guard (1...12).contains(month) else { throw .noSuchMonth }
        guard (1...CivilCalendar.length(ofMonth: month, year: year)).contains(day) else { throw .noSuchDay }
        guard hour <= 23, minute <= 59, second <= 60 else { throw .noSuchTime }
        let minutes = CivilCalendar.days(year: year, month: month, day: day) * 1440 + hour * 60 + minute - offset
        // A leap second is valid only if the next minute begins a month.
        if second == 60, (minutes + 1) % 1440 != 0 || CivilCalendar.date(ofDay: Int64((minutes + 1) / 1440)).day != 1 {
            throw .noSuchLeapSecond
        }
        secondsSinceEpoch = Int64(minutes) * 60 + Int64(second)
    }

    private struct Reader {
        private var rest: ArraySlice<UInt8>

        init(_ text: some StringProtocol) { rest = Array(text.utf8)[...] }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func date() throws(Problem) -> (year: Int, month: Int, day: Int) {
            guard let year = rest.popNumber(of: 4), skip("-"), let month = rest.popNumber(of: 2), skip("-"), let day = rest.popNumber(of: 2)
            else { throw .form }
            return (year, month, day)
        }

        mutating func time() throws(Problem) -> (hour: Int, minute: Int, second: Int) {
            guard let hour = rest.popNumber(of: 2), skip(":"), let minute = rest.popNumber(of: 2), skip(":"),
                let second = rest.popNumber(of: 2)
            else { throw .form }
            return (hour, minute, second)
        }

        /// Reads the fraction of a second, and returns it in nanoseconds; 0 if there is no fraction.
        mutating func fraction() throws(Problem) -> Int {
            guard skip(".") else { return 0 }
            let digits = rest.prefix(while: \.isASCIIDigit)
            guard !digits.isEmpty else { throw .form }
            rest = rest[digits.endIndex...]
            return (0..<9).reduce(0) { sum, place in sum * 10 + (place < digits.count ? Int(digits[digits.startIndex + place] - 0x30) : 0) }
        }

        /// Reads the offset from UTC, and returns it in minutes. Refuses text after the offset.
        mutating func offset() throws(Problem) -> Int {
            if skip("Zz") {
                guard isAtEnd else { throw .invalidTimeZone }
                return 0
            }
            let isWest = rest.first == UInt8(ascii: "-")
            guard skip("+-"), let hours = rest.popNumber(of: 2), hours <= 23 else { throw .invalidTimeZone }
            if isAtEnd { return isWest ? -hours * 60 : hours * 60 }
            _ = skip(":")
            guard let minutes = rest.popNumber(of: 2), minutes <= 59, isAtEnd else { throw .invalidTimeZone }
            return (hours * 60 + minutes) * (isWest ? -1 : 1)
        }

        /// Skips the next byte if `choice` contains the byte. Returns whether a byte was skipped.
        mutating func skip(_ choice: StaticString) -> Bool {
            guard let first = rest.first, choice.withUTF8Buffer({ $0.contains(first) }) else { return false }
            rest = rest.dropFirst()
            return true
        }
    }
}
