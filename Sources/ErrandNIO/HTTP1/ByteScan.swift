#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// Searches received bytes, eight bytes at a time.
enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns the index of the first line feed in `range`, which must lie within `bytes`.
    static func firstLineFeed(in bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        let raw = UnsafeRawBufferPointer(bytes)
        while index &+ 8 <= range.upperBound {
            let word = word(raw, at: index) ^ (ones &* 0x0A)
            let zeros = (word &- ones) & ~word & highBits
            if zeros != 0 { return index &+ zeros.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < range.upperBound {
            if bytes[index] == 0x0A { return index }
            index &+= 1
        }
        return nil
    }

    /// Returns the first control character other than the horizontal tab, if any, and whether all bytes are ASCII. If there is a control
    /// character, the second value has no meaning.
    static func firstControl(in bytes: UnsafeBufferPointer<UInt8>) -> (control: UInt8?, isASCII: Bool) {
        let raw = UnsafeRawBufferPointer(bytes)
        var (index, seen) = (0, UInt64(0))
        while index &+ 8 <= bytes.count {
            let word = word(raw, at: index)
            let low = (word &- (ones &* 0x20)) & ~word & highBits
            let flipped = word ^ (ones &* 0x7F)
            let deletes = (flipped &- ones) & ~flipped & highBits
            if low | deletes != 0 {
                for byte in bytes[index..<(index &+ 8)] where isControl(byte) { return (byte, false) }
            }
            seen |= word
            index &+= 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if isControl(byte) { return (byte, false) }
            seen |= UInt64(byte)
            index &+= 1
        }
        return (nil, seen & highBits == 0)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    private static func word(_ raw: UnsafeRawBufferPointer, at index: Int) -> UInt64 {
        UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether the bytes equal `text`, ignoring case. `text` must be in lower case.
    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count {
            let byte = self[index]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower != text.utf8Start[index] { return false }
        }
        return true
    }

    /// The number that the bytes represent in decimal digits. `nil` if there are no bytes, if a byte is not a digit, or if the
    /// number exceeds `Int64`.
    var decimal: Int64? {
        guard !isEmpty else { return nil }
        var number: Int64 = 0
        for byte in self {
            guard byte.isASCIIDigit else { return nil }
            let (product, isProductTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !isProductTooLarge, !isSumTooLarge else { return nil }
            number = sum
        }
        return number
    }

    /// Returns the value of a field. The bytes are decoded as UTF-8 if they are valid UTF-8. Otherwise they are decoded as ISO 8859-1,
    /// which has a character for every byte. In a URL, the bytes that are not ASCII are percent-encoded instead, as in browsers. A
    /// request for this URL then contains the bytes that the server has sent.
    func text(isASCII: Bool, of name: HTTPField.Name) -> String {
        guard !isASCII, HTTPField.hasReferences(name) else { return text(isASCII: isASCII) }
        return HTTPField.textPreservingURLs(self, of: name)
    }

    /// Returns the bytes as text. The bytes are decoded as UTF-8 if they are valid UTF-8. Otherwise they are decoded as ISO
    /// 8859-1, which has a character for every byte.
    func text(isASCII: Bool) -> String {
        if isASCII { return String(decoding: self, as: UTF8.self) }
        if let text = String(validating: self, as: UTF8.self) { return text }
        return String(unsafeUninitializedCapacity: count * 2) { text in
            var end = 0
            for byte in self {
                if byte < 0x80 {
                    text[end] = byte
                    end += 1
                } else {
                    text[end] = 0xC0 | byte >> 6
                    text[end + 1] = 0x80 | byte & 0x3F
                    end += 2
                }
            }
            return end
        }
    }
}
#endif
