/// The names and values of a query, in order. A name may occur more than once.
///
/// ```swift
/// var query: URLQuery = ["q": "a+b", "page": 2, "tag": ["x", "y"], "after": nil as String?]
/// query.encoded                       // q=a%2Bb&page=2&tag=x&tag=y
/// query.set("page", 3)                // q=a%2Bb&page=3&tag=x&tag=y
/// query["q"]                          // a+b
/// query.append("ids", [1, 2], style: .commas)
/// ```
///
/// Values are data: `+`, `&`, `=`, `;`, `%` and `#` are percent-encoded once, and a space becomes `%20`
/// ([RFC 3986, section 3.4](https://www.rfc-editor.org/rfc/rfc3986#section-3.4)). Nothing is sorted, merged or dropped, except
/// that a name with the value `nil` is left out.
///
/// The query of a request is ``Request/query``. If the query comes from this property or from ``init(percentEncoded:)``, each
/// unchanged item keeps its exact octets.
public struct URLQuery: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible, HidesStorage {
    /// A name and its value. If the value is `nil`, the item is a name without `=`.
    public struct Item: Sendable, Hashable {
        /// The name, without escapes.
        public var name: String { didSet { written = nil } }
        /// The value, without escapes; `nil` for a name without `=`.
        public var value: String? { didSet { written = nil } }
        /// The item as it was written, percent-encoded; `nil` after the name or the value was set.
        private var written: String?

        /// Creates an item from a name and a value that are not percent-encoded.
        public init(name: String, value: String?) { (self.name, self.value) = (name, value) }

        /// Creates an item that keeps its octets.
        ///
        /// - Parameter written: the item, percent-encoded, without the separating `&`.
        fileprivate init(written: Substring) {
            func decoded(_ text: Substring) -> String { PercentEncoding.decode(text) ?? String(text) }
            if let equals = written.utf8.firstIndex(of: UInt8(ascii: "=")) {
                name = decoded(written[..<equals])
                value = decoded(written[written.utf8.index(after: equals)...])
            } else {
                (name, value) = (decoded(written), nil)
            }
            self.written = String(written)
        }

        /// Creates an item from an array, with commas between the elements. A comma within an element is percent-encoded.
        fileprivate init(name: String, list: [String]) {
            (self.name, value) = (name, list.joined(separator: ","))
            let elements = list.map { text in
                PercentEncoding.encode(text, allowing: .queryComponent).split(atOctet: UInt8(ascii: ","), omittingEmptyPieces: false)
                    .joined(separator: "%2C")
            }
            written = PercentEncoding.encode(name, allowing: .queryComponent) + "=" + elements.joined(separator: ",")
        }

        var encoded: String {
            if let written { return written }
            let name = PercentEncoding.encode(name, allowing: .queryComponent)
            guard let value else { return name }
            return name + "=" + PercentEncoding.encode(value, allowing: .queryComponent)
        }

        /// Returns whether the names and the values of two items are equal. The escapes of the two items may differ.
        public static func == (first: Item, second: Item) -> Bool { first.name == second.name && first.value == second.value }

