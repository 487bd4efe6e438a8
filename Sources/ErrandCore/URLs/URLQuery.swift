/// Names and values of a query, in order; a name may come more than once.
///
/// ```swift
/// let query: URLQuery = ["q": "a+b", "page": 2, "tag": ["x", "y"], "after": nil as String?]
/// query.encoded   // q=a%2Bb&page=2&tag=x&tag=y
/// ```
///
/// Values are data: `+`, `&`, `=`, `;`, `%` and `#` are escaped, once; a space is `%20` (RFC 3986, 3.4). Nothing is sorted,
/// merged or dropped, but for a value of nil, which leaves its name out.
public struct URLQuery: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
    /// A name and its value; a value of nil is a name alone, without `=`.
    public struct Item: Sendable, Hashable {
        public var name: String
        public var value: String?

        public init(name: String, value: String?) { (self.name, self.value) = (name, value) }

        var encoded: String {
            let name = PercentEncoding.encode(name, allowing: .queryComponent)
            guard let value else { return name }
            return name + "=" + PercentEncoding.encode(value, allowing: .queryComponent)
        }
    }

    /// In the order in which they are sent.
    public var items: [Item]

    public init(_ items: [Item] = []) { self.items = items }

    public init(dictionaryLiteral elements: (String, any QueryValue)...) {
        items = elements.flatMap { name, value in value.queryValues.map { Item(name: name, value: $0) } }
    }

    public var isEmpty: Bool { items.isEmpty }

    /// Adds `name` once for each of the value's texts: none for nil, several for an array.
    public mutating func append(_ name: String, _ value: some QueryValue) {
        items += value.queryValues.map { Item(name: name, value: $0) }
    }

    /// Adds `name` alone, without `=`.
    public mutating func appendFlag(_ name: String) { items.append(Item(name: name, value: nil)) }

    public static func + (first: URLQuery, second: URLQuery) -> URLQuery { URLQuery(first.items + second.items) }

    /// Percent-encoded, without a question mark; empty where there are no items.
    public var encoded: String {
        items.map(\.encoded).joined(separator: "&")
    }

    /// The items, with the values of sensitive names replaced.
    public var description: String { Sensitivity.standard.redactedQuery(encoded) }
}

extension URLQuery: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["query": description]) }
}

extension URLQuery.Item: CustomStringConvertible, CustomReflectable {
    /// Name and value, percent-encoded; the value of a sensitive name is replaced.
    public var description: String { Sensitivity.standard.redactedQuery(encoded) }
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}

/// What can stand as a value in a ``URLQuery``: text, numbers, truth values, optionals (nil leaves the name out) and arrays
/// (the name comes again for each element).
public protocol QueryValue: Sendable {
    /// One text for each time that the name is sent.
    var queryValues: [String] { get }
}

extension String: QueryValue { public var queryValues: [String] { [self] } }
extension Substring: QueryValue { public var queryValues: [String] { [String(self)] } }
extension Int: QueryValue { public var queryValues: [String] { [String(self)] } }
extension Int32: QueryValue { public var queryValues: [String] { [String(self)] } }
extension Int64: QueryValue { public var queryValues: [String] { [String(self)] } }
extension UInt: QueryValue { public var queryValues: [String] { [String(self)] } }
extension UInt64: QueryValue { public var queryValues: [String] { [String(self)] } }
extension Double: QueryValue { public var queryValues: [String] { [String(self)] } }
/// `true` or `false`.
extension Bool: QueryValue { public var queryValues: [String] { [String(self)] } }
extension UUID: QueryValue { public var queryValues: [String] { [uuidString] } }
extension Optional: QueryValue where Wrapped: QueryValue {
    public var queryValues: [String] { self?.queryValues ?? [] }
}
extension Array: QueryValue where Element: QueryValue {
    public var queryValues: [String] { flatMap(\.queryValues) }
}
/// Enumerations with a `String` or a number behind them: `enum Sort: String, QueryValue { … }`.
extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    public var queryValues: [String] { rawValue.queryValues }
}
