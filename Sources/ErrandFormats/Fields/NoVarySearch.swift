package import HTTPTypes

/// The parts of a URL's query that select a response, by the field `No-Vary-Search` of the response
/// ([draft-ietf-httpbis-no-vary-search](https://datatracker.ietf.org/doc/draft-ietf-httpbis-no-vary-search/)).
///
/// ```
/// No-Vary-Search: params=("utm_source" "utm_medium")    all parameters except these two
/// No-Vary-Search: params, except=("id")                 only this parameter
/// No-Vary-Search: key-order                             all parameters, in any order of their names
/// ```
///
/// An invalid field has the meaning of a missing field: the whole query selects the response.
package struct NoVarySearch: Sendable, Hashable {
    /// The largest number of names that are read. A field with more names is invalid.
    package static let namesLimit = 64

    /// The parameters that select a response. The names are in the form in which ``FormURLEncoded`` sends names: ASCII, sorted, without
    /// repetitions.
    enum Parameters: Sendable, Hashable {
        /// All parameters but these.
        case allExcept([String])
        /// These parameters.
        case only([String])
    }

    private(set) var parameters: Parameters
    /// Whether the order of parameters with different names selects the response.
    private(set) var dependsOnOrder: Bool

    /// The meaning of a missing field: the whole query selects the response, octet by octet.
    package static let standard = NoVarySearch(parameters: .allExcept([]), dependsOnOrder: true)

    private init(parameters: Parameters, dependsOnOrder: Bool) { (self.parameters, self.dependsOnOrder) = (parameters, dependsOnOrder) }

    /// Reads the field of a response (section 4 of the draft). Keys that the draft does not name are ignored.
    package init(_ fields: HTTPFields) {
        self = fields.contains(.noVarySearch) ? fields[.noVarySearch].flatMap { Self($0) } ?? .standard : .standard
    }

    private init?(_ text: String) {
        guard text.utf8.count <= FieldLimits.valueBytes, let dictionary = try? StructuredDictionary(parsing: text) else { return nil }
        dependsOnOrder = true
        parameters = .allExcept([])
        if let member = dictionary["key-order"] {
            guard let ignoresOrder = member.item?.value.booleanValue else { return nil }
            dependsOnOrder = !ignoresOrder
        }
        var excludesAll = false
        if let member = dictionary["params"] {
            if let list = member.innerList {
                guard let names = Self.names(list) else { return nil }
                parameters = .allExcept(names)
            } else {
                guard let isAll = member.item?.value.booleanValue else { return nil }
                excludesAll = isAll
                parameters = isAll ? .only([]) : .allExcept([])
            }
        }
        if let member = dictionary["except"] {
            guard excludesAll, let list = member.innerList, let names = Self.names(list) else { return nil }
            parameters = .only(names)
        }
    }

    /// Returns the names of a list in their normal form; `nil` if a member is not a string, or there are too many members.
    private static func names(_ list: StructuredInnerList) -> [String]? {
        guard list.items.count <= namesLimit else { return nil }
        var names: Set<String> = []  // octets: normal forms are ASCII
        for item in list.items {
            guard let text = item.value.stringValue else { return nil }
            names.insert(normalized(Array(text.utf8)[...]))
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Returns a text that two queries have in common if, and only if, they select the same response (section 6 of the draft). `nil` if the
    /// whole query selects the response, octet by octet.
    ///
    /// The text names the rule too. Therefore, two responses with different rules never have the same text.
    ///
    /// - Parameter query: the query, as it is sent; `nil` if the URL has no query.
    package func normalForm(of query: Substring?) -> String? {
        guard self != .standard else { return nil }
        let names: [String], isOnly: Bool
        switch parameters {
        case .allExcept(let excluded): (names, isOnly) = (excluded, false)
        case .only(let included): (names, isOnly) = (included, true)
        }
        let chosen = Set(names)  // octets: normal forms are ASCII
        var pairs = Self.pairs(query ?? "").filter { chosen.contains($0.name) == isOnly }
        if !dependsOnOrder {
            // Parameters with the same name keep their order.
            pairs = pairs.enumerated().sorted { one, other in
                one.element.name.isExactly(other.element.name)
                    ? one.offset < other.offset : one.element.name.utf8.lexicographicallyPrecedes(other.element.name.utf8)
            }.map(\.element)
        }
        let rule = (dependsOnOrder ? "" : "key-order ") + (isOnly ? "only " : "except ") + names.joined(separator: "&")
        return rule + "?" + pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    /// Returns the names and values of a query in their normal form
    /// ([WHATWG URL, section 5.1](https://url.spec.whatwg.org/#urlencoded-parsing)). Empty items are left out.
    private static func pairs(_ query: Substring) -> [(name: String, value: String)] {
        Array(query.utf8).split(separator: UInt8(ascii: "&")).map { item in
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            return (normalized(item[..<equals]), normalized(item[equals...].dropFirst()))
        }
    }

    /// Returns the normal form of a name or a value: `+` is a space, escapes are resolved, octets that are not UTF-8 are replaced by
    /// U+FFFD, and the result is encoded again. An incomplete escape is text.
    private static func normalized(_ octets: ArraySlice<UInt8>) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(octets.count)
        var index = octets.startIndex
        while index < octets.endIndex {
            let octet = octets[index]
            if octet == UInt8(ascii: "%"), index + 2 < octets.endIndex, let high = octets[index + 1].hexValue,
                let low = octets[index + 2].hexValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(octet == UInt8(ascii: "+") ? 0x20 : octet)
                index += 1
            }
        }
        return FormURLEncoded.encode(String(decoding: decoded, as: UTF8.self))
    }
}

extension HTTPField.Name {
    fileprivate static let noVarySearch = known("No-Vary-Search")
}
