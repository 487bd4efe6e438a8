package import ErrandFormats

/// The rules by which values are encoded as JSON and decoded from JSON.
///
/// ```swift
/// let client = APIClient(stack, json: JSONCoding(dates: .secondsSince1970, keys: .snakeCase))
/// ```
///
/// A client's coding applies to the bodies of its calls, `error.json(as:)` of a ``StatusError``, and `response.json(as:)`. The
/// default is ``standard``. In tests, pass the client's coding to the stubs and mock servers too, because their default is ``standard``.
public struct JSONCoding: Sendable {
    /// The form in which a `Date` is written and read.
    public struct Dates: Sendable, CustomStringConvertible {
        fileprivate enum Form: Sendable {
            case iso8601(zone: TimeZone?)
            case seconds, milliseconds, deferred
            case pattern(DatePattern, zone: TimeZone)
            case custom(read: @Sendable (String) throws -> Date?, write: @Sendable (Date) throws -> String)
        }

        fileprivate let form: Form
        /// The name of the form, such as `iso8601`.
        public let description: String

        /// Text in the form of [RFC 3339, section 5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6), such as
        /// `2026-11-21T12:36:00Z`. Fractions of a second are accepted when a date is read, but are not written.
        ///
        /// The coding also reads `t` and `z`, a space instead of the `T`, and offsets such as `+0100` and `+01`. A date without a time zone
        /// is refused: see ``iso8601(assuming:)``. A nonexistent date, such as 30 February, is refused too. The seconds may be 60 only at
        /// the end of a month in UTC. A time with 60 seconds is read as the first second of the next month. A text of more than 128 bytes
        /// is refused.
        ///
        /// The calendar is the Gregorian calendar, also before 1582, so that a date is written as it was read. If a date
        /// is outside the years 0000 to 9999 in UTC, or is not a finite number, encoding the date throws an `EncodingError`.
        public static let iso8601 = Dates(form: .iso8601(zone: nil), description: "iso8601")

        /// Returns a form of dates: text as in ``iso8601``. If a text has no time zone, such as `2026-11-21T12:36:00`, the text is read
        /// as a date in `zone`.
        ///
        /// Dates are written with the time zone `Z`. If a change to winter time repeats an hour, a time in that hour is read as
        /// the second occurrence.
        ///
        /// ```swift
        /// let client = APIClient(stack, json: JSONCoding(dates: .iso8601(assuming: .gmt)))
        /// ```
        public static func iso8601(assuming zone: TimeZone) -> Dates {
            Dates(form: .iso8601(zone: zone), description: "iso8601 (\(zone.identifier) if a date has no time zone)")
        }

        /// A number of seconds since 1970.
        public static let secondsSince1970 = Dates(form: .seconds, description: "secondsSince1970")
        /// A number of milliseconds since 1970.
        public static let millisecondsSince1970 = Dates(form: .milliseconds, description: "millisecondsSince1970")
        /// A number of seconds since 2001, the default of Swift's coders. Few servers use this form.
        public static let secondsSince2001 = Dates(form: .deferred, description: "secondsSince2001")

        /// Returns a form of dates: text in a pattern of your own, with the letters of
        /// [Unicode's date patterns](https://www.unicode.org/reports/tr35/tr35-dates.html#Date_Field_Symbol_Table).
        ///
        /// ```swift
        /// JSONCoding(dates: .format("dd/MM/yyyy HH:mm:ss", in: .gmt))
        /// ```
        ///
        /// - Parameters:
        ///   - pattern: fields and other letters. Each of these fields may occur once: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, `S` to
        ///     `SSSSSSSSS` (the fraction of a second) and `XXX` (`Z` or `+01:00`). All other letters must be between single quotation
        ///     marks. A year, a month and a day are necessary. If the pattern has no time, the time is 00:00.
        ///   - zone: the time zone of a pattern without `XXX`. Default: UTC.
        /// - Precondition: `pattern` follows the rules above.
        public static func format(_ pattern: String, in zone: TimeZone = .gmt) -> Dates {
            do {
                return try Dates(form: .pattern(DatePattern(pattern), zone: zone), description: "format '\(pattern)'")
            } catch {
                preconditionFailure("the date format '\(pattern)' can't be used: \(error)")
            }
        }

