/// Names and values of a query, in order. A name may come more than once.
///
/// ```swift
/// var query: URLQuery = ["q": "a+b", "page": 2, "tag": ["x", "y"], "after": nil as String?]
/// query.encoded                       // q=a%2Bb&page=2&tag=x&tag=y
/// query.set("page", 3)                // q=a%2Bb&page=3&tag=x&tag=y
/// query["q"]                          // a+b
/// query.append("ids", [1, 2], style: .commas)
/// ```
///
/// Values are data: `+`, `&`, `=`, `;`, `%` and `#` are escaped, once, and a space becomes `%20`
/// ([RFC 3986, section 3.4](https://www.rfc-editor.org/rfc/rfc3986#section-3.4)). Nothing is sorted, merged or dropped, except that a value of
/// `nil` leaves its name out.
///
/// The query of a request is ``Request/query``. There, and after ``init(percentEncoded:)``, an item that you do not change keeps its octets
/// exactly as they were.
public struct URLQuery: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible, HidesStorage {
    /// A name and its value; a value of `nil` is a name alone, without `=`.
    public struct Item: Sendable, Hashable {
        /// The name, without escapes.
        public var name: String { didSet { written = nil } }
        /// The value, without escapes; `nil` for a name alone.
        public var value: String? { didSet { written = nil } }
        /// The item as it was written, percent-encoded; `nil` once its name or its value was set.
        private var written: String?

        /// An item of a name and a value, neither of them percent-encoded.
        public init(name: String, value: String?) { (self.name, self.value) = (name, value) }

        /// - Parameter written: the item, percent-encoded, without the `&` that separates it.
        fileprivate init(written: Substring) {
            func decoded(_ text: Substring) -> String { PercentEncoding.decode(text) ?? String(text) }
            if let equals = written.utf8.firstIndex(of: UInt8(ascii: "=")) {
                (name, value) = (decoded(written[..<equals]), decoded(written[written.utf8.index(after: equals)...]))
            } else {
                (name, value) = (decoded(written), nil)
            }
            self.written = String(written)
        }

        /// An array with commas between its elements, which are escaped where they are part of an element.
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

        /// Items are equal if their names and values are, however they are escaped.
        public static func == (first: Item, second: Item) -> Bool { first.name == second.name && first.value == second.value }

