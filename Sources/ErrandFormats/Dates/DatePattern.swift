/// A format of dates, in the letters of the date field symbols of
/// [Unicode Technical Standard 35](https://www.unicode.org/reports/tr35/tr35-dates.html#Date_Field_Symbol_Table).
///
/// | Letters | Meaning |
/// |---|---|
/// | `yyyy`, `MM`, `dd` | year, month and day, with 4, 2 and 2 digits |
/// | `HH`, `mm`, `ss` | hour (00 to 23), minute and second, with 2 digits each |
/// | `S` to `SSSSSSSSS` | fraction of a second, with as many digits as letters |
/// | `XXX` | offset from UTC: `Z`, `+01:00` |
/// | `'T'` | the text between the quotation marks; `''` is one quotation mark |
///
/// Characters that are not letters, such as hyphens and spaces, must occur in the date unchanged. Other letters are refused. The pattern
/// must have a year, a month and a day. If the pattern has no time, the time is 00:00.
package struct DatePattern: Sendable {
    /// The problem of a pattern.
    package enum PatternProblem: Error, Sendable, Hashable, CustomStringConvertible {
        case unknownLetters(String), repeated(String), openQuotation, noDate

        package var description: String {
            switch self {
            case .unknownLetters(let letters): "'\(letters)' is not supported: use yyyy, MM, dd, HH, mm, ss, S and XXX"
            case .repeated(let letters): "'\(letters)' occurs twice"
            case .openQuotation: "a quotation mark is missing"
            case .noDate: "it needs yyyy, MM and dd"
            }
        }
    }

    private enum Field: Hashable {
        case year, month, day, hour, minute, second, fraction, offset

        private static let names: [String: Field] = [
            "yyyy": .year, "MM": .month, "dd": .day, "HH": .hour, "mm": .minute, "ss": .second, "XXX": .offset,
        ]

        /// Creates the field for a run of equal letters in a pattern; `nil` if the letters have no meaning.
        init?(_ letters: Substring) {
            if let field = Self.names[String(letters)] {
                self = field
            } else {
                guard letters.utf8.allSatisfy({ $0 == UInt8(ascii: "S") }), letters.utf8.count <= 9 else { return nil }
                self = .fraction
            }
        }
    }

    private enum Part {
        case field(Field, digits: Int)
        case literal([UInt8])
    }

    private let parts: [Part]
    /// Whether the text contains the offset from UTC.
    package let hasOffset: Bool

    package init(_ pattern: String) throws(PatternProblem) {
        var (parts, fields): ([Part], Set<Field>) = ([], [])
        var rest = pattern[...]
        while let first = rest.first {
            if first == "'" {  // octets: the pattern of the app
                rest = rest.dropFirst()
                guard let end = rest.firstIndex(of: "'") else { throw .openQuotation }  // octets: the pattern of the app
                let isEmpty = end == rest.startIndex
                parts.append(.literal(Array((isEmpty ? "'" : rest[..<end]).utf8)))
                rest = rest[rest.index(after: end)...]
                // Within quoted text, two quotation marks mean one quotation mark.
                if !isEmpty, rest.first == "'" { parts.append(.literal([UInt8(ascii: "'")])) }  // octets: the pattern of the app
            } else if first.isASCII, first.isLetter {
                let letters = rest.prefix { $0 == first }
                guard let field = Field(letters) else { throw .unknownLetters(String(letters)) }
                guard fields.insert(field).inserted else { throw .repeated(String(letters)) }
                parts.append(.field(field, digits: letters.count))
                rest = rest[letters.endIndex...]
            } else {
                parts.append(.literal(Array(String(first).utf8)))
                rest = rest.dropFirst()
            }
        }
        guard fields.isSuperset(of: [.year, .month, .day]) else { throw .noDate }
        self.parts = parts
        hasOffset = fields.contains(.offset)
    }

    /// Reads a date in this format. Text after the date is refused.
    ///
    /// - Returns: the seconds since 1970-01-01T00:00:00, and the nanoseconds after these seconds. If the pattern has an offset, the time is
    ///   in UTC. If the pattern has no offset, the time is in the time zone of the caller. `nil` for any other text, and if the day or the
    ///   time does not exist.
    package func read(_ text: String) -> (seconds: Int64, nanoseconds: Int)? {
        var rest = Array(text.utf8.prefix(FieldLimits.shortValueBytes + 1))[...]
        guard rest.count <= FieldLimits.shortValueBytes else { return nil }
        var values: [Field: Int] = [:]
        for part in parts {
            switch part {
            case .literal(let octets):
                guard rest.starts(with: octets) else { return nil }
                rest = rest.dropFirst(octets.count)
            case .field(.offset, _):
                guard let minutes = Self.offset(&rest) else { return nil }
                values[.offset] = minutes
            case .field(let field, let digits):
                guard let value = rest.popNumber(of: digits) else { return nil }
                values[field] = field == .fraction ? (digits..<9).reduce(value) { value, _ in value * 10 } : value
            }
        }
        guard rest.isEmpty, let year = values[.year], let month = values[.month], (1...12).contains(month), let day = values[.day],
            (1...CivilCalendar.length(ofMonth: month, year: year)).contains(day)
        else { return nil }
        let (hour, minute, second) = (values[.hour] ?? 0, values[.minute] ?? 0, values[.second] ?? 0)
        guard hour <= 23, minute <= 59, second <= 59 else { return nil }
        let minutes = CivilCalendar.days(year: year, month: month, day: day) * 1440 + hour * 60 + minute - (values[.offset] ?? 0)
        return (Int64(minutes) * 60 + Int64(second), values[.fraction] ?? 0)
    }

    /// Returns the text of a date.
    ///
    /// - Parameters:
    ///   - seconds: the seconds since 1970-01-01T00:00:00. If the pattern has an offset, the seconds are in UTC, and the offset
    ///     is written as `Z`.
    ///   - nanoseconds: the nanoseconds after `seconds`. If the pattern's fraction has fewer than nine digits, the further digits
    ///     are dropped.
    /// - Returns: `nil` for a year outside 0 to 9999.
    package func text(seconds: Int64, nanoseconds: Int) -> String? {
        let (days, time) = CivilCalendar.day(ofSecond: seconds)
        let (year, month, day) = CivilCalendar.date(ofDay: days)
        guard (0...9999).contains(year) else { return nil }
        var text = ""
        for part in parts {
            switch part {
            case .literal(let octets): text += String(decoding: octets, as: UTF8.self)
            case .field(let field, let digits):
                switch field {
                case .year: text += Self.padded(year, digits)
                case .month: text += Self.padded(month, digits)
                case .day: text += Self.padded(day, digits)
                case .hour: text += Self.padded(time / 3600, digits)
                case .minute: text += Self.padded(time / 60 % 60, digits)
                case .second: text += Self.padded(time % 60, digits)
                case .fraction: text += Self.padded(nanoseconds, 9).prefix(digits)
                case .offset: text += "Z"
                }
            }
        }
        return text
    }

    static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard let sign = rest.popFirst() else { return nil }
        if sign == UInt8(ascii: "Z") { return 0 }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), let hours = rest.popNumber(of: 2), hours <= 23,
            rest.popFirst() == UInt8(ascii: ":"), let minutes = rest.popNumber(of: 2), minutes <= 59
        else { return nil }
        return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
}
