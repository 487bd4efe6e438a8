/// The value of a `Content-Range` field ([RFC 9110, section 14.4](https://www.rfc-editor.org/rfc/rfc9110#section-14.4)): the bytes of
/// a representation that a body contains.
///
/// ```swift
/// let part = ContentRange("bytes 500-999/8000")
/// part?.range              // 500..<1000
/// part?.completeLength     // 8000
/// ContentRange("bytes */8000")?.range      // nil: the requested range is not there
/// ```
public struct ContentRange: Sendable, Hashable, CustomStringConvertible {
    /// The positions of the bytes; `nil` in a response with the status 416, if the server could not satisfy the requested
    /// range.
    public let range: Range<Int64>?
    /// The length of the whole representation, in bytes; `nil` if the length is unknown.
    public let completeLength: Int64?

    /// Creates a value for the bytes in `range` of a representation. `completeLength` is in bytes; `nil` means that the length
    /// is unknown.
    ///
    /// Returns `nil` if `range` is empty, begins before 0, or ends after `completeLength`.
    public init?(_ range: Range<Int64>, completeLength: Int64?) {
        guard !range.isEmpty, range.lowerBound >= 0, range.upperBound <= completeLength ?? .max else { return nil }
        (self.range, self.completeLength) = (range, completeLength)
    }

    private init(lengthOnly length: Int64) { (range, completeLength) = (nil, length) }

    /// Reads a field's value; `nil` if the value is not a valid range of bytes.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= FieldLimits.shortValueBytes else { return nil }
        var reader = FieldReader(text)
        reader.skip(\.isOptionalSpace)
        guard reader.token()?.isExactlyIgnoringCase("bytes") == true, reader.take(" ") else { return nil }
        reader.skip(\.isOptionalSpace)
        var range: Range<Int64>?
        if !reader.take("*") {
            guard let first = reader.number(), reader.take("-"), let last = reader.number(), first <= last, last < .max else { return nil }
            range = first..<(last + 1)
        }
        guard reader.take("/") else { return nil }
        var length: Int64?
        if !reader.take("*") {
            guard let number = reader.number() else { return nil }
            length = number
        }
        reader.skip(\.isOptionalSpace)
        guard reader.next == nil else { return nil }
        if let range {
            self.init(range, completeLength: length)
        } else {
            guard let length else { return nil }
            self.init(lengthOnly: length)
        }
    }

    /// The field's value.
    public var description: String {
        "bytes \(range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*")/\(completeLength.map(String.init) ?? "*")"
    }
}

/// A range of bytes in a `Range` field ([RFC 9110, section 14.2](https://www.rfc-editor.org/rfc/rfc9110#section-14.2)).
///
/// ```swift
/// request.headers[.range] = ByteRange.field([.bytes(0..<500), .last(500)])      // bytes=0-499, -500
/// ```
public enum ByteRange: Sendable, Hashable, CustomStringConvertible {
    /// The bytes at these positions, at least one byte. The first byte has position 0.
    case bytes(Range<Int64>)
    /// The bytes from this position on.
    case from(Int64)
    /// The last bytes; the number is the count of these bytes.
    case last(Int64)

    /// The largest number of ranges in one value.
    static let countLimit = 128

    /// Returns the value of a `Range` field; `nil` if `ranges` is empty, or if a range has no bytes or a negative number.
    ///
    /// `.last(0)` is an exception: it is written as `-0`, although no server can satisfy a range without bytes.
    public static func field(_ ranges: [ByteRange]) -> String? {
        guard !ranges.isEmpty, ranges.allSatisfy(\.isValid) else { return nil }
        return "bytes=" + ranges.map(\.description).joined(separator: ", ")
    }

    /// Reads the value of a `Range` field; `nil` if the value is not valid, is longer than 8 KiB, or has more than 128 ranges.
    public static func parse(_ text: some StringProtocol) -> [ByteRange]? {
        guard text.utf8.count <= FieldLimits.valueBytes else { return nil }
        var reader = FieldReader(text)
        reader.skip(\.isOptionalSpace)
        guard reader.token()?.isExactlyIgnoringCase("bytes") == true, reader.take("=") else { return nil }
        guard let ranges = reader.list(upTo: countLimit, { $0.byteRange() }), !ranges.isEmpty else { return nil }
        return ranges
    }

    private var isValid: Bool {
        switch self {
        case .bytes(let range): !range.isEmpty && range.lowerBound >= 0
        case .from(let first): first >= 0
        case .last(let count): count >= 0
        }
    }

    /// Returns the positions of this range's bytes in a representation of `length` bytes; `nil` if the representation has none of the
    /// bytes.
    public func resolved(length: Int64) -> Range<Int64>? {
        guard isValid, length > 0 else { return nil }
        let range: Range<Int64>
        switch self {
        case .bytes(let bytes):
            guard bytes.lowerBound < length else { return nil }
            range = bytes.lowerBound..<min(bytes.upperBound, length)
        case .from(let first):
            guard first < length else { return nil }
            range = first..<length
        case .last(let count): range = max(0, length - count)..<length
        }
        return range.isEmpty ? nil : range
    }

    /// The range as it is sent: `0-499`, `500-` or `-500`.
    public var description: String {
        switch self {
        // The subtraction wraps, because the description of an invalid range must not trap.
        case .bytes(let range): "\(range.lowerBound)-\(range.upperBound &- 1)"
        case .from(let first): "\(first)-"
        case .last(let count): "-\(count)"
        }
    }
}

extension FieldReader {
    /// Reads digits; `nil` if there are no digits, or if the number is too large.
    fileprivate mutating func number() -> Int64? {
        let start = position
        skip(\.isASCIIDigit)
        return position > start ? Int64(text(start..<position)) : nil
    }

    fileprivate mutating func byteRange() -> ByteRange? {
        if take("-") { return number().map { .last($0) } }
        guard let first = number(), take("-") else { return nil }
        guard next?.isASCIIDigit == true else { return .from(first) }
        guard let last = number(), first <= last, last < .max else { return nil }
        return .bytes(first..<(last + 1))
    }
}
