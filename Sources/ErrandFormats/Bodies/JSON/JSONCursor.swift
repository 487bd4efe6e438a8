/// A position in a JSON text ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)), and the steps that all readers of JSON have in common.
package struct JSONCursor {
    /// The text. The caller must keep the memory of the text valid for the lifetime of the cursor.
    package let bytes: UnsafeBufferPointer<UInt8>
    /// The number of bytes before the next byte. If the end of the text truncates an escape, this number can be greater than the
    /// total number of bytes.
    package var position: Int

    /// Creates a cursor at the beginning of a text.
    @inlinable package init(_ bytes: UnsafeBufferPointer<UInt8>) { (self.bytes, position) = (bytes, 0) }

    /// The next byte; `nil` at the end.
    @inlinable package var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips the byte order mark at the beginning of the text.
    @inlinable package mutating func skipByteOrderMark() { position = bytes.withoutByteOrderMark.startIndex }

    /// Skips white space.
    @inlinable package mutating func skipSpace() {
        while let next, next.isSpace { position += 1 }
    }

    /// Skips the next byte if the byte is `character`. Returns whether a byte was skipped.
    @inlinable package mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Reads a string, and returns the bytes between its quotation marks; `nil` if no complete string begins at the
    /// position. The escapes are not checked, and control characters are allowed.
    @inlinable package mutating func string() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = position
        while let byte = next {
            position += 1
            if byte == UInt8(ascii: "\"") { return start..<position - 1 }
            if byte == UInt8(ascii: "\\") { position += 1 }
        }
        return nil
    }
}
