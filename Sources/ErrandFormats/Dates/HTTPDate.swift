/// A date and time in UTC, without fractions of a second, as in fields such as `Date`, `Expires` and `Retry-After` ([RFC 9110,
/// section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)).
///
/// ```swift
/// HTTPDate(secondsSinceEpoch: 784_111_777).description  // "Sun, 06 Nov 1994 08:49:37 GMT"
/// ```
public struct HTTPDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The seconds since 1970-01-01T00:00:00Z.
    public let secondsSinceEpoch: Int64

    /// Creates a date from the seconds since 1970-01-01T00:00:00Z.
    public init(secondsSinceEpoch: Int64) { self.secondsSinceEpoch = secondsSinceEpoch }

    /// Reads a date in any of the three forms; `nil` for any other text.
    ///
    /// - `Sun, 06 Nov 1994 08:49:37 GMT`
    /// - `Sunday, 06-Nov-94 08:49:37 GMT` (obsolete)
    /// - `Sun Nov  6 08:49:37 1994` (obsolete)
    ///
    /// The reading is lenient. The name of the day is not checked, commas and spaces may be missing or repeated, and the day may have
    /// one digit. ``init(strict:now:)`` reads only dates that follow the grammar. ``init(cookieDate:)`` reads the dates of cookies.
    ///
    /// - Parameters:
    ///   - text: the field's value.
    ///   - now: the current date, to which a year of two digits is compared. If a year would be more than 50 years after `now`,
    ///     the year is in the previous century ([RFC 9110, section
    ///     5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)).
    public init?(_ text: some StringProtocol, now: HTTPDate) {
        // The longest form has 33 octets; further octets can only be spaces.
        guard text.utf8.count <= FieldLimits.shortValueBytes else { return nil }
        let words = Substring(text).utf8.split { $0 == 0x20 || $0 == UInt8(ascii: ",") }.map { String(Substring($0)) }
        let fields: (day: String, month: String, year: String, time: String)
        switch words.count {
        case 6 where words[5].isExactly("GMT"): fields = (words[1], words[2], words[3], words[4])
        case 4 where words[3].isExactly("GMT"):
            let date = words[1].split(atOctet: UInt8(ascii: "-"), omittingEmptyPieces: false).map(String.init)
            guard date.count == 3, date[2].utf8.count == 2 else { return nil }
            fields = (date[0], date[1], date[2], words[2])
        case 5: fields = (words[2], words[1], words[4], words[3])
        default: return nil
        }
        guard let month = Self.months.firstIndex(of: fields.month), let day = Self.number(fields.day, digits: 1...2),
            var year = Self.number(fields.year, digits: 2...4), fields.year.utf8.count != 3
        else { return nil }
        let time = fields.time.split(atOctet: UInt8(ascii: ":"), omittingEmptyPieces: false).map { Self.number(String($0), digits: 2...2) }
        guard time.count == 3, let hour = time[0], let minute = time[1], let second = time[2] else { return nil }
        if fields.year.utf8.count == 2 { year = Self.fullYear(year, now: now) }
        self.init(year: year, month: month + 1, day: day, time: (hour, minute, second))
    }

    /// Creates a date from its parts; `nil` if the day or the time does not exist. The second 60 is a leap second, and is treated
    /// as the first second of the next minute.
    init?(year: Int, month: Int, day: Int, time: (hour: Int, minute: Int, second: Int)) {
        guard (1...CivilCalendar.length(ofMonth: month, year: year)).contains(day), time.hour < 24, time.minute < 60, time.second <= 60
        else { return nil }
        let days = CivilCalendar.days(year: year, month: month, day: day)
        secondsSinceEpoch = Int64(days) * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
    }

    /// Returns the year with these last two digits that is at most 50 years after `now`
    /// ([RFC 9110, section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)).
    static func fullYear(_ digits: Int, now: HTTPDate) -> Int {
        let current = CivilCalendar.date(ofDay: CivilCalendar.day(ofSecond: now.secondsSinceEpoch).days).year
        let year = digits + current - current % 100
        return year > current + 50 ? year - 100 : year
    }

    /// Returns whether the first date is earlier than the second date.
    public static func < (first: HTTPDate, second: HTTPDate) -> Bool { first.secondsSinceEpoch < second.secondsSinceEpoch }

    /// The date as it is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let days = CivilCalendar.day(ofSecond: secondsSinceEpoch).days
        let (year, month, day) = CivilCalendar.date(ofDay: days)
        let weekday = Self.weekdays[Int((days % 7 + 7 + 4) % 7)]
        return "\(weekday), \(Self.two(day)) \(Self.months[month - 1]) \(DatePattern.padded(year, 4)) \(time(separator: ":")) GMT"
    }

    /// The date in the basic format of ISO 8601, as in signatures: `19941106T084937Z`.
    package var basicISO8601: String {
        let (year, month, day) = CivilCalendar.date(ofDay: CivilCalendar.day(ofSecond: secondsSinceEpoch).days)
        return DatePattern.padded(year, 4) + Self.two(month) + Self.two(day) + "T" + time(separator: "") + "Z"
    }

    private func time(separator: String) -> String {
        let rest = CivilCalendar.day(ofSecond: secondsSinceEpoch).second
        return [rest / 3600, rest / 60 % 60, rest % 60].map { Self.two($0) }.joined(separator: separator)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    private static func number(_ text: String, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text)
    }
}
