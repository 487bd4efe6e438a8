/// A link to another resource: a part of a `Link` field ([RFC 8288](https://www.rfc-editor.org/rfc/rfc8288)).
///
/// ```swift
/// let links = WebLink.parse([#"<https://api.example/items?page=2>; rel="next", </items?page=9>; rel=last"#])
/// links.first { $0.isRelated(as: "next") }?.target       // https://api.example/items?page=2
/// ```
public struct WebLink: Sendable, Hashable {
    /// The largest number of links that are read from one value.
    package static let countLimit = 128

    /// The URL as it was sent, which may be relative to the URL of the response.
    public let target: String
    /// The relations, such as `next`, in lower case. There is at least one relation. Relations that are URLs are also in lower
    /// case.
    public let relations: [String]
    /// The URL, as it was sent, of the resource to which the link belongs. `nil`: the link belongs to the resource of the response.
    /// A reader that does not support anchors must ignore a link with an anchor ([RFC 8288, section
    /// 3.2](https://www.rfc-editor.org/rfc/rfc8288#section-3.2)).
    public let anchor: String?
    /// The title; `nil` if there is no title. The parameter `title*` takes precedence over `title`.
    public let title: String?
    /// The languages of the target; empty if the languages are unknown.
    public let languages: [String]
    /// The media type of the target, as it was sent; `nil` if there is no media type.
    public let type: String?
    /// The parameters without a property of their own, by their names in lower case. A parameter that is only a name has an empty value.
    public let extensions: [String: String]

    /// Returns whether the target has this relation. Case does not matter.
    public func isRelated(as relation: String) -> Bool {
        let wanted = relation.lowercased()
        return relations.contains { $0.isExactly(wanted) }
    }

    /// Reads the values of all `Link` fields of a response.
    ///
    /// - Returns: the links in order. A malformed link, a link without a relation, and a value of more than 8 KiB are left out. At most 128
    ///   links of a value are read, and at most 32 parameters of each link. ``parseReportingCompleteness(_:)`` also returns whether a part
    ///   was unreadable.
    public static func parse(_ values: some Sequence<String>) -> [WebLink] { parseReportingCompleteness(values).links }

    /// Reads the values of all `Link` fields of a response, and checks whether every part is readable. See also ``parse(_:)``.
    ///
    /// ```swift
    /// let (links, isComplete) = WebLink.parseReportingCompleteness(response.headers[values: .custom("Link")])
    /// let next = links.first { $0.isRelated(as: "next") }     // nil is the end of the list only if isComplete is true
    /// ```
    ///
    /// Two deviations from the grammar are accepted: relations in single quotation marks, and several relations without quotation marks.
    ///
    /// - Returns: the links in order. `isComplete` is false if a malformed link, a value of more than 8 KiB, or a link after the
    ///   first 128 was left out. `isComplete` is also false if a link has more than 32 parameters, and no relation is among the
    ///   first 32. A link without a relation is left out, but is treated as readable.
    public static func parseReportingCompleteness(_ values: some Sequence<String>) -> (links: [WebLink], isComplete: Bool) {
        var links: [WebLink] = []
        var isComplete = true
        for value in values {
            guard value.utf8.count <= FieldLimits.valueBytes else {
                isComplete = false
                continue
            }
            var reader = FieldReader(value)
            links += reader.links(isComplete: &isComplete)
        }
        return (links, isComplete)
    }

    fileprivate init?(target: String, parameters: [FieldParameter]) {
        self.target = target
        relations = Self.withoutSingleQuotes(parameters["rel"] ?? "").lowercased().utf8.split(whereSeparator: \.isOptionalSpace).map {
            String(Substring($0))
        }
        guard !relations.isEmpty else { return nil }
        (anchor, type, title) = (parameters["anchor"], parameters["type"], parameters.extendedValue(of: "title"))
        languages = parameters.compactMap { $0.name.isExactly("hreflang") ? $0.value : nil }
        let known: Set = ["rel", "anchor", "title", "title*", "hreflang", "type"]
        let others = parameters.filter { !known.contains($0.name) }.map { ($0.name, $0.value ?? "") }
        extensions = Dictionary(others) { first, _ in first }
    }

    /// Removes single quotes around the relations, because some senders write `rel='next'`. No relation begins and ends with a single
    /// quote.
    private static func withoutSingleQuotes(_ relations: String) -> String {
        let (octets, quote) = (relations.utf8, UInt8(ascii: "'"))
        guard octets.count >= 2, octets.first == quote, octets.last == quote else { return relations }
        return String(Substring(octets.dropFirst().dropLast()))
    }
}

// The functions of this extension examine every byte at most twice.
extension FieldReader {
    fileprivate mutating func links(isComplete: inout Bool) -> [WebLink] {
        var links: [WebLink] = []
        while true {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
            guard next != nil else { return links }
            guard links.count < WebLink.countLimit else { break }
            if let target = target() {
                let parameters = semicolonParameters(keepingSpaces: true)
                skip(\.isOptionalSpace)
                let isWhole = next == nil || next == UInt8(ascii: ",")
                if isWhole, let link = WebLink(target: target, parameters: parameters) {
                    links.append(link)
                } else if !isWhole || (parameters.count == FieldParameter.countLimit && parameters["rel"] == nil) {
                    isComplete = false
                }
            } else {
                isComplete = false
            }
            skipRest()
        }
        isComplete = false
        return links
    }

    /// Reads the text between angle brackets; `nil` if there are no angle brackets with text.
    private mutating func target() -> String? {
        guard take("<") else { return nil }
        let start = position
        skip { $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "<") }
        let target = text(start..<position)
        return take(">") ? target.trimmingOptionalWhitespace() : nil
    }

    /// Skips to the next comma outside quotation marks and angle brackets.
    private mutating func skipRest() {
        while let byte = next, byte != UInt8(ascii: ",") {
            switch byte {
            case UInt8(ascii: "\""): _ = quoted()
            case UInt8(ascii: "<"): _ = target()
            default: position += 1
            }
        }
    }
}
