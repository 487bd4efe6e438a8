public import ErrandCore

/// The fields of a request by which the server has selected a response. The response names these fields in `Vary` ([RFC 9111, section
/// 4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
///
/// The values are in a normal form, which ignores differences without meaning. Secret values are not kept. Descriptions and mirrors show
/// only the names of the fields.
public struct CacheSelection: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    /// A field of the request.
    public struct Field: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        /// The name of the field.
        public let name: HTTPField.Name
        /// The value of the field.
        public let value: Value

        /// Creates a field.
        ///
        /// - Parameters:
        ///   - name: the name of the field.
        ///   - value: the value of the field.
        public init(name: HTTPField.Name, value: Value) { (self.name, self.value) = (name, value) }

        /// The name of the field.
        public var description: String { name.canonicalName }
    }

    /// The value of a field.
    public enum Value: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        /// The request did not have the field.
        case absent
        /// The value in its normal form.
        case text(String)
        /// A keyed digest of a secret value.
        case digest([UInt8])
        /// The credentials of the account to which the key of the entry belongs. The value may change when a token is refreshed.
        case account

        /// Returns whether both values are equal. Texts are compared octet by octet.
        public static func == (one: Value, other: Value) -> Bool {
            switch (one, other) {
            case (.absent, .absent), (.account, .account): true
            case (.text(let one), .text(let other)): one.isExactly(other)
            case (.digest(let one), .digest(let other)): one == other
            default: false
            }
        }

        /// The kind of the value: `absent`, `text`, `digest` or `account`.
        public var description: String {
            switch self {
            case .absent: "absent"
            case .text: "text"
            case .digest: "digest"
            case .account: "account"
            }
        }

        /// Hashes the octets of the value.
        public func hash(into hasher: inout Hasher) {
            switch self {
            case .absent: hasher.combine(0)
            case .account: hasher.combine(1)
            case .text(let text): hasher.combine(OctetKey(text))
            case .digest(let digest): hasher.combine(digest)
            }
        }
    }

    /// The fields that `Vary` names, in the order of the response.
    public let fields: [Field]
    /// Whether the response depends on more than the named fields (`Vary: *`). A response with `Vary: *` matches no request, and can only
    /// be validated.
    public let isUnmatchable: Bool

    /// Creates a selection.
    ///
    /// - Parameters:
    ///   - fields: the fields that `Vary` names.
    ///   - isUnmatchable: whether the response depends on more than the named fields.
    public init(fields: [Field] = [], isUnmatchable: Bool = false) { (self.fields, self.isUnmatchable) = (fields, isUnmatchable) }

    /// The names of the fields, with commas between the names; `*` for `Vary: *`.
    public var description: String { isUnmatchable ? "*" : fields.map(\.description).joined(separator: ", ") }
}
