extension UnsafeBufferPointer<UInt8> {
    /// The bytes of `range`, with indices from 0.
    @inlinable package func part(_ range: Range<Int>) -> Self { Self(rebasing: self[range]) }

    /// The bytes without spaces and tabs at both ends.
    @inlinable package var trimmed: Self {
        var (start, end) = (0, count)
        while start < end, self[start].isOptionalSpace { start += 1 }
        while end > start, self[end - 1].isOptionalSpace { end -= 1 }
        return part(start..<end)
    }

    /// Calls `body` with each element of a comma-separated list
    /// ([RFC 9110, section 5.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.1)), without the white space around the element. An
    /// empty list has one empty element.
    @inlinable package func forEachListElement(_ body: (Self) -> Void) {
        var start = 0
        for index in 0..<count where self[index] == UInt8(ascii: ",") {
            body(part(start..<index).trimmed)
            start = index + 1
        }
        body(part(start..<count).trimmed)
    }
}
