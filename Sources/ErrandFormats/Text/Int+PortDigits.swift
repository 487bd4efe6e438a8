extension Int {
    /// Reads a port: one to five digits, with a value from 1 to 65535. Leading zeros are allowed. For example, `0443` is read as 443 ([RFC
    /// 3986, section 3.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-3.2.3)).
    ///
    /// - Parameter portDigits: the text after the colon, in UTF-8.
    /// - Returns: `nil` for any other text, such as a number with a sign.
    @inlinable package init?(portDigits digits: some Collection<UInt8>) {
        var (number, count) = (0, 0)
        for digit in digits {
            guard digit.isASCIIDigit, count < 5 else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
            count += 1
        }
        guard (1...65_535).contains(number) else { return nil }
        self = number
    }
}
