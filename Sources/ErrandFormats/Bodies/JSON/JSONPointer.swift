/// A place in a JSON value ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)): the names and indices on the path from the outermost
/// value.
///
/// ```swift
/// json[at: "/user/tags/0"]?.stringValue
/// json[at: JSONPointer(["user", name])]           // with any names: they are escaped
/// ```
public struct JSONPointer: Sendable, Hashable {
    /// The names and indices, unescaped. Empty for the whole value.
    public let tokens: [String]

    /// Creates a place from names and indices that are not escaped.
    public init(_ tokens: [String]) { self.tokens = tokens }

    /// Creates a place from its text, such as `/user/tags/0`. In a name, `~1` is a slash, and `~0` is a tilde. The empty text is the
    /// whole value.
    ///
    /// - Returns: `nil` for a text that does not begin with a slash, or that has a tilde without `0` or `1` after it.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            var token: [UInt8] = []
            var isEscaped = false
            for byte in part {
                switch (isEscaped, byte) {
                case (false, UInt8(ascii: "~")): isEscaped = true
                case (false, _): token.append(byte)
                case (true, UInt8(ascii: "0")), (true, UInt8(ascii: "1")):
                    token.append(byte == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
                    isEscaped = false
                default: return nil
                }
            }
            guard !isEscaped else { return nil }
            tokens.append(String(decoding: token, as: UTF8.self))
        }
        self.tokens = tokens
    }

    /// Creates a place from the fragment of a URL ([section 6](https://www.rfc-editor.org/rfc/rfc6901#section-6)), such as `#/a%20b`;
    /// `nil` for any other text. The number sign may be missing.
    public init?(fragment: String) {
        let text = fragment.hasOctetPrefix("#") ? Substring(fragment.utf8.dropFirst()) : fragment[...]
        guard let decoded = PercentEncoding.decode(text) else { return nil }
        self.init(decoded)
    }

    /// Returns the place of a member or an element of the value at this place.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens + [token]) }

    /// Reads a token as the index of an element. `nil` unless the token is `0`, or digits without a leading zero.
    static func index(_ token: String) -> Int? {
        guard token.utf8.allSatisfy(\.isASCIIDigit), token.isExactly("0") || !token.hasOctetPrefix("0") else { return nil }
        return Int(token)
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The text, with its escapes.
    public var description: String {
        // Escapes octets, because a combining character after a slash must not hide the slash.
        var text: [UInt8] = []
        for token in tokens {
            text.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): text += "~0".utf8
                case UInt8(ascii: "/"): text += "~1".utf8
                default: text.append(byte)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension JSONPointer: ExpressibleByStringLiteral {
    /// Creates a place from a literal.
    ///
    /// - Precondition: the text is a valid pointer, as in ``init(_:)-(String)``.
    public init(stringLiteral text: String) {
        guard let pointer = JSONPointer(text) else {
            preconditionFailure("'\(text)' is not a JSON pointer: a pointer begins with '/', and every ~ is followed by 0 or 1")
        }
        self = pointer
    }
}
