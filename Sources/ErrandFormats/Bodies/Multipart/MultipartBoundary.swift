/// The text that separates the parts of a multipart body ([RFC 2046, section 5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)).
///
/// No line in a part may begin with two hyphens and the boundary. A random boundary has 128 random bits. It is therefore
/// practically impossible that a part contains the boundary by chance.
public struct MultipartBoundary: Sendable, Hashable, CustomStringConvertible {
    /// The longest boundary, in bytes ([RFC 2046, section 5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)).
    static let limitBytes = 70

    /// The text, without the hyphens before it.
    public let text: String

    /// Creates a boundary with a fixed text, for a body that must always have the same bytes.
    ///
    /// `text` must have 1 to 70 characters, each of them a letter, a digit, a space or one of `'()+_,-./:=?`. The last character must
    /// not be a space. For any other text, the result is `nil`.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        guard (1...Self.limitBytes).contains(text.utf8.count), text.utf8.last != 0x20,
            text.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || " '()+_,-./:=?".utf8.contains($0) })
        else { return nil }
        self.text = text
    }

    private init(random: (UInt64, UInt64)) {
        func hexadecimal(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        text = "errand-" + hexadecimal(random.0) + hexadecimal(random.1)
    }

    /// Returns a boundary with 128 bits from the system's generator.
    public static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Returns a boundary with 128 bits from `generator`.
    public static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        MultipartBoundary(random: (generator.next(), generator.next()))
    }

    /// Whether the boundary of a body is longer than ``limitBytes``; false for `nil`.
    package static func isTooLong(_ boundary: String?) -> Bool { (boundary?.utf8.count ?? 0) > limitBytes }

    /// The value of a form's `Content-Type` with this boundary, such as `multipart/form-data; boundary=errand-…`.
    package var contentType: String {
        let isToken = text.utf8.allSatisfy(\.isTokenOctet)
        return "multipart/form-data; boundary=" + (isToken ? text : "\"\(text)\"")
    }

    /// The text.
    public var description: String { text }
}
