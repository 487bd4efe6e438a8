/// A key of ``ResponseMetadata``, with its value type and default value.
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
/// The keys of ``RequestOptions`` have more rules: see ``OptionKey``.
public protocol MetadataKey {
    /// The type of the value.
    associatedtype Value: Sendable
    /// The value if none is set.
    static var defaultValue: Value { get }
}

/// Values by the type of their key. Nothing is allocated while no value is set.
struct TypedValues: Sendable {
    private var storage: [ObjectIdentifier: any Sendable]?

    subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { storage == nil ? Key.defaultValue : stored(key) }
        set {
            if storage == nil { storage = [:] }
            storage?.updateValue(newValue, forKey: ObjectIdentifier(key))
        }
    }

    /// Reads a stored value. This is a separate function, because it needs more of the type's metadata at run time. Every layer
    /// reads values, but most requests have no values.
    private func stored<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        // The result of the lookup is unwrapped first, because a missing value must not be mistaken for the `nil` of an optional `Value`.
        guard let value = storage?[ObjectIdentifier(key)] else { return Key.defaultValue }
        return value as? Key.Value ?? Key.defaultValue
    }

    /// Whether no value was ever set.
    var isEmpty: Bool { storage == nil }

    var count: Int { storage?.count ?? 0 }
}

extension TypedValues: CustomStringConvertible, HidesStorage {
    /// The number of values. The values are not shown, because they may be secret.
    var description: String { "\(count) values" }
}
