/// Any JSON value ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)).
///
/// ```swift
/// let json = try await client.json("/users/7")
/// json.user.name.stringValue              // String?: nil if a member is missing or has another type
/// json["scores"][0].doubleValue           // Double?
/// json[at: "/user/tags/0"]?.stringValue   // by a JSONPointer: nil if there is nothing
/// if json["address"].isNull { … }         // missing, or null
/// print(json)                             // {"scores":[1.5],"user":{"name":"Ada"}}
/// ```
///
/// A subscript never fails. A missing member is ``null``, and every member of a missing member is ``null``. A getter returns `nil`
/// for a value of another type. No value is converted.
///
/// Values are written as literals:
///
/// ```swift
/// let body: JSONValue = ["name": "Ada", "age": 36, "tags": ["x", "y"], "address": nil]
/// ```
///
/// For variables, use ``init(_:)-(String)`` and the other initializers without a label:
/// `["name": JSONValue(name), "age": JSONValue(age)]`.
///
/// A decoded value nests at most ``depthLimit`` levels deep, counted from the outermost value of the body. The depth of a value that is
/// made in code is not checked. Keep a value that is made in code within ``depthLimit`` too, because descriptions, comparisons and encoding
/// use stack for each level.
///
/// A property of the type `JSONValue` in a `Decodable` type is ``null`` if its member is missing.
@dynamicMemberLookup
public enum JSONValue: Sendable, Hashable, Codable {
    /// `null`, or a value that is missing.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, with all its digits.
    case number(JSONNumber)
    /// A text.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. The members have no order. If several members have the same name, the last member is used. In a `Decodable` type, Swift's
    /// decoder uses the first member.
    ///
    /// Swift's comparison of texts decides whether names are equal. An `é` may be one code point, or an `e` with a
    /// combining accent. In a ``JSONValue``, both spellings are the same name. In JSON, the spellings are two names ([RFC 8259, section
    /// 8.3](https://www.rfc-editor.org/rfc/rfc8259#section-8.3)).
    case object([String: JSONValue])

    /// Creates a text.
    public init(_ text: String) { self = .string(text) }
    /// Creates a whole number.
    public init(_ number: some BinaryInteger) { self = .number(JSONNumber(number)) }
    /// Creates a number with all its digits.
    public init(_ number: JSONNumber) { self = .number(number) }
    /// Creates `true` or `false`.
    public init(_ value: Bool) { self = .bool(value) }
    /// Creates the number whose text is the printed form of a `Double`; `nil` for infinity and NaN, which JSON can't represent.
    public init?(exactly number: Double) {
        guard let number = JSONNumber(exactly: number) else { return nil }
        self = .number(number)
    }
    /// Creates an array.
    public init(_ elements: [JSONValue]) { self = .array(elements) }
    /// Creates an object.
    public init(_ members: [String: JSONValue]) { self = .object(members) }

    /// Decodes any JSON value.
    ///
    /// - Throws: `DecodingError` if a value can't be decoded, or if a value nests deeper than ``depthLimit``.
    public init(from decoder: any Decoder) throws {
        let depth = decoder.codingPath.count
        func tooDeep() -> DecodingError {
            .dataCorrupted(
                .init(codingPath: Array(decoder.codingPath.prefix(8)), debugDescription: "nested deeper than \(Self.depthLimit)"))
        }
        guard depth <= Self.depthLimit else { throw tooDeep() }
        let container = try decoder.singleValueContainer()
        // A decoder does not report the type of the next value. Therefore each type is tried in sequence. A failed attempt to
        // decode creates an error that contains the coding path, but the path is short.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self), let number = Self.number(value, in: container) {
            self = .number(number)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if depth == Self.depthLimit {
            throw tooDeep()  // the value can only be a container
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            do {
                self = .object(try container.decode([String: JSONValue].self))
            } catch DecodingError.typeMismatch {
                // All other types were tried, so the value is a number. The problem of a nested value is a `dataCorrupted` error,
                // which this `catch` does not match.
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "a number out of the range of Double")
            }
        }
    }

    /// Returns the number in `container`. `value` is the `Double` that is nearest to this number.
    private static func number(_ value: Double, in container: any SingleValueDecodingContainer) -> JSONNumber? {
        // Up to 2^53, a `Double` can represent every whole number. Beyond 2^53, the value is decoded again as an integer, so that the
        // integer keeps its digits.
        if value.magnitude >= 0x1p53 {
            if let integer = try? container.decode(Int64.self) { return JSONNumber(integer) }
            if let integer = try? container.decode(UInt64.self) { return JSONNumber(integer) }
        }
        return JSONNumber(exactly: value)
    }

    /// Encodes the value.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let number):
            switch number.codedValue {
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .double(let value):
                // Zero is a whole number, and is encoded as an integer. Therefore, a `Double` of zero means that the number is too small.
                guard value != 0 else {
                    let text = "a number that is too small for a Double"
                    throw EncodingError.invalidValue(number, .init(codingPath: encoder.codingPath, debugDescription: text))
                }
                try container.encode(value)
            }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Returns whether `other` contains every member and element of this value, with equal values.
    ///
    /// Objects in `other` may have additional members. Arrays must have the same length in both values.
    public func isSubset(of other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let wanted), .object(let found)):
            wanted.allSatisfy { name, value in found[name].map(value.isSubset(of:)) ?? false }
        case (.array(let wanted), .array(let found)):
            wanted.count == found.count && zip(wanted, found).allSatisfy { $0.isSubset(of: $1) }
        default: self == other
        }
    }
}

extension KeyedDecodingContainer {
    /// Decodes the JSON value of a member; ``JSONValue/null`` if the member is missing.
    ///
    /// Synthesized `Decodable` conformances call this method for each property of the type ``JSONValue``.
    public func decode(_ type: JSONValue.Type, forKey key: Key) throws -> JSONValue { try decodeIfPresent(type, forKey: key) ?? .null }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// ``null``.
    public init(nilLiteral: ()) { self = .null }
    /// ``bool(_:)``.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// ``number(_:)``.
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    /// ``number(_:)``.
    ///
    /// - Precondition: `value` is finite.
    public init(floatLiteral value: Double) { self = .number(JSONNumber(floatLiteral: value)) }
    /// ``string(_:)``.
    public init(stringLiteral value: String) { self = .string(value) }
    /// ``array(_:)``.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// ``object(_:)``. If several members have the same name, the last member is used.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
