/// Any JSON value (RFC 8259), nested at most ``depthLimit`` deep where it is decoded.
public enum JSONValue: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    /// Whole numbers beyond 2^53 lose digits.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: `DecodingError`, also for what nests deeper than ``depthLimit``.
    public init(from decoder: any Decoder) throws {
        let depth = decoder.codingPath.count
        func tooDeep() -> DecodingError {
            .dataCorrupted(
                .init(codingPath: Array(decoder.codingPath.prefix(8)), debugDescription: "nested deeper than \(Self.depthLimit)"))
        }
        guard depth <= Self.depthLimit else { throw tooDeep() }
        let container = try decoder.singleValueContainer()
        // A decoder does not say what comes next: what is asked in vain costs an error, which holds the coding path. The path is short.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if depth == Self.depthLimit {
            throw tooDeep()  // what is left is a container
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Whether every member and element that `self` names is in `other` with the same value. Objects may have more members;
    /// arrays have the same length.
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

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// The last of several members with one name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
