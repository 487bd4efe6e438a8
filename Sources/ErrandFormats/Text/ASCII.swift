extension UInt8 {
    package var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
    package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
    /// Whether the byte is white space of JSON ([RFC 8259, section 2](https://www.rfc-editor.org/rfc/rfc8259#section-2)): space, tab,
    /// line feed and carriage return.
    package var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
    /// Whether the byte is optional white space of a field
    /// ([RFC 9110, section 5.6.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.3)): a space or a tab.
    var isOptionalSpace: Bool { self == 0x20 || self == 0x09 }
    /// Whether the byte is a `tchar` ([RFC 9110, section 5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)).
    var isTokenOctet: Bool { isASCIILetter || isASCIIDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
