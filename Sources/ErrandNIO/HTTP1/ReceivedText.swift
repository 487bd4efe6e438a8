#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

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

    /// Returns the value of a field. Valid UTF-8 is decoded as UTF-8. Other bytes are decoded as ISO 8859-1, which has a character for
    /// every byte. If the field contains a URL, bytes that are not ASCII are percent-encoded in the URL, as in browsers. A request for this
    /// URL contains the bytes that the server has sent.
    func text(isASCII: Bool, of name: HTTPField.Name) -> String {
        guard !isASCII, HTTPField.hasReferences(name) else { return text(isASCII: isASCII) }
        return HTTPField.textPreservingURLs(self, of: name)
    }

    /// Returns the bytes as text. Valid UTF-8 is decoded as UTF-8. Other bytes are decoded as ISO 8859-1, which has a character for every
    /// byte.
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
