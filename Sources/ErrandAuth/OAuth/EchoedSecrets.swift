#if Auth
internal import ErrandCore
internal import ErrandFormats

/// Hides the secrets of a request in the text of a response, because some servers repeat refused values in their errors.
///
/// A secret of at least 6 octets is replaced in these forms: plain, form-encoded, percent-encoded and Base64. A shorter secret may
/// be a part of any word. If a shorter secret is a whole word of the text, the whole text is hidden. Hide secrets only in texts
/// for people, and never in a text that the code compares or parses.
///
/// `SecretScrubber` of `ErrandRedaction` does not replace this type, for two reasons:
/// - `ErrandAuth` may not import `ErrandRedaction`, so that a program with OAuth does not link the code that reads bodies.
/// - `SecretScrubber` also replaces a short secret within words. Within an error's message, the rest of the word would reveal the secret.
struct EchoedSecrets: Sendable {
    /// The length of the shortest secret that is replaced within a text, in octets.
    static let shortestBytes = 6

    private let secrets: [String]

    init(_ secrets: [String]) { self.secrets = secrets.filter { !$0.isEmpty } }

    /// Returns the forms in which servers show a secret.
    private static func forms(of secret: String) -> [String] {
        let data = Data(secret.utf8)
        let encoded = [FormURLEncoded.encode(secret), PercentEncoding.encode(secret, allowing: URLCharacterSet("-._~"))]
        let base64 = data.base64EncodedString()
        let plain = base64.replacing("=", with: "")  // octets: Base64 is ASCII
        return [secret] + encoded + encoded.map(lowercasedEscapes) + [base64, plain, Base64.encodeForURLs(data)]
    }

    /// Returns the text with lowercase percent-encoding: `%2b` for `%2B`.
    private static func lowercasedEscapes(_ text: String) -> String {
        var digits = 0
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            bytes.append(digits > 0 ? byte.asciiLowercased : byte)
            digits = byte == UInt8(ascii: "%") ? 2 : max(0, digits - 1)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text, with the secrets replaced.
    func hidden(in text: String) -> String {
        let bytes = Array(text.utf8)
        let isWord = secrets.contains { $0.utf8.count < Self.shortestBytes && Self.isWord(Array($0.utf8), in: bytes) }
        return isWord ? Sensitivity.urlPlaceholder : hiddenLong(in: text)
    }

    /// Returns the text, with each secret of at least ``shortestBytes`` octets replaced.
    func hiddenLong(in text: String) -> String {
        var bytes = Array(text.utf8)
        let candidates = secrets.filter { $0.utf8.count >= Self.shortestBytes && $0.utf8.count <= bytes.count }
        // The longest forms are replaced first, because a long form may contain a shorter form.
        let forms = Set(candidates.flatMap(Self.forms).map { Array($0.utf8) }).sorted { $0.count > $1.count }
        for form in forms where form.count <= bytes.count {
            var (result, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes[...])
            while let found = rest.firstRange(of: form) {  // octets: both are octets
                result += rest[..<found.lowerBound] + Array(Sensitivity.urlPlaceholder.utf8)
                rest = rest[found.upperBound...]
            }
            if !result.isEmpty { bytes = result + rest }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isWord(_ word: [UInt8], in bytes: [UInt8]) -> Bool {
        func isPartOfWord(_ byte: UInt8?) -> Bool {
            byte.map { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") || $0 >= 0x80 } ?? false
        }
        var rest = bytes[...]
        while let found = rest.firstRange(of: word) {  // octets: both are octets
            let before = found.lowerBound > 0 ? bytes[found.lowerBound - 1] : nil
            let after = found.upperBound < bytes.count ? bytes[found.upperBound] : nil
            if !isPartOfWord(before), !isPartOfWord(after) { return true }
            rest = bytes[(found.lowerBound + 1)...]
        }
        return false
    }
}
#endif
