/// The error for text that is not JSON ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)), that nests deeper than
/// ``JSONValue/depthLimit``, or that exceeds another limit. The error contains no part of the text.
public struct JSONParsingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem, in words.
    public let message: String
    /// The position of the problem, in bytes from the start.
    public let offset: Int

    /// Whether the text may be JSON, but exceeds a limit.
    package let exceedsLimit: Bool

    init(message: String, offset: Int, exceedsLimit: Bool = false) {
        (self.message, self.offset, self.exceedsLimit) = (message, offset, exceedsLimit)
    }

    /// The problem and its position: `no comma after an element at byte 12`.
    public var description: String { "\(message) at byte \(offset)" }
}

extension JSONValue {
    /// The largest number of nested arrays and objects: 64.
    public static let depthLimit = 64

    /// Creates a value from JSON text in UTF-8, in linear time. All digits of numbers are kept. A number that is too large for a
    /// `Double`, or longer than 1,024 characters, is an error.
    ///
    /// ```swift
    /// let json = try JSONValue(parsing: data)
    /// ```
    ///
    /// - Parameters:
    ///   - bytes: the text. A byte order mark is skipped.
    ///   - limitBytes: the largest size of the text, in bytes. Default: 64 MiB. The resulting value takes up to about 25 times
    ///     as much memory as the text, for example for an array of small objects.
    /// - Throws: ``JSONParsingError`` for text that is not JSON, is larger than `limitBytes`, or nests deeper than ``depthLimit``. The same
    ///   error is thrown for two kinds of text that are slow to compare. The first kind is a name that is not ASCII and has more than 256
    ///   bytes. The second kind is a string with more than 128 combining marks in a row.
    public init(parsing bytes: some Sequence<UInt8>, limitBytes: Int = 64 * 1024 * 1024) throws(JSONParsingError) {
        func parsed(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<JSONValue, JSONParsingError> {
            guard bytes.count <= limitBytes else {
                let message = "more than \(limitBytes.counted("byte"))"
                return .failure(JSONParsingError(message: message, offset: limitBytes, exceedsLimit: true))
            }
            var parser = JSONParser(bytes: bytes)
            do throws(JSONParsingError) {
                return .success(try parser.whole())
            } catch {
                return .failure(error)
            }
        }
        let result = bytes.withContiguousStorageIfAvailable(parsed) ?? Array(bytes).withUnsafeBufferPointer(parsed)
        self = try result.get()
    }
}

/// Reads JSON byte by byte, each byte once.
struct JSONParser {
    private var cursor: JSONCursor

    /// - Parameter bytes: the text. The caller must keep the memory of the text valid for the lifetime of the parser.
    init(bytes: UnsafeBufferPointer<UInt8>) { cursor = JSONCursor(bytes) }

    /// Reads a text that is only a number; `nil` for any other text.
    static func number(_ bytes: [UInt8]) -> JSONNumber? {
        bytes.withUnsafeBufferPointer { bytes in
            var parser = JSONParser(bytes: bytes)
            guard let number = try? parser.number(), parser.cursor.next == nil else { return nil }
            return number
        }
    }

    private func error(_ message: String) -> JSONParsingError { JSONParsingError(message: message, offset: cursor.position) }

    private func limit(_ message: String) -> JSONParsingError {
        JSONParsingError(message: message, offset: cursor.position, exceedsLimit: true)
    }

    mutating func whole() throws(JSONParsingError) -> JSONValue {
        cursor.skipByteOrderMark()
        let value = try value(depth: 0)
        cursor.skipSpace()
        guard cursor.next == nil else { throw error("more text after the value") }
        return value
    }

    private mutating func value(depth: Int) throws(JSONParsingError) -> JSONValue {
        cursor.skipSpace()
        switch cursor.next {
        case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || byte.isASCIIDigit:
            return .number(try number())
        default: throw error(cursor.next == nil ? "no value" : "an invalid value")
        }
    }

    private mutating func members(depth: Int) throws(JSONParsingError) -> [String: JSONValue] {
        guard depth <= JSONValue.depthLimit else { throw limit("nested deeper than \(JSONValue.depthLimit)") }
        cursor.position += 1
        var members: [String: JSONValue] = [:]
        cursor.skipSpace()
        if cursor.take("}") { return members }
        while true {
            cursor.skipSpace()
            guard cursor.next == UInt8(ascii: "\"") else { throw error("not a member's name") }
            let name = try string()
            // A dictionary compares names as Unicode text: see `JSONDepth`.
            if name.utf8.isSlowName {
                throw limit("a member's name that is not ASCII is longer than \(FieldLimits.nameBytes) bytes")
            }
            cursor.skipSpace()
            guard cursor.take(":") else { throw error("no colon after a name") }
            members[name] = try value(depth: depth)
            cursor.skipSpace()
            if cursor.take("}") { return members }
            guard cursor.take(",") else { throw error("no comma after a member") }
        }
    }

