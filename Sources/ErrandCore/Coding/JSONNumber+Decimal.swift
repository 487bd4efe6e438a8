public import ErrandFormats

extension JSONNumber {
    /// The number as a `Decimal`, rounded to 38 digits, halves away from zero; `nil` for a number out of its range.
    public var decimalValue: Decimal? { Decimal(string: text(roundedTo: 38)) }

    /// The number that a `Decimal` prints as; `nil` for a value that JSON cannot hold: NaN.
    public init?(exactly value: Decimal) { self.init(value.description) }
}

extension JSONValue {
    /// The number as a `Decimal`, rounded to 38 digits, halves away from zero; `nil` for a value that is not a number, and for a number out of its range.
    public var decimalValue: Decimal? { numberValue?.decimalValue }
}
