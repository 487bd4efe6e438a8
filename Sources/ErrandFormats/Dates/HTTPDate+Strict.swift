extension HTTPDate {
    /// Reads a date by the grammar of [RFC 9110, section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7), octet by
    /// octet, in any of the three forms:
    ///
    /// - `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate)
    /// - `Sunday, 06-Nov-94 08:49:37 GMT` (obsolete, RFC 850)
    /// - `Sun Nov  6 08:49:37 1994` (obsolete, asctime)
    ///
    /// Uppercase and lowercase letters are different, a space must not be repeated, and each number must have all its digits.
    /// The name of the day must be valid, but is not compared with the date.
    ///
    /// Use this initializer for `Expires`. If the value of that field is not a date, the response has expired ([RFC 9111,
    /// section 5.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.3)).
    ///
    /// - Parameters:
    ///   - text: the field's value, without white space around it.
    ///   - now: the current date, to which a year of two digits is compared. If a year would be more than 50 years after `now`,
    ///     the year is in the previous century.
    /// - Returns: `nil` for any other text, and if the day or the time does not exist.
    public init?(strict text: some StringProtocol, now: HTTPDate) {
        // The longest form has 33 octets.
        guard text.utf8.count <= FieldLimits.shortValueBytes else { return nil }
        var reader = FieldReader(text)
        guard let name = reader.token() else { return nil }
        if Self.longWeekdays.contains(where: name.isExactly) {
            guard reader.take(", "), let day = reader.digits(2), reader.take("-"), let month = reader.month(), reader.take("-"),
                let year = reader.digits(2), reader.take(" "), let time = reader.time(), reader.take(" GMT"), reader.next == nil
            else { return nil }
            self.init(year: Self.fullYear(year, now: now), month: month, day: day, time: time)
            return
        }
        guard Self.weekdays.contains(where: name.isExactly) else { return nil }
        if reader.take(", ") {
            guard let day = reader.digits(2), reader.take(" "), let month = reader.month(), reader.take(" "), let year = reader.digits(4),
                reader.take(" "), let time = reader.time(), reader.take(" GMT"), reader.next == nil
            else { return nil }
            self.init(year: year, month: month, day: day, time: time)
        } else {
            guard reader.take(" "), let month = reader.month(), reader.take(" "),
                let day = reader.take(" ") ? reader.digits(1) : reader.digits(2),
                reader.take(" "), let time = reader.time(), reader.take(" "), let year = reader.digits(4), reader.next == nil
            else { return nil }
            self.init(year: year, month: month, day: day, time: time)
        }
    }

    private static let longWeekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
}

extension FieldReader {
    /// Reads the octets of `text`. Returns false and reads nothing if other octets follow.
    fileprivate mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Reads a number of exactly `count` digits; `nil` for fewer or more digits.
    fileprivate mutating func digits(_ count: Int) -> Int? {
        let start = position
        skip(\.isASCIIDigit)
        return position - start == count ? Int(text(start..<position)) : nil
    }

    /// Reads the name of a month. Returns the number of the month, from 1; `nil` if the name is unknown.
    fileprivate mutating func month() -> Int? {
        let start = position
        skip(\.isASCIILetter)
        return HTTPDate.months.firstIndex { text(start..<position).isExactly($0) }.map { $0 + 1 }
    }

    /// Reads a time of day, such as `08:49:37`.
    fileprivate mutating func time() -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = digits(2), take(":"), let minute = digits(2), take(":"), let second = digits(2) else { return nil }
        return (hour, minute, second)
    }
}