    private mutating func elements(depth: Int) throws(JSONParsingError) -> [JSONValue] {
        guard depth <= JSONValue.depthLimit else { throw limit("nested deeper than \(JSONValue.depthLimit)") }
        cursor.position += 1
        var elements: [JSONValue] = []
        cursor.skipSpace()
        if cursor.take("]") { return elements }
        while true {
            elements.append(try value(depth: depth))
            cursor.skipSpace()
            if cursor.take("]") { return elements }
            guard cursor.take(",") else { throw error("no comma after an element") }
        }
    }

    private mutating func literal(_ word: String, _ value: JSONValue) throws(JSONParsingError) -> JSONValue {
        guard cursor.bytes[cursor.position...].starts(with: word.utf8) else { throw error("an invalid value") }
        cursor.position += word.utf8.count
        return value
    }

    private mutating func digits() throws(JSONParsingError) -> Range<Int> {
        let start = cursor.position
        while let next = cursor.next, next.isASCIIDigit { cursor.position += 1 }
        guard cursor.position > start else { throw error("a missing digit") }
        return start..<cursor.position
    }

    private mutating func number() throws(JSONParsingError) -> JSONNumber {
        let start = cursor.position
        let isNegative = cursor.take("-")
        var whole = cursor.position..<cursor.position + 1
        if !cursor.take("0") { whole = try digits() }
        var fraction = 0..<0
        if cursor.take(".") { fraction = try digits() }
        var (exponent, exponentIsNegative) = (0..<0, false)
        if cursor.take("e") || cursor.take("E") {
            if !cursor.take("+") { exponentIsNegative = cursor.take("-") }
            exponent = try digits()
        }
        if fraction.isEmpty, exponent.isEmpty, whole.count <= 18 {
            let value = cursor.bytes[whole].reduce(into: Int64(0)) { $0 = $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
            return JSONNumber(isNegative ? -value : value)
        }
        // More digits would take more than linear time, and no number needs more digits.
        guard cursor.position - start <= 1024 else { throw limit("a number longer than 1,024 characters") }
        let digits = Array(cursor.bytes[whole]) + cursor.bytes[fraction]
        // `place` is the position of the decimal point, counted from the first digit that is not zero.
        guard let zeros = digits.firstIndex(where: { $0 != UInt8(ascii: "0") }) else { return 0 }
        let power = exponent.isEmpty ? 0 : Int(String(decoding: cursor.bytes[exponent], as: UTF8.self)) ?? .max
        let place = (exponentIsNegative ? -power : power).addingReportingOverflow(whole.count - zeros)
        // Refuses a number beyond the range of `Double`, and a number whose decimal point is more than 1,000,000 digits away from that
        // digit.
        guard !place.overflow, place.partialValue.magnitude <= 1_000_000,
            Double(String(decoding: cursor.bytes[start..<cursor.position], as: UTF8.self))?.isFinite == true
        else { throw limit("a number out of range") }
        return JSONNumber(isNegative: isNegative, digits: digits, exponent: (exponentIsNegative ? -power : power) - fraction.count)
    }

    private mutating func string() throws(JSONParsingError) -> String {
        cursor.position += 1
        let start = cursor.position
        var isEscaped = false
        while let byte = cursor.next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw error("a control character in a string") }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                cursor.position += 1
            }
            cursor.position += 1
        }
        guard cursor.next != nil else { throw error("an unterminated string") }
        let text = UnsafeBufferPointer(rebasing: cursor.bytes[start..<cursor.position])
        cursor.position += 1
        let (string, isSlow): (String?, Bool)
        if isEscaped {
            let plain = try resolvingEscapes(text)
            string = String(validating: plain, as: UTF8.self)
            isSlow = plain.withUnsafeBytes { MarkRun.isTooLong(in: $0) }
        } else {
            string = String(validating: text, as: UTF8.self)
            isSlow = MarkRun.isTooLong(in: UnsafeRawBufferPointer(text))
        }
        guard let string else { throw error("a string that is not UTF-8") }
        // A string that is slow to compare is refused, because the app and `==` of JSON values compare strings.
        guard !isSlow else { throw limit(MarkRun.problem) }
        return string
    }

    private func resolvingEscapes(_ text: UnsafeBufferPointer<UInt8>) throws(JSONParsingError) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "\\") else {
                plain.append(text[index])
                index += 1
                continue
            }
            guard let escape = JSONEscape(in: text, at: index) else { throw error("an invalid escape") }
            guard escape.scalar != nil else { throw error("an unpaired surrogate") }
            plain += escape.octets
            index = escape.end
        }
        return plain
    }
}