        /// Hashes name and value.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(value)
        }
    }

    /// How an array is written.
    public struct ArrayStyle: Sendable, Hashable, CustomStringConvertible {
        /// The name once for each element: `ids=1&ids=2`. The default.
        public static let repeated = ArrayStyle(description: "repeated")
        /// The name with brackets, once for each element: `ids[]=1&ids[]=2`, sent as `ids%5B%5D=1&ids%5B%5D=2`, as PHP and Rails expect it.
        public static let brackets = ArrayStyle(description: "brackets")
        /// The name once, with commas between the elements: `ids=1,2`. A comma that is part of an element is escaped.
        public static let commas = ArrayStyle(description: "commas")

        /// The name of the style.
        public let description: String

        /// The pairs of an array, neither names nor values percent-encoded; none for an empty array.
        func pairs(_ name: String, _ texts: [String]) -> [(name: String, value: String)] {
            switch self {
            case .commas: texts.isEmpty ? [] : [(name, texts.joined(separator: ","))]
            default: texts.map { (itemName(name), $0) }
            }
        }

        /// The name of each item of an array.
        fileprivate func itemName(_ name: String) -> String { self == .brackets ? name + "[]" : name }

        fileprivate func items(_ name: String, _ texts: [String]) -> [Item] {
            if self == .commas { return texts.isEmpty ? [] : [Item(name: name, list: texts)] }
            return pairs(name, texts).map { Item(name: $0.name, value: $0.value) }
        }
    }

    /// The items in the order in which they are sent.
    public var items: [Item]

    /// A query of `items`; empty by default.
    public init(_ items: [Item] = []) { self.items = items }

    /// The items of a literal, in its order.
    public init(dictionaryLiteral elements: (String, any QueryValue)...) {
        items = elements.flatMap { name, value in value.queryValues.map { Item(name: name, value: $0) } }
    }

    /// The items of a dictionary, sorted by name, as a dictionary has no order of its own. A literal of the type `URLQuery` keeps its order.
    public init(_ dictionary: [String: String]) {
        items = dictionary.sorted { $0.key < $1.key }.map { Item(name: $0.key, value: $0.value) }
    }

    /// The items of Foundation's `URLComponents`, in their order.
    ///
    /// ```swift
    /// let query = URLQuery(queryItems: components.queryItems ?? [])
    /// ```
    public init(queryItems: [URLQueryItem]) { items = queryItems.map { Item(name: $0.name, value: $0.value) } }

    /// The members of a structure or a dictionary, in the order in which it encodes them; those of a dictionary sorted by name.
    ///
    /// ```swift
    /// struct Filter: Encodable { var q: String; var page = 1; var after: Date?; var tags: [String] = [] }
    /// let query = try URLQuery(encoding: Filter(q: "swift", tags: ["a", "b"]))    // q=swift&page=1&tags=a&tags=b
    /// ```
    ///
    /// A member that is `nil` is left out.
    ///
    /// - Parameters:
    ///   - value: its members must be plain values, or arrays of them.
    ///   - arrays: how an array is written.
    ///   - coding: how names of properties, dates and data are written. By default, names stay as they are, dates are texts as in ISO 8601, and
    ///     data is Base64. Pass `client.jsonCoding` for the coding of a client, which a query does not know.
    /// - Throws: `EncodingError` if a member is nested, or if `value` has no named members; also what `value` throws.
    public init(encoding value: some Encodable, arrays: ArrayStyle = .repeated, coding: JSONCoding = .standard) throws {
        items = try EncodedPair.pairs(of: value, coding: coding).flatMap { pair in
            pair.isArray ? arrays.items(pair.name, pair.texts) : pair.texts.map { Item(name: pair.name, value: $0) }
        }
    }

    /// The items of a query that is percent-encoded, without its question mark.
    ///
    /// Each item that is not changed keeps its octets, an empty one (`a&&b`) included. A `+` is a plus sign, as in
    /// [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986#section-3.4); servers that read forms take it for a space. A name or value with a broken
    /// escape, or whose octets are not UTF-8, is shown with its escapes. Text that is invalid in a query, such as a space, is refused as an
    /// ``InvalidURLError`` when the request is built or sent.
    public init(percentEncoded text: some StringProtocol) {
        // By octets: a combining character after a separator must not hide it.
        let text = Substring(text)
        items =
            text.isEmpty
            ? [] : text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { Item(written: Substring($0)) }
    }

    /// Whether there are no items.
    public var isEmpty: Bool { items.isEmpty }

    /// The value of the first item of this name; `nil` if no item has it, or if the item is a name alone.
    ///
    /// Setting a value is ``set(_:_:)``; setting `nil` removes all items of the name.
    public subscript(name: String) -> String? {
        get { items.first { $0.name == name }?.value }
        set { set(name, newValue) }
    }

    /// The values of all items of this name, in order, without those that are names alone.
    public func values(of name: String) -> [String] { items.compactMap { $0.name == name ? $0.value : nil } }

    /// Whether there is an item of this name, with a value or without.
    public func contains(_ name: String) -> Bool { items.contains { $0.name == name } }

    /// Replaces all items of `name` with `value`, at the place of the first one; appends it if no item has that name.
    ///
    /// ```swift
    /// request.query.set("page", 2)
    /// ```
    ///
    /// - Parameter value: an array replaces them with one item for each element; `nil` and an empty array remove them.
    public mutating func set(_ name: String, _ value: some QueryValue) {
        replace(name, with: value.queryValues.map { Item(name: name, value: $0) })
    }

    /// Replaces all items of an array, at the place of the first one; appends them if no item has that name.
    ///
    /// - Parameters:
    ///   - name: without brackets, also for the style ``ArrayStyle/brackets``.
    ///   - style: how the array is written. Items that have another style are not found.
    public mutating func set(_ name: String, _ values: [some QueryValue], style: ArrayStyle) {
        replace(style.itemName(name), with: style.items(name, values.flatMap(\.queryValues)))
    }

    private mutating func replace(_ name: String, with new: [Item]) {
        let place = items.firstIndex { $0.name == name } ?? items.count
        let after = items[place...].filter { $0.name != name }
        items.replaceSubrange(place..., with: new + after)
    }

    /// Adds `name` with the texts of `value`: none for `nil`, several for an array.
    public mutating func append(_ name: String, _ value: some QueryValue) {
        items += value.queryValues.map { Item(name: name, value: $0) }
    }

    /// Adds an array in another style than that of ``append(_:_:)``, which repeats the name.
    ///
    /// ```swift
    /// query.append("ids", [1, 2], style: .brackets)      // ids[]=1&ids[]=2
    /// ```
    ///
    /// - Parameters:
    ///   - name: without brackets, also for the style ``ArrayStyle/brackets``.
    ///   - values: an empty array adds nothing.
    ///   - style: how the array is written.
    public mutating func append(_ name: String, _ values: [some QueryValue], style: ArrayStyle) {
        items += style.items(name, values.flatMap(\.queryValues))
    }

    /// Adds `name` alone, without `=`.
    public mutating func appendFlag(_ name: String) { items.append(Item(name: name, value: nil)) }

    /// Removes all items of `name`.
    public mutating func remove(_ name: String) { items.removeAll { $0.name == name } }

    /// The items of both, the first one's before the second one's. Nothing is merged.
    public static func + (first: URLQuery, second: URLQuery) -> URLQuery { URLQuery(first.items + second.items) }

    /// The query, percent-encoded, without a question mark; empty if there are no items.
    public var encoded: String {
        items.map(\.encoded).joined(separator: "&")
    }

    /// The encoded query, with the values of sensitive names replaced, and control characters shown as `\u{a}`.
    public var description: String { Sensitivity.standard.redactedQuery(encoded).shownSafely(limit: .max) }
}

extension URLQuery.Item: CustomStringConvertible, HidesStorage {
    /// Name and value, percent-encoded; the value of a sensitive name is replaced, and control characters are shown as `\u{a}`.
    public var description: String { Sensitivity.standard.redactedQuery(encoded).shownSafely(limit: .max) }
}