        /// Returns a form of dates: text that your closures write and read.
        ///
        /// - Parameters:
        ///   - read: returns the date of a text; `nil` if the text is not a date. Called from many tasks at the same time.
        ///   - write: returns the text of a date. Called from many tasks at the same time.
        public static func custom(
            read: @escaping @Sendable (String) throws -> Date?, write: @escaping @Sendable (Date) throws -> String
        ) -> Dates { Dates(form: .custom(read: read, write: write), description: "custom") }
    }

    /// The form in which the names of properties are written and read.
    public enum Keys: Sendable {
        /// The members have the names of the properties.
        case asDeclared
        /// Member names in snake case: `user_name` for the property `userName`.
        ///
        /// In the names of properties, write acronyms as words: `imageUrl` is `image_url` in both directions. `imageURL` is written as
        /// `image_url`. On reading, `image_url` becomes `imageUrl`, which does not match `imageURL`. To keep the name `imageURL`, declare a
        /// coding key: `case imageURL = "imageUrl"`.
        case snakeCase
    }

    private enum Coders: Sendable {
        /// Coders that this type has created and never changes. Coders that never change are safe for concurrent calls.
        case shared(JSONEncoder, JSONDecoder)
        case made(encoder: @Sendable () -> JSONEncoder, decoder: @Sendable () -> JSONDecoder)
    }

    /// The storage is a class, because each request of a client carries the coding, and a reference is cheap to copy.
    private final class Storage: Sendable {
        let coders: Coders
        let description: String

        init(_ coders: Coders, _ description: String) { (self.coders, self.description) = (coders, description) }
    }

    private let storage: Storage

    /// An encoder with the settings of this coding. The encoder must not be changed, because all values share it.
    var encoder: JSONEncoder {
        switch storage.coders {
        case .shared(let encoder, _): encoder
        case .made(let make, _): make()
        }
    }

    private var decoder: JSONDecoder {
        switch storage.coders {
        case .shared(_, let decoder): decoder
        case .made(_, let make): make()
        }
    }

    private var isShared: Bool { if case .shared = storage.coders { true } else { false } }

    /// Creates a coding with one encoder and one decoder for all values.
    ///
    /// The names of members are written in sorted order, so equal values have equal bytes.
    ///
    /// - Parameters:
    ///   - dates: the form of dates. Default: ISO 8601.
    ///   - keys: the form of the members' names. Default: the names of the properties.
    public init(dates: Dates = .iso8601, keys: Keys = .asDeclared) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        if case .snakeCase = keys { encoder.keyEncodingStrategy = .convertToSnakeCase }
        encoder.dateEncodingStrategy = dates.encodingStrategy
        let decoder = JSONDecoder()
        if case .snakeCase = keys { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        decoder.dateDecodingStrategy = dates.decodingStrategy
        storage = Storage(.shared(encoder, decoder), "dates: \(dates), keys: \(keys)")
    }

    /// Creates a coding with coders of your own.
    ///
    /// ```swift
    /// JSONCoding(
    ///     encoder: { JSONEncoder() },
    ///     decoder: {
    ///         let decoder = JSONDecoder()
    ///         decoder.allowsJSON5 = true
    ///         return decoder
    ///     })
    /// ```
    ///
    /// Each closure is called for each value. A shared coder would be unsafe, because other code could change its settings.
    public init(encoder: @escaping @Sendable () -> JSONEncoder, decoder: @escaping @Sendable () -> JSONDecoder) {
        storage = Storage(.made(encoder: encoder, decoder: decoder), "coders of the app")
    }

    /// Dates in ISO 8601, and members with the names of the properties.
    public static let standard = JSONCoding()

    /// Returns the JSON of a value. The names of members are sorted. An encoder of your own may write the names in another order.
    ///
    /// Equal values have equal bytes. Recordings, `coalesce` and `curl` commands depend on equal bytes. A
    /// ``/ErrandFormats/JSONValue`` keeps all digits of its numbers.
    ///
    /// - Throws: `EncodingError`.
    public func encode<Value: Encodable>(_ value: Value) throws -> Data {
        if isShared, Value.self == JSONValue.self, let json = value as? JSONValue { return Data(json.bytes()) }
        return try encoder.encode(value)
    }

