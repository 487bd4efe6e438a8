/// The format `application/x-www-form-urlencoded`, in which forms send names and values ([WHATWG URL, section
/// 5.2](https://url.spec.whatwg.org/#urlencoded-serializing)).
///
/// ```swift
/// FormURLEncoded.encode([(name: "user", value: "joe b"), (name: "mail", value: "joe@a.example")])
/// // user=joe+b&mail=joe%40a.example
/// ```
public enum FormURLEncoded {
    /// The name of the media type.
    public static let mediaType = "application/x-www-form-urlencoded"

    /// Returns the pairs in their order, joined by `&`.
    ///
    /// A space becomes `+`. Everything except letters, digits and `*-._` is escaped as UTF-8.
    public static func encode(_ pairs: some Sequence<(name: String, value: String)>) -> String {
        var bytes: [UInt8] = []
        for (name, value) in pairs {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the members of a dictionary as pairs. The pairs are sorted by name, because a dictionary has no order.
    public static func encode(_ dictionary: [String: String]) -> String {
        encode(dictionary.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })
    }

    /// Encodes a text as the name or the value of an item.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the pairs in their order, with escapes resolved. A value is `nil` if the item has no `=`. Empty items are left out.
    ///
    /// If a name or value has a broken escape, or octets that are not UTF-8, the escapes in that name or value are kept.
    ///
    /// - Parameter plusIsSpace: whether `+` is a space, as in a form. The query of a URL has the same form, but in a query, `+` may be a
    ///   plus sign.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = true) -> [(name: String, value: String?)] {
        func decoded(_ octets: ArraySlice<UInt8>) -> String {
            let octets = plusIsSpace ? octets.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 } : Array(octets)
            let text = String(decoding: octets, as: UTF8.self)
            return PercentEncoding.decode(text) ?? text
        }
        // Splits octets, because a combining character after a separator must not hide the separator.
        return Array(text.utf8).split(separator: UInt8(ascii: "&")).map { item in
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return (decoded(item), nil) }
            return (decoded(item[..<equals]), decoded(item[(equals + 1)...]))
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "):
                bytes.append(UInt8(ascii: "+"))
            default:
                PercentEncoding.append(byte, to: &bytes)
            }
        }
    }
}
