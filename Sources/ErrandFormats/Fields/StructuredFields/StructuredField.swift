/// A bare item of a structured field (RFC 9651, 3.3).
///
/// What a case can't hold by the RFC is refused when it is serialised; what was parsed is always sound.
public enum StructuredBareItem: Sendable, Hashable {
    /// At most 15 digits.
    case integer(Int64)
    /// At most 12 digits before the point. Serialised with three behind it, a half rounded to the even side.
    case decimal(Double)
    /// Printable ASCII.
    case string(String)
    /// A letter or `*`, then token characters, `:` and `/`.
    case token(String)
    case byteSequence([UInt8])
    case boolean(Bool)
    /// At most 15 digits; beyond the years 1 to 9999 others may not read it.
    case date(secondsSinceEpoch: Int64)
    /// Any text. It is meant for people, and may hold what looks like something else: not for comparing.
    case displayString(String)

    /// The value of an integer; nil for anything else.
    public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value of a decimal or an integer; nil for anything else.
    public var numberValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .decimal(let value): value
        default: nil
        }
    }
    /// The value of a string; nil for anything else, a token as well.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of a token; nil for anything else, a string as well.
    public var tokenValue: String? { if case .token(let value) = self { value } else { nil } }
    /// The value of a boolean; nil for anything else.
    public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The value of a byte sequence; nil for anything else.
    public var byteSequenceValue: [UInt8]? { if case .byteSequence(let value) = self { value } else { nil } }
}

extension StructuredBareItem: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByBooleanLiteral
{
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .decimal(value) }
    /// A string, never a token.
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// Parameters of an item or of an inner list, in order (RFC 9651, 3.1.2).
public typealias StructuredParameters = StructuredPairs<StructuredBareItem>

/// An item (RFC 9651, 3.3): a bare item and its parameters.
public struct StructuredItem: Sendable, Hashable {
    public var value: StructuredBareItem
    public var parameters: StructuredParameters

    public init(_ value: StructuredBareItem, parameters: StructuredParameters = [:]) { (self.value, self.parameters) = (value, parameters) }

    /// Reads the value of a field that is an item.
    ///
    /// - Parameter text: all the field's lines, joined by `, `, as a lookup by name gives them.
    /// - Throws: ``StructuredFieldError``. Nothing is repaired: a field is right as a whole, or it is none (RFC 9651, 4.2).
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        var parser = StructuredFieldParser(text)
        self = try parser.item()
        try parser.end()
    }

    /// The field's value (RFC 9651, 4.1).
    ///
    /// - Throws: ``StructuredFieldError`` for a value that can't be written.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.write(self)
        return writer.text
    }
}

/// An inner list (RFC 9651, 3.1.1): items between parentheses, and the parameters of the whole.
public struct StructuredInnerList: Sendable, Hashable {
    public var items: [StructuredItem]
    public var parameters: StructuredParameters

    public init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) { (self.items, self.parameters) = (items, parameters) }
}

/// A member of a list or a dictionary.
public enum StructuredMember: Sendable, Hashable {
    case item(StructuredItem)
    case innerList(StructuredInnerList)

    /// The item; nil for an inner list.
    public var item: StructuredItem? { if case .item(let item) = self { item } else { nil } }
    /// The inner list; nil for an item.
    public var innerList: StructuredInnerList? { if case .innerList(let list) = self { list } else { nil } }
    /// The member's parameters.
    public var parameters: StructuredParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(let list): list.parameters
        }
    }
}

/// A list (RFC 9651, 3.1).
///
/// ```swift
/// let list = try StructuredList(parsing: #""default";r=50;t=30"#)
/// list.members[0].parameters["r"]        // .integer(50)
/// ```
public struct StructuredList: Sendable, Hashable {
    public var members: [StructuredMember]

    public init(_ members: [StructuredMember] = []) { self.members = members }

    /// Reads the value of a field that is a list; one that is empty is an empty list. See ``StructuredItem/init(parsing:)``.
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        var parser = StructuredFieldParser(text)
        members = []
        try parser.members { parser throws(StructuredFieldError) in members.append(try parser.member()) }
    }

    /// The field's value; nil for an empty list, whose field is not sent at all.
    ///
    /// - Throws: ``StructuredFieldError`` for a value that can't be written.
    public func serialized() throws(StructuredFieldError) -> String? {
        var writer = StructuredFieldWriter()
        for member in members {
            writer.separate()
            try writer.write(member)
        }
        return members.isEmpty ? nil : writer.text
    }
}

/// A dictionary (RFC 9651, 3.2): members by key, in order.
public typealias StructuredDictionary = StructuredPairs<StructuredMember>

extension StructuredPairs where Value == StructuredMember {
    /// Reads the value of a field that is a dictionary; one that is empty is an empty dictionary. The last of several members with one
    /// key counts, in the place of the first. See ``StructuredItem/init(parsing:)``.
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        self.init()
        var parser = StructuredFieldParser(text)
        try parser.members { parser throws(StructuredFieldError) in
            let key = try parser.key()
            self[key] = parser.skip("=") ? try parser.member() : .item(StructuredItem(true, parameters: try parser.parameters()))
        }
    }

    /// The field's value; nil for an empty dictionary, whose field is not sent at all.
    ///
    /// - Throws: ``StructuredFieldError`` for a key or a value that can't be written.
    public func serialized() throws(StructuredFieldError) -> String? {
        var writer = StructuredFieldWriter()
        for (key, member) in self {
            writer.separate()
            try writer.write(key: key)
            if case .item(let item) = member, item.value == .boolean(true) {
                try writer.write(item.parameters)
            } else {
                writer.write("=")
                try writer.write(member)
            }
        }
        return isEmpty ? nil : writer.text
    }
}

/// A field that is no structured field, or a value that can't be one. It shows nothing of the field.
public struct StructuredFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in words.
    public let message: String
    /// Where, in bytes from the start of what was parsed; nil when serialising.
    public let offset: Int?

    public var description: String { message + (offset.map { " at byte \($0)" } ?? "") }
}
