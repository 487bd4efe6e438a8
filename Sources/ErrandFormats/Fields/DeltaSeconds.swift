/// Reads a non-negative number of seconds ([RFC 9111, section 1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
package enum DeltaSeconds {
    /// Returns the number of seconds, at most ``CacheControl/longestSeconds``; `nil` if the text is not a sequence of digits.
    package static func read(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        var seconds: Int64 = 0
        for digit in text.utf8 where seconds < CacheControl.longestSeconds {
            seconds = seconds * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return min(seconds, CacheControl.longestSeconds)
    }
}
