/// A value in a ``URLQuery``: text, numbers, truth values, dates, URLs, data, optionals and arrays.
///
/// `nil` leaves the name out. An array repeats the name for each element (see ``URLQuery/ArrayStyle``). A date is text as in ISO 8601, in UTC and
/// without fractions of a second: `2026-11-21T12:36:00Z`.
///
/// An enumeration with a raw value only has to declare the conformance:
///
/// ```swift
/// enum Sort: String, QueryValue { case byName = "name", byAge = "age" }
/// let query: URLQuery = ["sort": Sort.byAge]      // sort=age
/// ```
public protocol QueryValue: Sendable {
    /// One text for each time that the name is sent; empty to leave the name out.
    var queryValues: [String] { get }
}

/// The text as it is.
extension String: QueryValue { public var queryValues: [String] { [self] } }
/// The text as it is.
extension Substring: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension Int: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension Int32: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension Int64: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension UInt: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension UInt32: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Decimal digits.
extension UInt64: QueryValue { public var queryValues: [String] { [String(self)] } }
/// The shortest text that reads as the same number: `0.5`, `2.0`, `1e+20`.
extension Double: QueryValue { public var queryValues: [String] { [String(self)] } }
/// The shortest text that reads as the same number: `0.5`, `2.0`.
extension Float: QueryValue { public var queryValues: [String] { [String(self)] } }
/// All digits, with a period: `12.50` is `12.5`.
extension Decimal: QueryValue { public var queryValues: [String] { [description] } }
/// `true` or `false`.
extension Bool: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Upper-case hexadecimal digits, as `uuidString` has them.
extension UUID: QueryValue { public var queryValues: [String] { [uuidString] } }
/// ISO 8601 in UTC, without fractions of a second: `2026-11-21T12:36:00Z`.
extension Date: QueryValue { public var queryValues: [String] { [formattedISO8601] } }
/// The URL as it is written, with its base where it has one.
extension URL: QueryValue { public var queryValues: [String] { [absoluteString] } }
/// Base64 with padding, as JSON has it.
extension Data: QueryValue { public var queryValues: [String] { [base64EncodedString()] } }
/// The wrapped value; `nil` leaves the name out.
extension Optional: QueryValue where Wrapped: QueryValue {
    public var queryValues: [String] { self?.queryValues ?? [] }
}
/// The name once for each element; an empty array leaves the name out.
extension Array: QueryValue where Element: QueryValue {
    public var queryValues: [String] { flatMap(\.queryValues) }
}
/// The raw value of an enumeration: `enum Sort: String, QueryValue { … }`.
extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    public var queryValues: [String] { rawValue.queryValues }
}

extension Date {
    /// As ``QueryValue`` writes it.
    var formattedISO8601: String { ISO8601FormatStyle().format(self) }
}