    /// Returns the value that `data` contains.
    ///
    /// - Throws: `DecodingError`. These texts are refused, in addition to the texts that the decoder refuses:
    ///   - Text that nests deeper than 128 levels (64 for a ``/ErrandFormats/JSONValue``), because recursive types need stack for
    ///     each level.
    ///   - A member's name that is longer than 256 bytes and not ASCII, or a string with more than 128 combining marks in a row. Long names
    ///     and runs of marks are slow to compare.
    ///   - Text that is not UTF-8 ([RFC 8259, section 8.1](https://www.rfc-editor.org/rfc/rfc8259#section-8.1)).
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        // A `JSONValue` is parsed directly, because the settings of the decoder have no effect on a `JSONValue`. A decoder would
        // be slow, because it would try each kind of value. The parser has its own checks.
        if isShared, type == JSONValue.self {
            do {
                if let value = try JSONValue(parsing: data) as? Value { return value }
            } catch {
                throw Self.corrupted(data.withUnsafeBytes { JSONDepth.problem(in: $0) } ?? Self.problem(error))
            }
        }
        if let problem = data.withUnsafeBytes({ JSONDepth.problem(in: $0) }) { throw Self.corrupted(problem) }
        return try decoder.decode(type, from: data)
    }

    /// Returns the name that the encoder writes for a property: `user_name` for `userName`, with ``Keys/snakeCase``.
    ///
    /// - Throws: any error that the app's own encoder throws.
    package func name(of key: any CodingKey) throws -> String {
        try JSONValue(parsing: encode(OneMember(key: key))).objectValue?.keys.first ?? key.stringValue
    }

    /// Returns the description of an error that concerns a body as a whole. The description contains no part of the text.
    package static func problem(_ error: JSONParsingError) -> String {
        "\(error.exceedsLimit ? tooLargeProblem : invalidProblem): \(error)"
    }

    /// The beginning of ``problem(_:)`` for a body that exceeds a limit of the parser.
    package static let tooLargeProblem = "the body is JSON that exceeds a limit"
    /// The beginning of ``problem(_:)`` for any other body.
    package static let invalidProblem = "the body is not valid JSON"

    private static func corrupted(_ message: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: message))
    }

}

extension JSONCoding.Dates {
    fileprivate var encodingStrategy: JSONEncoder.DateEncodingStrategy {
        switch form {
        case .iso8601: return .writing { $0.formattedISO8601 }
        case .seconds: return .secondsSince1970
        case .milliseconds: return .millisecondsSince1970
        case .deferred: return .deferredToDate
        case .pattern(let pattern, let zone):
            return .writing { date in
                let (seconds, nanoseconds) = date.secondsSince1970(in: pattern.hasOffset ? .gmt : zone)
                return pattern.text(seconds: seconds, nanoseconds: nanoseconds)
            }
        case .custom(_, let write): return .writing(write)
        }
    }

    fileprivate var decodingStrategy: JSONDecoder.DateDecodingStrategy {
        switch form {
        case .iso8601(let zone):
            return .custom { decoder in
                try Self.read(decoder, as: "a date as in RFC 3339", inPlaceOfNumber: "a date of the form \(description)") { text in
                    let date = try RFC3339Date(text, requiresTimeZone: zone == nil)
                    return Date(date).moved(from: date.hasTimeZone ? nil : zone)
                }
            }
        case .seconds: return .secondsSince1970
        case .milliseconds: return .millisecondsSince1970
        case .deferred: return .deferredToDate
        case .pattern(let pattern, let zone):
            return .custom { decoder in
                try Self.read(decoder, as: "a date of the \(description)") { text in
                    pattern.read(text).map {
                        Date(seconds: $0.seconds, nanoseconds: $0.nanoseconds).moved(from: pattern.hasOffset ? nil : zone)
                    }
                }
            }
        case .custom(let read, _):
            return .custom { decoder in try Self.read(decoder, as: "a date of the custom format in JSONCoding", read) }
        }
    }

    /// Returns the form that a number probably has. Numbers from 10¹¹ are milliseconds: 10¹¹ seconds after 1970 would be in the year
    /// 5138.
    private static func formOfNumber(_ number: Double) -> String {
        abs(number) < 100_000_000_000 ? ".secondsSince1970" : ".millisecondsSince1970"
    }

