/// `application/x-www-form-urlencoded`: pairs of names and values, as forms send them (WHATWG URL, 5.2).
public enum FormURLEncoded {
    /// The media type's name.
    public static let mediaType = "application/x-www-form-urlencoded"

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// The pairs in order, joined by `&`. A space becomes `+`; all but letters, digits and `*-._` is escaped as UTF-8.
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

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "):
                bytes.append(UInt8(ascii: "+"))
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}
