/// The value of a parameter such as `filename*`, which has a character set ([RFC 8187](https://www.rfc-editor.org/rfc/rfc8187)):
/// `UTF-8''%e2%82%ac%20rates`.
package enum ExtendedValue {
    /// The octets of `attr-char` ([RFC 8187, section 3.2.1](https://www.rfc-editor.org/rfc/rfc8187#section-3.2.1)).
    private static let allowed = URLCharacterSet("!#$&+-.^_`|~")

    /// Returns the text; `nil` if the value is invalid, or its character set is neither UTF-8 nor ISO-8859-1. The language is ignored.
    static func decode(_ value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].allSatisfy({ allowed.contains($0) || $0 == UInt8(ascii: "%") }) else { return nil }
        let text = Substring(parts[2])
        let charset = Substring(parts[0])
        if charset.isExactlyIgnoringCase("utf-8") { return PercentEncoding.decode(text) }
        return charset.isExactlyIgnoringCase("iso-8859-1") ? decodeISO88591(text) : nil
    }

    private static func decodeISO88591(_ text: Substring) -> String? {
        guard let octets = PercentEncoding.octets(of: text, isLenient: false) else { return nil }
        return String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
    }

    /// Returns the value that encodes `text`, in UTF-8.
    package static func encode(_ text: String) -> String { "UTF-8''" + PercentEncoding.encode(text, allowing: allowed) }
}
