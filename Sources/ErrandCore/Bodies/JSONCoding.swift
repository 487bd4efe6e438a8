internal import ErrandFormats

/// How values become JSON and back: dates, names of keys, or coders of your own.
///
/// ```swift
/// APIClient(stack, json: JSONCoding(dates: .iso8601, keys: .snakeCase))
/// ```
public struct JSONCoding: Sendable {
    public enum Dates: Sendable {
        /// Text as in RFC 3339, such as `2026-11-21T12:36:00Z`; fractions of a second are read, and not written.
        case iso8601
        /// Numbers, in seconds since 1970.
        case secondsSince1970
        /// Numbers, in milliseconds since 1970.
        case millisecondsSince1970
        /// As Swift's coders do by default: seconds since 2001. Rarely what a server means.
        case secondsSince2001
    }

    public enum Keys: Sendable {
        /// As the properties are called.
        case asDeclared
        /// `userName` is `user_name` in JSON.
        case snakeCase
    }

    private enum Coders: Sendable {
        /// Created here and never changed; safe for concurrent calls.
        case shared(JSONEncoder, JSONDecoder)
        case made(encoder: @Sendable () -> JSONEncoder, decoder: @Sendable () -> JSONDecoder)
    }

    private let coders: Coders

    private var encoder: JSONEncoder {
        switch coders {
        case .shared(let encoder, _): encoder
        case .made(let make, _): make()
        }
    }

    private var decoder: JSONDecoder {
        switch coders {
        case .shared(_, let decoder): decoder
        case .made(_, let make): make()
        }
    }

    /// One encoder and one decoder serve all calls.
    public init(dates: Dates = .iso8601, keys: Keys = .asDeclared) {
        let encoder = JSONEncoder()
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
        coders = .shared(encoder, decoder)
    }

    /// Coders with settings of your own. Each is made for one value, as somebody else may change its settings meanwhile.
    public init(encoder: @escaping @Sendable () -> JSONEncoder, decoder: @escaping @Sendable () -> JSONDecoder) {
        coders = .made(encoder: encoder, decoder: decoder)
    }

    /// ISO 8601 dates, keys as declared.
    public static let standard = JSONCoding()

    public func encode(_ value: some Encodable) throws -> Data { try encoder.encode(value) }

    /// The value that `data` hold.
    ///
    /// - Throws: `DecodingError`, also for text that nests deeper than 128 (a `JSONValue`: 64), as recursive types need stack for each level; for a
    ///   member's name that is longer than 256 bytes and not ASCII, which is slow to compare; and for text that is not UTF-8 (RFC 8259, 8.1).
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if let problem = data.withUnsafeBytes({ JSONDepth.problem(in: $0) }) { throw Self.corrupted(problem) }
        // By a parser that knows what comes next, where no setting of a decoder matters: asking a decoder for each kind in turn takes long.
        if case .shared = coders, type == JSONValue.self {
            do {
                if let value = try JSONValue(parsing: data) as? Value { return value }
            } catch {
                throw Self.corrupted("\(error)")
            }
        }
        return try decoder.decode(type, from: data)
    }

    private static func corrupted(_ message: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: message))
    }

    @Sendable private static func dateFromRFC3339(_ decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        for hasFraction in [false, true] {
            if let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction).parse(text) { return date }
        }
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date as in RFC 3339")
    }
}
