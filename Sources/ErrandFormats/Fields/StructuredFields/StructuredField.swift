/// A bare item of a structured field ([RFC 9651, section 3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)).
///
/// A case can hold values that a field can't represent, such as an integer of 16 digits. Serializing a value that a field can't represent
/// throws an error. A parsed value is always valid.
public enum StructuredBareItem: Sendable, Hashable {
    /// An integer of at most 15 digits.
    case integer(Int64)
    /// A decimal with at most 12 digits before the point. The field has at most three digits after the point. If a value is halfway between
    /// two numbers with three digits after the point, the number whose last digit is even is sent.
    case decimal(Double)
    /// A string of printable ASCII.
    case string(String)
    /// A token: a letter or `*`, then token characters, `:` and `/`.
    case token(String)
    /// A sequence of bytes, which is sent as base64.
    case byteSequence([UInt8])
    /// True or false.
    case boolean(Bool)
    /// The date as seconds since 1970, a number of at most 15 digits. Some implementations can't read dates outside the years 1 to 9999.
    case date(secondsSinceEpoch: Int64)
    /// Any text for people. Don't compare display strings, because texts that look the same may differ.
    case displayString(String)

    /// The value if this item is an integer; otherwise `nil`.
    public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value if this item is a decimal or an integer; otherwise `nil`.
    public var numberValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .decimal(let value): value
        default: nil
        }
    }
    /// The value if this item is a string; otherwise `nil`, even for a token.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value if this item is a token; otherwise `nil`, even for a string.
    public var tokenValue: String? { if case .token(let value) = self { value } else { nil } }
    /// The value if this item is a boolean; otherwise `nil`.
    public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The value if this item is a byte sequence; otherwise `nil`.
    public var byteSequenceValue: [UInt8]? { if case .byteSequence(let value) = self { value } else { nil } }
}

extension StructuredBareItem: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByBooleanLiteral
{
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a decimal.
    public init(floatLiteral value: Double) { self = .decimal(value) }
    /// Creates a string, never a token.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// The parameters of an item or of an inner list, in order
/// ([RFC 9651, section 3.1.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.2)).
public typealias StructuredParameters = StructuredPairs<StructuredBareItem>

/// An item ([RFC 9651, section 3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)): a bare item and its parameters.
public struct StructuredItem: Sendable, Hashable {
    /// The bare item.
    public var value: StructuredBareItem
    /// The parameters, in order.
    public var parameters: StructuredParameters

    /// Creates an item.
    public init(_ value: StructuredBareItem, parameters: StructuredParameters = [:]) { (self.value, self.parameters) = (value, parameters) }

    /// Reads the value of a field that is an item.
    ///
    /// - Parameter text: the values of all fields with the field's name, joined by `, `. A lookup by name returns the joined values.
    /// - Throws: ``StructuredFieldError``. Nothing is repaired: an invalid part makes the whole field invalid
    ///   ([RFC 9651, section 4.2](https://www.rfc-editor.org/rfc/rfc9651#section-4.2)).
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        var parser = StructuredFieldParser(text)
        self = try parser.item()
        try parser.end()
    }

    /// Returns the field's value ([RFC 9651, section 4.1](https://www.rfc-editor.org/rfc/rfc9651#section-4.1)).
    ///
    /// - Throws: ``StructuredFieldError`` for a value that can't be serialized.
    public func serialized() throws(StructuredFieldError) -> String {
        var writer = StructuredFieldWriter()
        try writer.write(self)
        return writer.text
    }
}

/// An inner list ([RFC 9651, section 3.1.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.1)): items in parentheses, and the
/// parameters of the list.
public struct StructuredInnerList: Sendable, Hashable {
    /// The items, in order.
    public var items: [StructuredItem]
    /// The parameters of the list.
    public var parameters: StructuredParameters

    /// Creates an inner list.
    public init(_ items: [StructuredItem], parameters: StructuredParameters = [:]) { (self.items, self.parameters) = (items, parameters) }
}

/// A member of a list or a dictionary.
public enum StructuredMember: Sendable, Hashable {
    /// An item.
    case item(StructuredItem)
    /// An inner list.
    case innerList(StructuredInnerList)

    /// The item; `nil` for an inner list.
    public var item: StructuredItem? { if case .item(let item) = self { item } else { nil } }
    /// The inner list; `nil` for an item.
    public var innerList: StructuredInnerList? { if case .innerList(let list) = self { list } else { nil } }
    /// The member's parameters.
    public var parameters: StructuredParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(let list): list.parameters
        }
    }
}

/// A list ([RFC 9651, section 3.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1)).
///
/// ```swift
/// let list = try StructuredList(parsing: #""default";r=50;t=30"#)
/// list.members[0].parameters["r"]        // .integer(50)
/// ```
public struct StructuredList: Sendable, Hashable {
    /// The members, in order.
    public var members: [StructuredMember]

    /// Creates a list.
    public init(_ members: [StructuredMember] = []) { self.members = members }

    /// Reads the value of a field that is a list. An empty value is an empty list. See ``StructuredItem/init(parsing:)``.
    ///
    /// - Throws: ``StructuredFieldError``.
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        var parser = StructuredFieldParser(text)
        members = []
        try parser.members { parser throws(StructuredFieldError) in members.append(try parser.member()) }
    }

    /// Returns the field's value; `nil` for an empty list, because a field with an empty list is not sent.
    ///
    /// - Throws: ``StructuredFieldError`` for a value that can't be serialized.
    public func serialized() throws(StructuredFieldError) -> String? {
        var writer = StructuredFieldWriter()
        for member in members {
            writer.separate()
            try writer.write(member)
        }
        return members.isEmpty ? nil : writer.text
    }
}

/// A dictionary ([RFC 9651, section 3.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.2)): members by key, in order.
public typealias StructuredDictionary = StructuredPairs<StructuredMember>

extension StructuredPairs where Value == StructuredMember {
    /// Reads the value of a field that is a dictionary. An empty value is an empty dictionary. If several members have the same
    /// key, the first member keeps its position, and gets the last value. See ``StructuredItem/init(parsing:)``.
    ///
    /// - Throws: ``StructuredFieldError``.
    public init(parsing text: some StringProtocol) throws(StructuredFieldError) {
        self.init()
        var parser = StructuredFieldParser(text)
        try parser.members { parser throws(StructuredFieldError) in
            let key = try parser.key()
            self[key] = parser.skip("=") ? try parser.member() : .item(StructuredItem(true, parameters: try parser.parameters()))
        }
    }

    /// Returns the field's value; `nil` for an empty dictionary, because a field with an empty dictionary is not sent.
    ///
    /// - Throws: ``StructuredFieldError`` for a key or a value that can't be serialized.
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

/// The error of a field that isn't a valid structured field, or of a value that can't be serialized. The error contains no text of
/// the field.
public struct StructuredFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem, in words.
    public let message: String
    /// The position of the problem, in bytes from the start of the text; `nil` if the error is from serializing.
    public let offset: Int?

    public var description: String { message + (offset.map { " at byte \($0)" } ?? "") }
}
