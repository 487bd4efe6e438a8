extension ArraySlice<UInt8> {
    /// Removes a number with `count` decimal digits from the front, and returns the number. If there are fewer digits, returns `nil`, and
    /// leaves the octets unchanged.
    mutating func popNumber(of count: Int) -> Int? {
        let digits = prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        self = dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
