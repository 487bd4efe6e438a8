public import ErrandFormats

extension JSONNumber {
    /// The number as a `Decimal`, rounded to 38 digits. Halves are rounded away from zero. `nil` for a number out of the range
    /// of `Decimal`.
    public var decimalValue: Decimal? { Decimal(string: text(roundedTo: 38)) }

    /// Creates the number with the text of a `Decimal`; `nil` for NaN, which JSON can't express.
    public init?(exactly value: Decimal) { self.init(value.description) }
}

extension JSONValue {
    /// The number as a `Decimal`, rounded to 38 digits. Halves are rounded away from zero. `nil` for a value that is not a
    /// number, and for a number out of the range of `Decimal`.
    public var decimalValue: Decimal? { numberValue?.decimalValue }
}
