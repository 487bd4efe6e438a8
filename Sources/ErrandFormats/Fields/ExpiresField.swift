package import HTTPTypes

/// Reads the `Expires` field of a response ([RFC 9111, section 5.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.3)).
package enum ExpiresField: Sendable, Hashable {
    /// The field is missing.
    case missing
    /// The field is invalid, or occurs with different values. The response has expired.
    case invalid
    /// The date after which the response is stale.
    case date(HTTPDate)

    /// Reads the field.
    ///
    /// A date must follow the grammar, because a date in another form must count as a date in the past. The names of the day, the month
    /// and the time zone may be in any case: `THU, 18 AUG 2050 02:01:18 GMT`.
    ///
    /// - Parameter now: the current date, to which a year of two digits is compared.
    package init(_ fields: HTTPFields, now: HTTPDate) {
        guard fields.contains(.expires) else {
            self = .missing
            return
        }
        let values = fields[values: .expires].map { $0.trimmingOptionalWhitespace() }
        guard let first = values.first, values.dropFirst().allSatisfy({ $0.isExactly(first) }),
            let date = HTTPDate(strict: Self.usualCase(first), now: now)
        else {
            self = .invalid
            return
        }
        self = .date(date)
    }

    /// Returns the text with the case of letters that dates have: `Thu, 18 Aug 2050 02:01:18 GMT`.
    private static func usualCase(_ text: String) -> String {
        guard text.utf8.count <= FieldLimits.shortValueBytes else { return text }
        var isFirst = true
        let octets = text.utf8.map { octet -> UInt8 in
            defer { isFirst = !octet.isASCIILetter }
            return isFirst && octet.isASCIILetter ? octet & ~0x20 : octet.asciiLowercased
        }
        let usual = String(decoding: octets, as: UTF8.self)
        return usual.hasOctetSuffix(" Gmt") ? usual.dropLast(3) + "GMT" : usual
    }
}
