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
    /// The value of a key that is not set.
    static var defaultValue: Value { get }
}

/// The values of metadata by their keys.
typealias MetadataValues = TypedValues<Void>

extension MetadataValues {
    subscript<Key: MetadataKey>(_ key: Key.Type) -> Key.Value {
        get { isEmpty ? Key.defaultValue : value(of: key, or: Key.defaultValue) }
        set { set(newValue, for: key, ()) }
    }
}
