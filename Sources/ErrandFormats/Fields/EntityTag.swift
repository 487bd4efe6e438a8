/// An entity tag ([RFC 9110, section 8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3)): the value of an `ETag` field, which
/// identifies one state of a resource.
///
/// ```swift
/// let tag = EntityTag(#"W/"v17""#)
/// tag?.isWeak          // true
/// tag?.opaque          // v17
/// ```
///
/// Two tags are equal (`==`) if they have the same octets, and if both are weak or both are strong. To decide whether a
/// representation has changed, use ``matches(_:by:)``.
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The way in which two tags are compared ([RFC 9110, section 8.8.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.2)).
    public enum Comparison: Sendable, Hashable {
        /// The tags have the same octets, and neither tag is weak. A match means that the representations have the same octets. This
        /// comparison is for ranges and `If-Match`.
        case strong
        /// The tags have the same octets. One tag or both tags may be weak. A match means that the representations are equivalent. This
        /// comparison is for `If-None-Match`.
        case weak
    }

    /// The text between the quotation marks.
    public let opaque: String
    /// Whether the tag begins with `W/`. The server changes a weak tag only if the meaning of the representation changes.
    public let isWeak: Bool

    /// Creates a tag.
    ///
    /// - Parameters:
    ///   - opaque: the text between the quotation marks.
    ///   - isWeak: whether the tag is weak. Default: `false`.
    /// - Returns: `nil` if `opaque` has a control character, a quotation mark, or more than 8 KiB.
    public init?(opaque: String, isWeak: Bool = false) {
        guard opaque.utf8.count <= FieldLimits.valueBytes, opaque.utf8.allSatisfy(\.isInEntityTag) else { return nil }
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    /// Reads a field's value.
    ///
    /// Spaces and tabs within the quotation marks are kept. The grammar does not allow spaces and tabs in an entity tag, but some servers
    /// send them.
    ///
    /// - Returns: `nil` if the value has more than 8 KiB, or is not one entity tag. `*`, and a text without quotation marks, are
    ///   not entity tags.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= FieldLimits.valueBytes else { return nil }
        var reader = FieldReader(text)
        reader.skip(\.isOptionalSpace)
        guard let tag = reader.entityTag() else { return nil }
        reader.skip(\.isOptionalSpace)
        guard reader.next == nil else { return nil }
        self = tag
    }

    fileprivate init(unchecked opaque: String, isWeak: Bool) { (self.opaque, self.isWeak) = (opaque, isWeak) }

    /// Returns whether this tag matches `other` in the given comparison.
    public func matches(_ other: EntityTag, by comparison: Comparison) -> Bool {
        opaque.isExactly(other.opaque) && (comparison == .weak || !(isWeak || other.isWeak))
    }

    /// Whether the tags have the same octets, and are both weak or both strong.
    public static func == (first: EntityTag, second: EntityTag) -> Bool {
        first.isWeak == second.isWeak && first.opaque.isExactly(second.opaque)
    }

    /// Hashes the octets.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        hasher.combine(OctetKey(opaque))
    }

    /// The field's value: `"v17"` or `W/"v17"`.
    public var description: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }
}

/// The value of an `If-Match` or `If-None-Match` field ([RFC 9110, section 13.1](https://www.rfc-editor.org/rfc/rfc9110#section-13.1)).
///
/// ```swift
/// let condition = EntityTagCondition(#""v16", "v17""#)
/// condition?.matches(tag, by: .weak)       // If-None-Match: whether the client has this representation
/// ```
public enum EntityTagCondition: Sendable, Hashable, CustomStringConvertible {
    /// `*`: any representation.
    case any
    /// The representations with these tags; at least one.
    case tags([EntityTag])

    /// The largest number of tags in one value.
    static let countLimit = 128

    /// Reads a field's value.
    ///
    /// - Returns: `nil` if the value is neither `*` nor a list of entity tags, has more than 8 KiB, or has more than 128 tags.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= FieldLimits.valueBytes else { return nil }
        var reader = FieldReader(text)
        reader.skip(\.isOptionalSpace)
        if reader.take("*") {
            reader.skip(\.isOptionalSpace)
            guard reader.next == nil else { return nil }
            self = .any
            return
        }
        guard let tags = reader.list(upTo: Self.countLimit, { $0.entityTag() }), !tags.isEmpty else { return nil }
        self = .tags(tags)
    }

    /// Returns whether the value matches a tag. ``any`` matches every tag, and ``tags(_:)`` matches if one of its tags matches.
    ///
    /// - Parameters:
    ///   - tag: the tag of the current representation.
    ///   - comparison: Use ``EntityTag/Comparison/strong`` for `If-Match`, and ``EntityTag/Comparison/weak`` for
    ///     `If-None-Match`.
    public func matches(_ tag: EntityTag, by comparison: EntityTag.Comparison) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.matches(tag, by: comparison) }
        }
    }

    /// The field's value.
    public var description: String {
        switch self {
        case .any: "*"
        case .tags(let tags): tags.map(\.description).joined(separator: ", ")
        }
    }
}

extension FieldReader {
    /// Reads an entity tag; `nil` if no tag begins at the position, or if the tag does not end.
    fileprivate mutating func entityTag() -> EntityTag? {
        let isWeak = take("W")
        guard !isWeak || take("/"), take("\"") else { return nil }
        let start = position
        skip(\.isInEntityTag)
        let opaque = text(start..<position)
        return take("\"") ? EntityTag(unchecked: opaque, isWeak: isWeak) : nil
    }
}

extension UInt8 {
    /// Whether the byte is allowed between the quotation marks of an entity tag: `etagc` of
    /// [RFC 9110, section 8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3), a space, or a tab.
    fileprivate var isInEntityTag: Bool { isOptionalSpace || (self > 0x20 && self != UInt8(ascii: "\"") && self != 0x7F) }
}
