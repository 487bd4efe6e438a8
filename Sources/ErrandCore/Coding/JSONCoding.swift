package import ErrandFormats

/// The rules for encoding values as JSON and for decoding JSON: dates, names of members, or coders of your own.
///
/// ```swift
/// let client = APIClient(stack, json: JSONCoding(dates: .secondsSince1970, keys: .snakeCase))
/// ```
///
/// All parts around a client use the same coding: the bodies of its calls, `error.json(as:)` of a ``StatusError``,
/// `response.json(as:)`, and the stubs and mock servers of its tests. The default is ``standard``.
public struct JSONCoding: Sendable {
    /// The form in which a `Date` is written and read.
    public enum Dates: Sendable {
        /// Text in the form of [RFC 3339, section 5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6), such as
        /// `2026-11-21T12:36:00Z`. Fractions of a second are read, and not written.
        ///
        /// These forms are read too: `t` and `z`, a space instead of the `T`, and offsets such as `+0100` and `+01`. A date
        /// without a time zone is refused, and so is a nonexistent date such as 30 February. A second of 60 is accepted only at
        /// the end of a month in UTC, and is read as the first second of the next month. At most 128 bytes are read.
        case iso8601
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A number of seconds since 2001, the default of Swift's coders. Few servers use this form.
        case secondsSince2001
    }

    /// The form in which the names of properties are written and read.
    public enum Keys: Sendable {
        /// The members have the names of the properties.
        case asDeclared
        /// The property `userName` is the member `user_name`.
        ///
        /// Name acronyms as words: `imageUrl` is `image_url` in both directions. `imageURL` is written as `image_url`. On
        /// reading, `image_url` becomes `imageUrl`, which does not match `imageURL`. To keep the name `imageURL`, declare a
        /// coding key: `case imageURL = "imageUrl"`.
        case snakeCase
    }

    private enum Coders: Sendable {
        /// Coders that this type has created and never changes. They are safe for concurrent calls.
        case shared(JSONEncoder, JSONDecoder)
        case made(encoder: @Sendable () -> JSONEncoder, decoder: @Sendable () -> JSONDecoder)
    }

    /// The storage, a class, because each request of a client carries the coding.
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
    ///   - dates: the form of dates; ISO 8601 by default.
    ///   - keys: the form of the members' names; by default, the names of the properties.
    public init(dates: Dates = .iso8601, keys: Keys = .asDeclared) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        if case .snakeCase = keys { encoder.keyEncodingStrategy = .convertToSnakeCase }
        encoder.dateEncodingStrategy =
            switch dates {
            case .iso8601: .iso8601
            case .secondsSince1970: .secondsSince1970
            case .millisecondsSince1970: .millisecondsSince1970
            case .secondsSince2001: .deferredToDate
            }
        let decoder = JSONDecoder()
        if case .snakeCase = keys { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        decoder.dateDecodingStrategy =
            switch dates {
            case .iso8601: .custom(Self.dateFromRFC3339)
            case .secondsSince1970: .secondsSince1970
            case .millisecondsSince1970: .millisecondsSince1970
            case .secondsSince2001: .deferredToDate
            }
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

    /// ISO 8601 dates, and members named as the properties.
    public static let standard = JSONCoding()

    /// Returns the JSON of a value. The names of members are sorted, unless the encoder is your own.
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
    /// - Throws: `DecodingError`. Besides the errors of the decoder, these texts are refused:
    ///   - Text that nests deeper than 128 levels (64 for a ``/ErrandFormats/JSONValue``), because recursive types need stack for
    ///     each level.
    ///   - Text that is slow to compare: a member's name that is longer than 256 bytes and not ASCII, or a string with more than
    ///     128 combining marks in a row.
    ///   - Text that is not UTF-8 ([RFC 8259, section 8.1](https://www.rfc-editor.org/rfc/rfc8259#section-8.1)).
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        // A `JSONValue` is parsed directly, because the settings of the decoder don't matter. With a decoder, trying each kind of
        // value in turn would be slow. The parser has its own checks.
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
    /// - Throws: any error of an encoder of the app.
    package func name(of key: any CodingKey) throws -> String {
        try JSONValue(parsing: encode(OneMember(key: key))).objectValue?.keys.first ?? key.stringValue
    }

    /// Returns the problem of a body as a whole. The problem contains no part of the text.
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

    @Sendable private static func dateFromRFC3339(_ decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do {
            return Date(try RFC3339Date(text))
        } catch {
            let message = "not a date as in RFC 3339: \(error)"
            throw DecodingError.dataCorrupted(.init(codingPath: container.codingPath, debugDescription: message, underlyingError: error))
        }
    }
}

extension JSONCoding: CustomStringConvertible, HidesStorage {
    /// The settings: `dates: iso8601, keys: asDeclared`.
    public var description: String { storage.description }
}

extension Date {
    init(_ date: RFC3339Date) {
        // The seconds are counted from 2001, the reference of `Date`. A count from 1970 would have fewer bits for the fraction.
        let seconds = Double(date.secondsSinceEpoch) - Self.timeIntervalBetween1970AndReferenceDate
        self.init(timeIntervalSinceReferenceDate: seconds + Double(date.nanoseconds) / 1e9)
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
