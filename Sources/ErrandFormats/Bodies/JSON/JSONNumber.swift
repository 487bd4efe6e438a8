/// A JSON number with all its digits ([RFC 8259, section 6](https://www.rfc-editor.org/rfc/rfc8259#section-6)).
///
/// ```swift
/// let id: JSONNumber = 9_007_199_254_740_993          // one more than a `Double` can count
/// let price = JSONNumber("12345678901234567.89")      // nil for text that is not a JSON number
/// Int(exactly: id)                                    // 9007199254740993
/// ```
///
/// Numbers are equal if their values are equal: 1, 1.0 and 10e-1 are equal, and all three print as `1`.
///
/// Swift's coders support only the digits that `Int64`, `UInt64` and `Double` can hold. If a ``JSONValue`` is inside another
/// `Codable` type, whole numbers of 64 bits keep all digits. Any other number keeps about 16 digits. A `JSONValue` that is the whole
/// body keeps all digits.
///
/// Swift's coders do not support numbers that are too large or too small for a `Double`. Inside a `Codable` type, `1e400` and
/// `1e-400` cause a `DecodingError`.
public struct JSONNumber: Sendable, Hashable {
    /// Each value has exactly one representation, so that equal numbers have equal representations.
    private enum Storage: Sendable, Hashable {
        case integer(Int64)
        /// Any other number, in its canonical text.
        case text(String)
    }

    private let storage: Storage

    private init(integer: Int64) { storage = .integer(integer) }

    /// Creates a whole number.
    public init(_ value: some BinaryInteger) {
        if let integer = Int64(exactly: value) {
            self.init(integer: integer)
        } else {
            self.init(isNegative: value < 0, digits: Array("\(value.magnitude)".utf8), exponent: 0)
        }
    }

    /// Creates the number whose text is the printed form of a `Double`: 0.1 becomes exactly 0.1. Returns `nil` for infinity and
    /// NaN, which JSON can't represent.
    public init?(exactly value: Double) {
        if let integer = Int64(exactly: value) {
            self.init(integer: integer)
        } else {
            self.init("\(value)")
        }
    }

    /// Creates a number from its parts: `digits` as ASCII, times ten to the power of `exponent`.
    init(isNegative: Bool, digits: some BidirectionalCollection<UInt8>, exponent: Int) {
        let zero = UInt8(ascii: "0")
        var digits = Array(digits.drop { $0 == zero })
        var exponent = exponent
        while digits.last == zero {
            digits.removeLast()
            exponent += 1
        }
        let sign = isNegative ? "-" : ""
        if digits.isEmpty {
            storage = .integer(0)
        } else if exponent >= 0, digits.count + exponent <= 19,
            let integer = Int64(sign + Self.plain(digits, exponent: exponent))
        {
            storage = .integer(integer)
        } else {
            storage = .text(sign + Self.plain(digits, exponent: exponent))
        }
    }

    /// Returns the canonical text of digits that have no zeros at either end. The text depends only on the value of the number.
    private static func plain(_ digits: [UInt8], exponent: Int) -> String {
        func text(_ digits: some Sequence<UInt8>) -> String { String(decoding: Array(digits), as: UTF8.self) }
        func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
        // `whole` is the number of digits before the point.
        let whole = digits.count + exponent
        if exponent >= 0, exponent <= 38 { return text(digits) + zeros(exponent) }
        if exponent < 0, whole > 0 { return text(digits.prefix(whole)) + "." + text(digits.dropFirst(whole)) }
        if exponent < 0, whole > -6 { return "0." + zeros(-whole) + text(digits) }
        let fraction = digits.count == 1 ? "" : "." + text(digits.dropFirst())
        return text(digits.prefix(1)) + fraction + "e\(whole - 1)"
    }

    /// The value as an `Int`; `nil` for a fraction and for a number out of the range of `Int`. See also
    /// ``Swift/FixedWidthInteger/init(exactly:)-(JSONNumber)``.
    public var intValue: Int? { Int(exactly: self) }

