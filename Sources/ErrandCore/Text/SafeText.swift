/// Texts for labels, errors and logs in the form that the library uses: on one line, and without the secrets that errors may
/// have.
///
/// ```swift
/// SafeText.line(name)                     // control characters are escaped, at most 200 characters
/// SafeText.duration(.milliseconds(1500))  // 1.5 s
/// SafeText.percent(0.999)                 // 99.9 %
/// SafeText.counted(1, "retry", "retries") // 1 retry
/// SafeText.sentence("no connection")      // No connection.
/// ```
public enum SafeText {
    /// Returns untrusted text in a form that is safe to show: on one line, and without control characters.
    ///
    /// - Parameter limit: the maximum number of characters, at least 0. Default: 200. Each character keeps only a few combining marks.
    ///   The cost does not depend on the length of the removed part.
    public static func line(_ text: some StringProtocol, limit: Int = 200) -> String { text.shownSafely(limit: limit) }

    /// Returns the text with an uppercase first letter and a period at the end.
    public static func sentence(_ text: some StringProtocol) -> String { text.asSentence }

    /// Returns a duration in words: `2 min`, `30 s`, `1.5 s`, `250 ms`, `0.2 ms`.
    public static func duration(_ duration: Duration) -> String { duration.inWords }

    /// Returns a number with at most three digits after the decimal point, and without a decimal point if these digits are
    /// zeros.
    public static func number(_ number: Double) -> String { number.inWords }

    /// Returns a share as a percentage: `50 %`, `99.9 %`.
    public static func percent(_ share: Double) -> String { share.inPercent }

    /// Returns a number with its noun: `1 byte`, `3 bytes`.
    ///
    /// - Parameters:
    ///   - number: the number.
    ///   - one: the noun for the number 1.
    ///   - many: the noun for all other numbers. `nil`, the default: `one` with an s.
    public static func counted(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        number.counted(one, many)
    }

    /// Returns a text for an error that is safe in a message. The text is the description of a ``RequestFailure`` or a
    /// ``SafelyDescribedError``. For any other error, the text is only the type, because the description of such an error may
    /// have secrets.
    public static func error(_ error: any Error) -> String { safeDescription(of: error) }
}
