/// The value of an `Accept-Language` field ([RFC 9110, section 12.5.4](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.4)), from a list
/// of languages.
///
/// ```swift
/// let languages = AcceptLanguage(preferred: ["de-AT", "de", "en_US"])
/// languages.value         // de-AT, de;q=0.9, en-US;q=0.8
/// ```
///
/// The first language has the quality 1. Each further language has a quality that is lower by 0.1. From the qualities, the
/// server knows the order of the languages.
///
/// The list of an app or of a device can contain entries that a field can't contain. The value leaves out these entries, so no request
/// fails. The property ``ignored`` has the entries.
public struct AcceptLanguage: Sendable, Hashable {
    /// The largest number of languages in a value: 10. The tenth language has the quality 0.1.
    public static let maxLanguages = 10

    /// The longest language range, in octets. The tags that RFC 5646, section 4.4.1, describes have at most 35 octets.
    private static let maxRangeBytes = 64

    /// The languages of the value, in order: at most ``maxLanguages``.
    public let languages: [String]
    /// The entries of the list that are left out: invalid entries, repeated languages, and entries after the tenth language.
    public let ignored: [String]

    /// Creates a value from a list of languages.
    ///
    /// An entry is a language range ([RFC 4647, section 2.1](https://www.rfc-editor.org/rfc/rfc4647#section-2.1)). The range is a language
    /// tag, such as `de`, `pt-BR` or `zh-Hant-TW`, or `*` for any language. An underscore counts as a hyphen, because identifiers of a
    /// `Locale` have underscores: `en_US`. The comparison of languages ignores case.
    ///
    /// - Parameter preferred: the languages, the best language first. Some entries are left out: see ``ignored``.
    public init(preferred: [String]) {
        var (languages, ignored): ([String], [String]) = ([], [])
        for entry in preferred {
            let range = entry.escapingOctets(.underscore) { _ in "-" }
            if languages.count < Self.maxLanguages, Self.isRange(range), !languages.contains(where: range.isExactlyIgnoringCase) {
                languages.append(range)
            } else {
                ignored.append(entry)
            }
        }
        (self.languages, self.ignored) = (languages, ignored)
    }

    /// The field's value; `nil` if the list has no valid language. Without the field, a server chooses the language.
    public var value: String? {
        if languages.isEmpty { return nil }
        return languages.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(Self.maxLanguages - $0)" }.joined(separator: ", ")
    }

    private static func isRange(_ text: String) -> Bool {
        if text.isExactly("*") { return true }
        guard text.utf8.count <= maxRangeBytes else { return false }
        let subtags = text.split(atOctet: UInt8(ascii: "-"), omittingEmptyPieces: false)
        guard subtags.allSatisfy({ (1...8).contains($0.utf8.count) }) else { return false }
        return subtags[0].utf8.allSatisfy(\.isASCIILetter)
            && subtags.allSatisfy { $0.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit } }
    }
}

extension ByteSet {
    fileprivate static let underscore = ByteSet { $0 == UInt8(ascii: "_") }
}
