extension Int64 {
    /// Reads decimal digits. A number above the range of `Int64` becomes the largest number of the range. Leading zeros are allowed.
    ///
    /// - Parameter digits: the text in UTF-8, of any length.
    /// - Returns: `nil` for an empty text, and for a text with any other octet, such as a sign.
    package init?(clampingDigits digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard digit.isASCIIDigit else { return nil }
            let (product, isOverflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            number = isOverflow || isTooLarge ? .max : sum
        }
        self = number
    }
}
