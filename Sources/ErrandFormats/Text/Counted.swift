extension BinaryInteger {
    /// Returns the number with its noun: `1 byte`, `3 bytes`.
    ///
    /// - Parameters:
    ///   - one: the noun for the number 1.
    ///   - many: the noun for all other numbers. `nil`, the default: `one` with an s.
    package func counted(_ one: String, _ many: String? = nil) -> String { "\(self) \(self == 1 ? one : many ?? one + "s")" }
}
