/// Writes structured fields ([RFC 9651, section 4.1](https://www.rfc-editor.org/rfc/rfc9651#section-4.1)).
struct StructuredFieldWriter {
    private static let digits = Array("0123456789abcdef".utf8)

    private var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    private func error(_ message: String) -> StructuredFieldError { StructuredFieldError(message: message, offset: nil) }

    mutating func write(_ text: String) { bytes += text.utf8 }

    /// Writes the separator between two members.
    mutating func separate() { if !bytes.isEmpty { write(", ") } }

    mutating func write(_ member: StructuredMember) throws(StructuredFieldError) {
        switch member {
        case .item(let item): try write(item)
        case .innerList(let list):
            write("(")
            for (index, item) in list.items.enumerated() {
                if index > 0 { write(" ") }
                try write(item)
            }
            write(")")
            try write(list.parameters)
        }
    }

    mutating func write(_ item: StructuredItem) throws(StructuredFieldError) {
        try write(item.value)
        try write(item.parameters)
    }

    mutating func write(_ parameters: StructuredParameters) throws(StructuredFieldError) {
        for (key, value) in parameters {
            write(";")
            try write(key: key)
            guard value != .boolean(true) else { continue }
            write("=")
            try write(value)
        }
    }

    mutating func write(key: String) throws(StructuredFieldError) {
        guard key.utf8.first?.beginsStructuredKey == true, key.utf8.allSatisfy(\.continuesStructuredKey) else {
            throw error("an invalid key")
        }
        write(key)
    }

    private mutating func write(_ value: StructuredBareItem) throws(StructuredFieldError) {
        switch value {
        case .integer(let number): try write(whole: number)
        case .decimal(let number): try write(decimal: number)
        case .string(let text): try write(string: text)
        case .token(let text):
            guard text.utf8.first?.beginsStructuredToken == true, text.utf8.allSatisfy(\.continuesStructuredToken) else {
                throw error("an invalid token")
            }
            write(text)
        case .byteSequence(let content): write(":" + Base64.encode(content) + ":")
        case .boolean(let isTrue): write(isTrue ? "?1" : "?0")
        case .date(let seconds):
            write("@")
            try write(whole: seconds)
        case .displayString(let text): write(display: text)
        }
    }

    private mutating func write(whole number: Int64) throws(StructuredFieldError) {
        guard (-999_999_999_999_999...999_999_999_999_999).contains(number) else { throw error("an integer of more than 15 digits") }
        write("\(number)")
    }

    private mutating func write(decimal number: Double) throws(StructuredFieldError) {
        let thousandths = (number * 1000).rounded(.toNearestOrEven)
        // The comparison is also false for NaN.
        guard abs(thousandths) < 1e15 else { throw error("a decimal of more than 12 digits before the point") }
        let (whole, rest) = Int64(abs(thousandths)).quotientAndRemainder(dividingBy: 1000)
        var fraction = "\(rest + 1000)".dropFirst()
        while fraction.count > 1, fraction.utf8.last == UInt8(ascii: "0") { fraction.removeLast() }
        write("\(thousandths < 0 ? "-" : "")\(whole).\(fraction)")
    }

    private mutating func write(string: String) throws(StructuredFieldError) {
        write("\"")
        for byte in string.utf8 {
            guard (0x20...0x7E).contains(byte) else { throw error("a character that is not allowed in a string") }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        write("\"")
    }

    private mutating func write(display text: String) {
        write("%\"")
        for byte in text.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: "\"") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            }
        }
        write("\"")
    }
}
