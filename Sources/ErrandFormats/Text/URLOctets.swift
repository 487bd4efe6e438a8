extension UInt8 {
    /// Whether the octet is a space, a control character or DEL. Each of these octets would end a word or a line of a message.
    @inlinable package var isSpaceOrControl: Bool { self <= 0x20 || self == 0x7F }

    /// Whether the octet would end an authority in a URL, or would split the authority ([RFC 3986, section
    /// 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2)). An authority that is not part of a URL must not contain a delimiter.
    @inlinable package var isAuthorityDelimiter: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"): true
        default: false
        }
    }

    /// Whether the authority of a message may contain the octet: visible ASCII that is not a delimiter.
    @inlinable package var isAuthorityOctet: Bool { !isSpaceOrControl && self < 0x80 && !isAuthorityDelimiter }

    /// Whether the path or the query of a message may contain the octet: visible ASCII without `#`, which begins a fragment.
    @inlinable package var isTargetOctet: Bool { !isSpaceOrControl && self < 0x80 && self != UInt8(ascii: "#") }
}