    /// Returns the number as text with at most `limit` significant digits. Halves are rounded away from zero.
    package func text(roundedTo limit: Int) -> String {
        let text = description
        let exponent = text.utf8.firstIndex(of: UInt8(ascii: "e")) ?? text.utf8.endIndex
        let zero = UInt8(ascii: "0")
        var digits = text.utf8[..<exponent].filter(\.isASCIIDigit).drop { $0 == zero }.map { $0 - zero }
        guard digits.count > limit else { return text }
        // The value of the last digit is the digit times ten to the power of `power`.
        let point = text.utf8[..<exponent].firstIndex(of: UInt8(ascii: "."))
        var power = point.map { -text.utf8.distance(from: $0, to: exponent) + 1 } ?? 0
        power += Int(text[exponent...].dropFirst()) ?? 0
        power += digits.count - limit
        let roundsUp = digits[limit] >= 5
        digits.removeLast(digits.count - limit)
        if roundsUp {
            // Nines at the end become zeros, and the digit before the nines grows by one.
            var index = limit - 1
            while index >= 0, digits[index] == 9 {
                digits[index] = 0
                index -= 1
            }
            if index >= 0 { digits[index] += 1 } else { digits.insert(1, at: 0) }
        }
        // Zeros at the end are removed, because rounding up may have created zeros.
        while digits.last == 0 {
            digits.removeLast()
            power += 1
        }
        return (text.utf8.first == UInt8(ascii: "-") ? "-" : "") + digits.map { String($0) }.joined() + "e\(power)"
    }

    /// The `Double` that is nearest to the number; 0 if the number is too small for a `Double`.
    public var doubleValue: Double {
        switch storage {
        case .integer(let integer): Double(integer)
        case .text(let text): Double(text) ?? 0
        }
    }

    /// Whether the number has no fraction.
    public var isWhole: Bool {
        switch storage {
        case .integer: true
        // If the number has a fraction, its text has either a point and no exponent, or a negative exponent.
        case .text(let text): text.utf8.contains(UInt8(ascii: "e")) ? !text.containsOctets("e-") : !text.utf8.contains(UInt8(ascii: "."))
        }
    }

    /// The number in a type that Swift's coders support.
    enum CodedValue {
        case integer(Int64)
        case unsigned(UInt64)
        case double(Double)
    }

    var codedValue: CodedValue {
        switch storage {
        case .integer(let integer): .integer(integer)
        case .text(let text): UInt64(text).map { .unsigned($0) } ?? .double(doubleValue)
        }
    }

    fileprivate func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        switch storage {
        case .integer(let integer): Integer(exactly: integer)
        case .text(let text): Integer(text)
        }
    }
}

extension FixedWidthInteger {
    /// Creates the integer that equals a JSON number; `nil` if the number has a fraction or is out of range.
    ///
    /// ```swift
    /// UInt64(exactly: number)
    /// ```
    public init?(exactly number: JSONNumber) {
        guard let value = number.integer(Self.self) else { return nil }
        self = value
    }
}

extension JSONNumber: LosslessStringConvertible, CustomReflectable {
    /// Reads a number by JSON's grammar; `nil` for any other text. The result is also `nil` for a text of more than 1,024 characters, and
    /// for a number beyond the range of `Double`.
    public init?(_ description: String) {
        guard let number = JSONParser.number(Array(description.utf8)) else { return nil }
        self = number
    }

    /// The number as JSON, without zeros at the end of the fraction: `7`, not `7.0`.
    public var description: String {
        switch storage {
        case .integer(let integer): "\(integer)"
        case .text(let text): text
        }
    }

    /// The number as JSON.
    public var customMirror: Mirror { Mirror(self, children: ["number": description]) }
}

extension JSONNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// Creates the number of an integer literal, such as `7`.
    public init(integerLiteral value: Int) { self.init(value) }

    /// Creates the number of a floating-point literal, such as `0.1`.
    ///
    /// - Precondition: `value` is finite.
    public init(floatLiteral value: Double) {
        guard let number = JSONNumber(exactly: value) else { preconditionFailure("value must be finite (is \(value))") }
        self = number
    }
}
