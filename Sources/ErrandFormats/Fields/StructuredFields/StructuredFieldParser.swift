/// Reads structured fields byte by byte, each byte once ([RFC 9651, section 4.2](https://www.rfc-editor.org/rfc/rfc9651#section-4.2)).
struct StructuredFieldParser {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
        skipSpaces()
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private func error(_ message: String, at place: Int? = nil) -> StructuredFieldError {
        StructuredFieldError(message: message, offset: place ?? offset)
    }

    /// Skips the next byte if it is `byte`. Returns whether the byte was skipped.
    mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpaces() { while next == 0x20 { offset += 1 } }
    private mutating func skipOptionalWhitespace() { while next == 0x20 || next == 0x09 { offset += 1 } }

    /// Checks that only spaces are left.
    mutating func end() throws(StructuredFieldError) {
        skipSpaces()
        if next != nil { throw error("unexpected characters after the value") }
    }

    // MARK: Members

    /// Calls `read` for each member, up to the end.
    mutating func members(
        _ read: (inout StructuredFieldParser) throws(StructuredFieldError) -> Void
    ) throws(StructuredFieldError) {
        guard next != nil else { return }
        while true {
            try read(&self)
            skipOptionalWhitespace()
            if next == nil { return }
            guard skip(",") else { throw error("a missing comma after a member") }
            skipOptionalWhitespace()
            if next == nil { throw error("a comma at the end") }
        }
    }

    mutating func member() throws(StructuredFieldError) -> StructuredMember {
        next == UInt8(ascii: "(") ? .innerList(try innerList()) : .item(try item())
    }

    private mutating func innerList() throws(StructuredFieldError) -> StructuredInnerList {
        offset += 1
        var items: [StructuredItem] = []
        while true {
            skipSpaces()
            if skip(")") { return StructuredInnerList(items, parameters: try parameters()) }
            items.append(try item())
            guard next == 0x20 || next == UInt8(ascii: ")") else { throw error("a missing space or ')' after an inner item") }
        }
    }

    mutating func item() throws(StructuredFieldError) -> StructuredItem {
        let value = try bareItem()
        return StructuredItem(value, parameters: try parameters())
    }

    mutating func parameters() throws(StructuredFieldError) -> StructuredParameters {
        var parameters = StructuredParameters()
        while skip(";") {
            skipSpaces()
            let key = try key()
            parameters[key] = skip("=") ? try bareItem() : true
        }
        return parameters
    }

    mutating func key() throws(StructuredFieldError) -> String {
        guard next?.beginsStructuredKey == true else { throw error("a missing key") }
        return text { $0.continuesStructuredKey }
    }

    /// Reads the next byte without a check, and then each following byte for which the condition is true.
    private mutating func text(while isPart: (UInt8) -> Bool) -> String {
        let start = offset
        offset += 1
        while let byte = next, isPart(byte) { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    // MARK: Bare items

    private mutating func bareItem() throws(StructuredFieldError) -> StructuredBareItem {
        guard let next else { throw error("a missing value") }
        switch next {
        case UInt8(ascii: "-"): return try number()
        case _ where next.isASCIIDigit: return try number()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: ":"): return .byteSequence(try byteSequence())
        case UInt8(ascii: "?"): return .boolean(try boolean())
        case UInt8(ascii: "@"): return try date()
        case UInt8(ascii: "%"): return .displayString(try displayString())
        case _ where next.beginsStructuredToken: return .token(text { $0.continuesStructuredToken })
        default: throw error("an unknown type of value")
        }
    }

    private mutating func number() throws(StructuredFieldError) -> StructuredBareItem {
        let start = offset
        let isNegative = skip("-")
        func signed(_ value: Int64) -> Int64 { isNegative ? -value : value }
        let whole = try digits()
        guard skip(".") else {
            guard whole.count <= 15 else { throw error("an integer of more than 15 digits", at: start) }
            return .integer(signed(whole.value))
        }
        guard whole.count <= 12 else { throw error("a decimal of more than 12 digits before the point", at: start) }
        var fraction = try digits()
        guard fraction.count <= 3 else { throw error("a decimal with more than 3 digits after the point", at: start) }
        for _ in fraction.count..<3 { fraction.value *= 10 }
        // Numerator and denominator are small whole numbers. Therefore the quotient is the nearest `Double` to the number in the text.
        return .decimal(Double(signed(whole.value * 1000 + fraction.value)) / 1000)
    }

    /// Reads at least one digit. The result is correct for at most 15 digits.
    private mutating func digits() throws(StructuredFieldError) -> (value: Int64, count: Int) {
        let start = offset
        var value: Int64 = 0
        while let byte = next, byte.isASCIIDigit {
            if offset - start < 15 { value = value * 10 + Int64(byte - UInt8(ascii: "0")) }
            offset += 1
        }
        guard offset > start else { throw error("a missing digit") }
        return (value, offset - start)
    }

    private mutating func string() throws(StructuredFieldError) -> String {
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    throw error("a backslash that is not followed by a quotation mark or a backslash")
                }
                offset += 1
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: throw error("a character that a string can't have", at: offset - 1)
            }
        }
        throw error("an unterminated string")
    }

    private mutating func displayString() throws(StructuredFieldError) -> String {
        let start = offset
        offset += 1
        guard skip("\"") else { throw error("a percent sign that is not followed by a quotation mark") }
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let whole = String(validating: text, as: UTF8.self) else {
                    throw error("a display string that is not UTF-8", at: start)
                }
                return whole
            case UInt8(ascii: "%"):
                guard offset + 2 <= bytes.count, let high = bytes[offset].lowerHexValue, let low = bytes[offset + 1].lowerHexValue else {
                    throw error("a percent sign that is not followed by two lowercase hexadecimal digits")
                }
                offset += 2
                text.append(high << 4 | low)
            case 0x20...0x7E: text.append(byte)
            default: throw error("a character that a display string can't have", at: offset - 1)
            }
        }
        throw error("an unterminated display string")
    }

    private mutating func byteSequence() throws(StructuredFieldError) -> [UInt8] {
        offset += 1
        let start = offset
        while let byte = next {
            if byte == UInt8(ascii: ":") {
                guard let decoded = Base64.decode(bytes[start..<offset]) else {
                    throw error("a byte sequence that is not Base64", at: start)
                }
                offset += 1
                return decoded
            }
            offset += 1
        }
        throw error("an unterminated byte sequence")
    }

    private mutating func boolean() throws(StructuredFieldError) -> Bool {
        offset += 1
        if skip("1") { return true }
        guard skip("0") else { throw error("a question mark that is not followed by 0 or 1") }
        return false
    }

    private mutating func date() throws(StructuredFieldError) -> StructuredBareItem {
        offset += 1
        let start = offset
        guard case .integer(let seconds) = try number() else { throw error("a date that is not an integer", at: start) }
        return .date(secondsSinceEpoch: seconds)
    }
}

extension UInt8 {
    private var isLowerLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

    var beginsStructuredKey: Bool { isLowerLetter || self == UInt8(ascii: "*") }
    var continuesStructuredKey: Bool { isLowerLetter || isASCIIDigit || "_-.*".utf8.contains(self) }
    var beginsStructuredToken: Bool {
        isLowerLetter || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) || self == UInt8(ascii: "*")
    }
    var continuesStructuredToken: Bool { isTokenOctet || self == UInt8(ascii: ":") || self == UInt8(ascii: "/") }

    fileprivate var lowerHexValue: UInt8? { isASCIIDigit || isLowerLetter ? hexValue : nil }
}
