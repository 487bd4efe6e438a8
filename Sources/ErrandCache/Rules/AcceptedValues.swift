internal import ErrandCore

/// The normal form of the fields by which a client says what it accepts
/// ([RFC 9110, section 12.5](https://www.rfc-editor.org/rfc/rfc9110#section-12.5)). The order of the members, white space, and the case of
/// languages and codings have no meaning.
enum AcceptedValues {
    /// Returns the normal form of a list.
    ///
    /// - Parameter ignoresCase: whether the case of all letters has no meaning. If false, only the case of the quality's name is ignored.
    static func normalized(_ value: String, ignoresCase: Bool) -> String {
        members(value, ignoresCase: ignoresCase).map { $0.quality == 1000 ? $0.range : "\($0.range);q=\($0.quality)" }
            .joined(separator: ",")
    }

    /// Returns the language that a client prefers to all other languages, in lower case; `nil` if there is no such language.
    static func preferredLanguage(_ value: String) -> String? {
        let members = members(value, ignoresCase: true)
        guard let first = members.first, first.quality > 0, members.count == 1 || members[1].quality < first.quality else { return nil }
        return first.range.isExactly("*") ? nil : first.range
    }

    private struct Member {
        /// The language, coding or media type, with all parameters but the quality.
        let range: String
        /// The quality in thousandths.
        let quality: Int
    }

    /// Returns the members, the best quality first, then in the order of their octets.
    private static func members(_ value: String, ignoresCase: Bool) -> [Member] {
        value.listMembers.map { member($0, ignoresCase: ignoresCase) }.sorted { one, other in
            one.quality != other.quality ? one.quality > other.quality : one.range.utf8.lexicographicallyPrecedes(other.range.utf8)
        }
    }

    private static func member(_ text: String, ignoresCase: Bool) -> Member {
        // A quoted string may contain a semicolon. Therefore a member with a quoted string stays unchanged.
        guard !text.containsOctet(UInt8(ascii: "\"")) else { return Member(range: text, quality: 1000) }
        var parts = text.split(atOctet: UInt8(ascii: ";")).map { String($0).trimmingOptionalWhitespace() }
        var quality = 1000
        if let last = parts.last, parts.count > 1, last.hasOctetPrefix("q=") || last.hasOctetPrefix("Q=") {
            guard let number = thousandths(last.dropFirst(2)) else { return Member(range: text, quality: 1000) }
            quality = number
            parts.removeLast()
        }
        let range = parts.joined(separator: ";")
        return Member(range: ignoresCase ? range.lowercased() : range, quality: quality)
    }

    /// Reads a quality with at most three decimals ([RFC 9110, section 12.4.2](https://www.rfc-editor.org/rfc/rfc9110#section-12.4.2)).
    private static func thousandths(_ text: Substring) -> Int? {
        let octets = Array(text.utf8)
        guard let first = octets.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1"), octets.count <= 5 else { return nil }
        guard octets.count == 1 || octets[1] == UInt8(ascii: "."), octets.dropFirst(2).allSatisfy(\.isASCIIDigit) else { return nil }
        var number = Int(first - UInt8(ascii: "0"))
        for index in 2..<5 { number = number * 10 + (index < octets.count ? Int(octets[index] - UInt8(ascii: "0")) : 0) }
        return number <= 1000 ? number : nil
    }
}
