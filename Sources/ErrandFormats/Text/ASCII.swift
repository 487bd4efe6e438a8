extension UInt8 {
    @inlinable package var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
    @inlinable package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
    /// Whether the byte is white space of JSON ([RFC 8259, section 2](https://www.rfc-editor.org/rfc/rfc8259#section-2)): space, tab,
    /// line feed and carriage return.
    @inlinable package var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
    /// Whether the byte is optional white space of a field
    /// ([RFC 9110, section 5.6.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.3)): a space or a tab.
    @inlinable package var isOptionalSpace: Bool { self == 0x20 || self == 0x09 }
    /// Whether the byte is a `tchar` ([RFC 9110, section 5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)).
    @inlinable package var isTokenOctet: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }
    /// The value of a hexadecimal digit; `nil` for any other octet.
    @inlinable package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
    package var isHexDigit: Bool { hexValue != nil }
    /// Whether the name of a host may contain the octet: a letter, a digit, a hyphen, a dot or an underscore.
    @inlinable package var isHostNameOctet: Bool {
        isASCIILetter || isASCIIDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
    }
}