    /// Reads the text of a date. The error contains no part of the text.
    ///
    /// - Parameters:
    ///   - name: the expected form in words, for the errors.
    ///   - form: the expected form in words, for the error of a number; with `nil`, the default, this error shows `name`.
    private static func read(
        _ decoder: any Decoder, as name: String, inPlaceOfNumber form: String? = nil, _ read: (String) throws -> Date?
    ) throws -> Date {
        let container = try decoder.singleValueContainer()
        let text: String
        do {
            text = try container.decode(String.self)
        } catch DecodingError.typeMismatch(let type, let context) {
            guard let number = try? container.decode(Double.self) else { throw DecodingError.typeMismatch(type, context) }
            let problem = "not \(form ?? name), but a number; JSONCoding(dates: \(formOfNumber(number))) reads such numbers"
            throw DecodingError.dataCorrupted(.init(codingPath: container.codingPath, debugDescription: problem))
        }
        func refused(_ problem: String, _ error: (any Error)?) -> DecodingError {
            .dataCorrupted(.init(codingPath: container.codingPath, debugDescription: "not \(name)\(problem)", underlyingError: error))
        }
        do {
            if let date = try read(text) { return date }
        } catch let error as RFC3339Date.Problem {
            throw refused(": \(error)", error)
        } catch {
            throw refused("", error)
        }
        throw refused("", nil)
    }
}

extension JSONEncoder.DateEncodingStrategy {
    /// Returns a strategy that writes the text from `text`. If `text` returns `nil`, encoding throws an error.
    fileprivate static func writing(_ text: @escaping @Sendable (Date) throws -> String?) -> JSONEncoder.DateEncodingStrategy {
        .custom { date, encoder in
            var container = encoder.singleValueContainer()
            guard let text = try text(date) else {
                let problem = "a date in this form must have a year from 0000 to 9999"
                // The error shows the seconds, because describing some dates ends the process.
                let seconds = date.timeIntervalSince1970
                throw EncodingError.invalidValue(seconds, .init(codingPath: container.codingPath, debugDescription: problem))
            }
            try container.encode(text)
        }
    }
}

extension JSONCoding: CustomStringConvertible, HidesStorage {
    /// The settings: `dates: iso8601, keys: asDeclared`.
    public var description: String { storage.description }
}

extension Date {
    init(_ date: RFC3339Date) { self.init(seconds: date.secondsSinceEpoch, nanoseconds: date.nanoseconds) }

    fileprivate init(seconds: Int64, nanoseconds: Int) {
        // The seconds are counted from 2001, the reference date of `Date`. A count from 1970 leaves fewer bits for the
        // fraction.
        let seconds = Double(seconds) - Self.timeIntervalBetween1970AndReferenceDate
        self.init(timeIntervalSinceReferenceDate: seconds + Double(nanoseconds) / 1e9)
    }

    /// Returns the date whose clock time in `zone` is the clock time of this date in UTC. If `zone` is `nil`, returns this date.
    fileprivate func moved(from zone: TimeZone?) -> Date {
        guard let zone else { return self }
        let guess = addingTimeInterval(-Double(zone.secondsFromGMT(for: self)))
        return addingTimeInterval(-Double(zone.secondsFromGMT(for: guess)))
    }

    /// Returns the time in `zone` as seconds since 1970-01-01T00:00:00, and the remaining nanoseconds.
    func secondsSince1970(in zone: TimeZone) -> (seconds: Int64, nanoseconds: Int) {
        let whole = timeIntervalSinceReferenceDate.rounded(.down)
        guard abs(whole) < 1e12 else { return (.max, 0) }
        let seconds = Int64(whole) + Int64(Self.timeIntervalBetween1970AndReferenceDate) + Int64(zone.secondsFromGMT(for: self))
        return (seconds, Int((timeIntervalSinceReferenceDate - whole) * 1e9))
    }
}

/// An object with one member, used to find the name that an encoder writes for the member.
private struct OneMember: Encodable {
    let key: any CodingKey

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PlainKey.self)
        try container.encode(true, forKey: PlainKey(key.stringValue))
    }
}
