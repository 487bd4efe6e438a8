/// A link to another resource: a part of a `Link` field ([RFC 8288](https://www.rfc-editor.org/rfc/rfc8288)).
///
/// ```swift
/// let links = WebLink.parse([#"<https://api.example/items?page=2>; rel="next", </items?page=9>; rel=last"#])
/// links.first { $0.isRelated(as: "next") }?.target       // https://api.example/items?page=2
/// ```
public struct WebLink: Sendable, Hashable {
    /// The most links of one value.
    static let countLimit = 128

    /// The URL as it was sent, which may be relative to that of the response.
    public let target: String
    /// The relations, in lower case, such as `next`; at least one. Those that are URLs are in lower case, too.
    public let relations: [String]
    /// The URL of what the link belongs to, as it was sent; `nil`: the resource of the response. A reader that does not support it must ignore the
    /// link ([RFC 8288, section 3.2](https://www.rfc-editor.org/rfc/rfc8288#section-3.2)).
    public let anchor: String?
    /// The title; `title*` takes precedence over `title`; `nil` if it is missing.
    public let title: String?
    /// The languages of the target; empty if they are not known.
    public let languages: [String]
    /// The media type of the target, as it was sent; `nil` if it is missing.
    public let type: String?
    /// The other parameters, each name once and in lower case. A name alone has an empty value.
    public let extensions: [String: String]

    /// Whether the target has this relation, in any case.
    public func isRelated(as relation: String) -> Bool { relations.contains(relation.lowercased()) }

    /// Reads the values of all `Link` fields of a response.
    ///
    /// - Returns: the links in order. One that is malformed, or has no relation, is left out, and so is a value of more than 8 KiB. At most 128
    ///   links of a value are read, and 32 parameters of a link.
    public static func parse(_ values: some Sequence<String>) -> [WebLink] {
        values.flatMap { value -> [WebLink] in
            guard value.utf8.count <= FieldLimits.valueBytes else { return [] }
            var reader = FieldReader(value)
            return reader.links()
        }
    }

    fileprivate init?(target: String, parameters: [FieldParameter]) {
        self.target = target
        relations = (parameters["rel"] ?? "").lowercased().split { $0 == " " || $0 == "\t" }.map(String.init)
        guard !relations.isEmpty else { return nil }
        (anchor, type, title) = (parameters["anchor"], parameters["type"], parameters.extendedValue(of: "title"))
        languages = parameters.compactMap { $0.name == "hreflang" ? $0.value : nil }
        let known: Set = ["rel", "anchor", "title", "title*", "hreflang", "type"]
        let others = parameters.filter { !known.contains($0.name) }.map { ($0.name, $0.value ?? "") }
        extensions = Dictionary(others) { first, _ in first }
    }
}

/// It examines every byte at most twice.
extension FieldReader {
    fileprivate mutating func links() -> [WebLink] {
        var links: [WebLink] = []
        while links.count < WebLink.countLimit {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
            guard next != nil else { break }
            if let target = target() {
                let parameters = semicolonParameters()
                skip(\.isOptionalSpace)
                let isWhole = next == nil || next == UInt8(ascii: ",")
                if isWhole, let link = WebLink(target: target, parameters: parameters) { links.append(link) }
            }
            skipRest()
        }
        return links
    }

    /// The text between angle brackets; `nil` if there is none.
    private mutating func target() -> String? {
        guard take("<") else { return nil }
        let start = position
        skip { $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "<") }
        let target = text(start..<position)
        return take(">") ? target.trimmingOptionalWhitespace() : nil
    }

    /// Up to the next comma outside quotation marks and angle brackets.
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