        /// Hashes the name and the value.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(value)
        }
    }

    /// The form in which an array is written.
    public struct ArrayStyle: Sendable, Hashable, CustomStringConvertible {
        /// The name is repeated for each element: `ids=1&ids=2`. The default.
        public static let repeated = ArrayStyle(description: "repeated")
        /// The name with brackets, once for each element: `ids[]=1&ids[]=2`, sent as `ids%5B%5D=1&ids%5B%5D=2`. PHP and Rails expect this
        /// form.
        public static let brackets = ArrayStyle(description: "brackets")
        /// The name once, with commas between the elements: `ids=1,2`. A comma within an element is percent-encoded.
        public static let commas = ArrayStyle(description: "commas")

        /// The name of the style.
        public let description: String

        /// Returns the pairs of an array, with names and values that are not percent-encoded; no pairs for an empty array.
        func pairs(_ name: String, _ texts: [String]) -> [(name: String, value: String)] {
            switch self {
            case .commas: texts.isEmpty ? [] : [(name, texts.joined(separator: ","))]
            default: texts.map { (itemName(name), $0) }
            }
        }

        /// Returns the name of each item of an array.
        fileprivate func itemName(_ name: String) -> String { self == .brackets ? name + "[]" : name }

        fileprivate func items(_ name: String, _ texts: [String]) -> [Item] {
            if self == .commas { return texts.isEmpty ? [] : [Item(name: name, list: texts)] }
            return pairs(name, texts).map { Item(name: $0.name, value: $0.value) }
        }
    }

    /// The items in the order in which they are sent.
    public var items: [Item]

    /// Creates a query from items; empty by default.
    public init(_ items: [Item] = []) { self.items = items }

    /// Creates a query from the items of a literal, in order.
    public init(dictionaryLiteral elements: (String, any QueryValue)...) {
        items = elements.flatMap { name, value in value.queryValues.map { Item(name: name, value: $0) } }
    }

    /// Creates a query from a dictionary. The items are sorted by name, because a dictionary has no order. A literal of the type
    /// `URLQuery` keeps its order.
    public init(_ dictionary: [String: String]) {
        items = dictionary.sorted { $0.key < $1.key }.map { Item(name: $0.key, value: $0.value) }
    }

    /// Creates a query from the items of Foundation's `URLComponents`, in order.
    ///
    /// ```swift
    /// let query = URLQuery(queryItems: components.queryItems ?? [])
    /// ```
    public init(queryItems: [URLQueryItem]) { items = queryItems.map { Item(name: $0.name, value: $0.value) } }

    /// Creates a query from the members of a structure or a dictionary.
    ///
    /// The members of a structure are in the order in which the structure encodes them. The members of a dictionary are sorted by
    /// name.
    ///
    /// ```swift
    /// struct Filter: Encodable { var q: String; var page = 1; var after: Date?; var tags: [String] = [] }
    /// let query = try URLQuery(encoding: Filter(q: "swift", tags: ["a", "b"]))    // q=swift&page=1&tags=a&tags=b
    /// ```
    ///
    /// A `nil` member is left out.
    ///
    /// - Parameters:
    ///   - value: a structure or a dictionary. Its members must be plain values, or arrays of plain values.
    ///   - arrays: the form in which an array is written.
    ///   - coding: the form in which property names, dates and data are written. By default, names stay unchanged, dates are
    ///     written in ISO 8601, and data is Base64. For the coding of a client, pass `client.jsonCoding`.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; also any error that `value` throws.
    public init(encoding value: some Encodable, arrays: ArrayStyle = .repeated, coding: JSONCoding = .standard) throws {
        items = try EncodedPair.pairs(of: value, coding: coding).flatMap { pair in
            pair.isArray ? arrays.items(pair.name, pair.texts) : pair.texts.map { Item(name: pair.name, value: $0) }
        }
    }

    /// Creates a query from percent-encoded text without its question mark.
    ///
    /// Each unchanged item keeps its octets, including an empty item (`a&&b`). A `+` is a plus sign, as in [RFC
    /// 3986](https://www.rfc-editor.org/rfc/rfc3986#section-3.4). Servers that parse forms read a `+` as a space. If a name or
    /// value has a broken escape, or octets that are not UTF-8, the name or value is shown with its escapes. If the text is
    /// invalid in a query, for example because of a space, building or sending the request throws ``InvalidURLError``.
    public init(percentEncoded text: some StringProtocol) {
        // Octets are compared, because a combining character after a separator must not hide the separator.
        let text = Substring(text)
        items =
            text.isEmpty
            ? [] : text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { Item(written: Substring($0)) }
    }

    /// Whether there are no items.
    public var isEmpty: Bool { items.isEmpty }

    /// The value of the first item with this name; `nil` if no item has the name, or if the first item has no value.
    ///
    /// Setting a value has the effect of ``set(_:_:)``. Setting `nil` removes all items of the name.
    public subscript(name: String) -> String? {
        get { items.first { $0.name == name }?.value }
        set { set(name, newValue) }
    }

    /// Returns the values of all items of this name, in order. Items without a value are skipped.
    public func values(of name: String) -> [String] { items.compactMap { $0.name == name ? $0.value : nil } }

    /// Returns whether there is an item of this name, with or without a value.
    public func contains(_ name: String) -> Bool { items.contains { $0.name == name } }

    /// Replaces all items of `name` with `value`, at the position of the first item. If no item has the name, the value is
    /// appended.
    ///
    /// ```swift
    /// request.query.set("page", 2)
    /// ```
    ///
    /// - Parameter value: the new value. If the value is an array, each element becomes a new item. If the value is `nil` or an empty
    ///   array, the items are removed.
    public mutating func set(_ name: String, _ value: some QueryValue) {
        replace(name, with: value.queryValues.map { Item(name: name, value: $0) })
    }

    /// Replaces all items of an array. The new items are at the position of the first replaced item. If no item has the name, the new
    /// items are appended.
    ///
    /// - Parameters:
    ///   - name: the name of the array, without brackets even for the style ``ArrayStyle/brackets``.
    ///   - style: the form in which the array is written. The style ``ArrayStyle/brackets`` does not replace items without
    ///     brackets. The other styles do not replace items with brackets.
    public mutating func set(_ name: String, _ values: [some QueryValue], style: ArrayStyle) {
        replace(style.itemName(name), with: style.items(name, values.flatMap(\.queryValues)))
    }

    private mutating func replace(_ name: String, with new: [Item]) {
        let place = items.firstIndex { $0.name == name } ?? items.count
        let after = items[place...].filter { $0.name != name }
        items.replaceSubrange(place..., with: new + after)
    }

    /// Adds one item for each text of `value`: no item for `nil`, and one item for each element of an array.
    public mutating func append(_ name: String, _ value: some QueryValue) {
        items += value.queryValues.map { Item(name: name, value: $0) }
    }

    /// Adds an array in a given style. ``append(_:_:)`` always repeats the name.
    ///
    /// ```swift
    /// query.append("ids", [1, 2], style: .brackets)      // ids[]=1&ids[]=2
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the array, without brackets even for the style ``ArrayStyle/brackets``.
    ///   - values: the elements of the array. An empty array adds nothing.
    ///   - style: the form in which the array is written.
    public mutating func append(_ name: String, _ values: [some QueryValue], style: ArrayStyle) {
        items += style.items(name, values.flatMap(\.queryValues))
    }

    /// Adds `name` without a value and without `=`.
    public mutating func appendFlag(_ name: String) { items.append(Item(name: name, value: nil)) }

    /// Removes all items of `name`.
    public mutating func remove(_ name: String) { items.removeAll { $0.name == name } }

    /// Returns the items of the first query, followed by the items of the second query. Nothing is merged.
    public static func + (first: URLQuery, second: URLQuery) -> URLQuery { URLQuery(first.items + second.items) }

    /// The query, percent-encoded, without a question mark; empty if there are no items.
    public var encoded: String {
        items.map(\.encoded).joined(separator: "&")
    }

    /// The encoded query, with the values of sensitive names replaced, and control characters shown as `\u{a}`.
    public var description: String { Sensitivity.standard.redactedQuery(encoded).shownSafely(limit: .max) }
}

extension URLQuery.Item: CustomStringConvertible, HidesStorage {
    /// The name and the value, percent-encoded. The value of a sensitive name is replaced, and control characters are shown as
    /// `\u{a}`.
    public var description: String { Sensitivity.standard.redactedQuery(encoded).shownSafely(limit: .max) }
}
