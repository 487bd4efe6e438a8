/// Reads a non-negative number of seconds ([RFC 9111, section 1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
package enum DeltaSeconds {
    /// Returns the number of seconds, at most ``CacheControl/longestSeconds``; `nil` if the text is not a sequence of digits.
    package static func read(_ text: some StringProtocol) -> Int64? {
        Int64(clampingDigits: text.utf8).map { min($0, CacheControl.longestSeconds) }
    }
}
