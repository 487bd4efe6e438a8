/// Which octets an authority ([RFC 3986, section 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2)) must not hold as it is written,
/// before its host and port are parsed.
enum AuthorityOctets {
    /// Whether `octet` is a space, a control or DEL, which would end a word or a line of the message.
    static func isControl(_ octet: UInt8) -> Bool { octet <= 0x20 || octet == 0x7F }

    /// Whether `octet` would end the authority in a URL, or split it. An authority that is set apart from a URL must not hold it.
    static func isDelimiter(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"): true
        default: false
        }
    }
}
