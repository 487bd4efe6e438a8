internal import ErrandFormats

/// A value in a ``URLQuery``. Text, numbers, Boolean values, dates, URLs, data, optionals and arrays conform to this protocol.
///
/// If a value is `nil`, its name is left out. An array repeats the name for each element (see ``URLQuery/ArrayStyle``). A date is
/// written in ISO 8601, in UTC and without fractions of a second: `2026-11-21T12:36:00Z`.
///
/// An enumeration with a raw value only needs to declare the conformance:
///
/// ```swift
/// enum Sort: String, QueryValue { case byName = "name", byAge = "age" }
/// let query: URLQuery = ["sort": Sort.byAge]      // sort=age
/// ```
public protocol QueryValue: Sendable {
    /// The texts of the value. The name is sent once for each text. If the array is empty, the name is left out.
    var queryValues: [String] { get }
}

/// The unchanged text.
extension String: QueryValue { public var queryValues: [String] { [self] } }
/// The unchanged text.
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
/// The shortest text from which the same number can be read: `0.5`, `2.0`, `1e+20`.
extension Double: QueryValue { public var queryValues: [String] { [String(self)] } }
/// The shortest text from which the same number can be read: `0.5`, `2.0`.
extension Float: QueryValue { public var queryValues: [String] { [String(self)] } }
/// All significant digits, with a period: `12.50` is written as `12.5`.
extension Decimal: QueryValue { public var queryValues: [String] { [description] } }
/// `true` or `false`.
extension Bool: QueryValue { public var queryValues: [String] { [String(self)] } }
/// Upper-case hexadecimal digits, as in `uuidString`.
extension UUID: QueryValue { public var queryValues: [String] { [uuidString] } }
/// ISO 8601 in UTC, in the Gregorian calendar and without fractions of a second: `2026-11-21T12:36:00Z`. A date outside the years 0000 to
/// 9999 has no such text: the name is left out.
extension Date: QueryValue { public var queryValues: [String] { formattedISO8601.map { [$0] } ?? [] } }
/// The absolute URL, resolved against its base if it has a base.
extension URL: QueryValue { public var queryValues: [String] { [absoluteString] } }
/// Base64 with padding, as in JSON.
extension Data: QueryValue { public var queryValues: [String] { [base64EncodedString()] } }
/// The wrapped value. If the value is `nil`, the name is left out.
extension Optional: QueryValue where Wrapped: QueryValue {
    public var queryValues: [String] { self?.queryValues ?? [] }
}
/// The name is sent once for each element. If the array is empty, the name is left out.
extension Array: QueryValue where Element: QueryValue {
    public var queryValues: [String] { flatMap(\.queryValues) }
}
/// The raw value of an enumeration: `enum Sort: String, QueryValue { … }`.
extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    public var queryValues: [String] { rawValue.queryValues }
}

extension Date {
    /// The date in the form of ``QueryValue``; `nil` outside the years 0000 to 9999.
    var formattedISO8601: String? { RFC3339Date.text(secondsSinceEpoch: secondsSince1970(in: .gmt).seconds) }
}
