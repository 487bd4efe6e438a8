/// A key of ``ResponseMetadata``, with the type of its value and what holds where none is set.
///
/// ```swift
/// enum ServerKey: MetadataKey { static var defaultValue: String? { nil } }
///
/// extension ResponseMetadata {
///     var server: String? {
///         get { self[ServerKey.self] }
///         set { self[ServerKey.self] = newValue }
///     }
/// }
/// ```
///
/// The keys of ``RequestOptions`` say more: see ``OptionKey``.
public protocol MetadataKey {
    associatedtype Value: Sendable
    /// What a reader gets where nothing was set.
    static var defaultValue: Value { get }
}

/// Values by the type of their key; nothing is allocated while none is set.
struct TypedValues: Sendable {
    private var storage: [ObjectIdentifier: any Sendable]?

    subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { storage == nil ? Key.defaultValue : stored(key) }
        set {
            if storage == nil { storage = [:] }
            storage?.updateValue(newValue, forKey: ObjectIdentifier(key))
        }
    }

    /// By itself, as it needs to know more of the type: most requests have no values, and every layer asks.
    private func stored<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        // Unwrapped first: no value at all would pass for the nil of an optional `Value`.
        guard let value = storage?[ObjectIdentifier(key)] else { return Key.defaultValue }
        return value as? Key.Value ?? Key.defaultValue
    }

    /// True if nothing was ever set.
    var isEmpty: Bool { storage == nil }

    var count: Int { storage?.count ?? 0 }
}

extension TypedValues: CustomStringConvertible, CustomReflectable {
    /// The count only: values may be secret.
    var description: String { "\(count) values" }
    var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
