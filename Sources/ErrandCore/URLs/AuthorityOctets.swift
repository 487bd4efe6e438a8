/// The octets that an authority ([RFC 3986, section 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2)) must not contain.
/// An authority is checked for these octets before the host and the port are parsed.
enum AuthorityOctets {
    /// Returns whether `octet` is a space, a control character or DEL, which would end a word or a line of the message.
    static func isControl(_ octet: UInt8) -> Bool { octet <= 0x20 || octet == 0x7F }

    /// Returns whether `octet` would end or split the authority within a URL. An authority outside a URL must not contain such an
    /// octet.
    static func isDelimiter(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"): true
        default: false
        }
    }
}
