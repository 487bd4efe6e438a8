/// A version of HTTP, as the protocol writes it ([RFC 9110, section 2.5](https://www.rfc-editor.org/rfc/rfc9110#section-2.5)): `HTTP/1.1`,
/// `HTTP/2`. Other versions may be added.
///
/// ```swift
/// if response.metadata.httpVersion == .http2 { print("over HTTP/2") }
/// ```
public struct HTTPVersion: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// HTTP/1.0 ([RFC 1945](https://www.rfc-editor.org/rfc/rfc1945)).
    public static let http1_0 = HTTPVersion(major: 1, minor: 0)
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// HTTP/1.1 ([RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)).
    public static let http1_1 = HTTPVersion(major: 1, minor: 1)
    /// HTTP/2 ([RFC 9113](https://www.rfc-editor.org/rfc/rfc9113)).
    public static let http2 = HTTPVersion(major: 2, minor: 0)
    /// HTTP/3 ([RFC 9114](https://www.rfc-editor.org/rfc/rfc9114)).
    public static let http3 = HTTPVersion(major: 3, minor: 0)

    private let major: UInt8
    private let minor: UInt8

    /// Creates a version from its two digits.
    ///
    /// - Precondition: both numbers are from 0 to 9.
    package init(major: Int, minor: Int) {
        precondition((0...9).contains(major) && (0...9).contains(minor), "major and minor must be from 0 to 9 (are \(major) and \(minor))")
        (self.major, self.minor) = (UInt8(major), UInt8(minor))
    }

    /// Creates a version from its text: `HTTP/`, a digit, and optionally a point and a digit. The text is case-sensitive. `HTTP/2.0` is
    /// equal to `HTTP/2`. Returns `nil` for any other text.
    public init?(rawValue: String) {
        let text = Array(rawValue.utf8)
        guard text.starts(with: "HTTP/".utf8) else { return nil }
        let zero = UInt8(ascii: "0")
        switch text.count {
        case 6 where text[5].isASCIIDigit: (major, minor) = (text[5] - zero, 0)
        case 8 where text[5].isASCIIDigit && text[6] == UInt8(ascii: ".") && text[7].isASCIIDigit:
            (major, minor) = (text[5] - zero, text[7] - zero)
        default: return nil
        }
    }

    /// The number without the name of the protocol: `1.1`, `2`. From version 2 on, a minor number of 0 is not shown.
    public var number: String { major >= 2 && minor == 0 ? "\(major)" : "\(major).\(minor)" }
    /// The text: `HTTP/1.1`, `HTTP/2`.
    public var rawValue: String { "HTTP/\(number)" }
    /// The text: `HTTP/1.1`, `HTTP/2`.
    public var description: String { rawValue }
}
