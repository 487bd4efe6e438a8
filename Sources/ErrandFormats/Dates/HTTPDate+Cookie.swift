extension HTTPDate {
    /// Reads the date of a cookie, as in the attribute `Expires` of a `Set-Cookie` field
    /// ([RFC 6265, section 5.1.1](https://www.rfc-editor.org/rfc/rfc6265#section-5.1.1)). The text has a time, a day, a month and a
    /// year in any order.
    ///
    /// ```swift
    /// HTTPDate(cookieDate: "Wed Dec 12 2007 08:44:07 GMT-0500 (EST)")     // Wed, 12 Dec 2007 08:44:07 GMT
    /// ```
    ///
    /// All other parts of the text are ignored, time zones included. The time is in UTC. A year of two digits is from 1970 to 2069. Leap
    /// seconds are not supported.
    ///
    /// - Parameter text: the value of the attribute, of any length.
    /// - Returns: `nil` if a part is missing, if the day or the time does not exist, and for a year before 1601.
    public init?(cookieDate text: some StringProtocol) {
        var time: (hour: Int, minute: Int, second: Int)?
        var (day, month, year): (Int?, Int?, Int?)
        for token in Substring(text).utf8.split(whereSeparator: \.isCookieDateDelimiter) {
            if time == nil, let found = Self.cookieTime(token) {
                time = found
            } else if day == nil, let found = Self.leadingNumber(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.cookieMonth(token) {
                month = found
            } else if year == nil, let found = Self.leadingNumber(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, time.second < 60, let day, let month, var year else { return nil }
        switch year {
        case 0...69: year += 2000
        case 70...99: year += 1900
        default: break
        }
        guard year >= 1601 else { return nil }
        self.init(year: year, month: month, day: day, time: time)
    }

    /// Returns the number at the front of a token; `nil` if its number of digits is not in `digits`.
    private static func leadingNumber(_ token: Substring.UTF8View.SubSequence, digits: ClosedRange<Int>) -> Int? {
        let number = token.prefix(digits.upperBound + 1).prefix(while: \.isASCIIDigit)
        guard digits.contains(number.count) else { return nil }
        return number.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func cookieTime(_ token: Substring.UTF8View.SubSequence) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        // Only the last part, the second, may have other octets after its digits.
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2, parts[0].allSatisfy(\.isASCIIDigit),
            parts[1].allSatisfy(\.isASCIIDigit), let hour = leadingNumber(parts[0], digits: 1...2),
            let minute = leadingNumber(parts[1], digits: 1...2), let second = leadingNumber(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func cookieMonth(_ token: Substring.UTF8View.SubSequence) -> Int? {
        let name = token.prefix(3).map(\.asciiLowercased)
        return months.firstIndex { $0.utf8.map(\.asciiLowercased) == name }.map { $0 + 1 }
    }
}

extension UInt8 {
    /// Whether the octet is a `delimiter` of [RFC 6265, section 5.1.1](https://www.rfc-editor.org/rfc/rfc6265#section-5.1.1).
    fileprivate var isCookieDateDelimiter: Bool {
        switch self {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}
