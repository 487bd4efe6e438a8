/// A key of ``RequestOptions``: the type of its value, what holds where none is set, and what the library has to know of it.
///
/// ```swift
/// enum TenantKey: OptionKey { static var defaultValue: String? { nil } }
///
/// extension RequestOptions {
///     var tenant: String? {
///         get { self[TenantKey.self] }
///         set { self[TenantKey.self] = newValue }
///     }
/// }
/// ```
///
/// The defaults are the safe ones. Requests with different tenants never share an exchange, a redirect to another origin drops the tenant, and
/// no middleware is required for it.
public protocol OptionKey: SendableMetatype {
    associatedtype Value: Sendable
    /// What a reader gets where nothing was set.
    static var defaultValue: Value { get }

    /// What of `value` requests must have in common to share an exchange (`coalesce`).
    ///
    /// By default a `Hashable` value identifies the exchange, unless it is the default value. Of a value that is not `Hashable`, an ``Override`` that
    /// inherits counts as not set, and `.off` is equal to `.off`; any other makes its request ``OptionIdentity/unique``. An option that acts outside
    /// coalescing, or on no exchange at all, returns ``OptionIdentity/none``.
    static func identity(of value: Value) -> OptionIdentity

    /// Whether the value goes along when a redirect leads to another origin (scheme, host and port); false by default.
    static var crossesOrigins: Bool { get }

    /// The middleware without which the option does nothing; nil (the default) if it needs none.
    ///
    /// A request that sets the option fails with ``UnservedOptionError`` where the outermost stack has no such middleware. An ``Override`` that
    /// inherits or is `.off`, nil, an empty collection and the default value need nobody.
    static var servedBy: MiddlewarePlace? { get }
}

/// What of an option's value tells one exchange from another.
public enum OptionIdentity: Sendable {
    /// Nothing: requests with different values may share an exchange.
    case none
    /// The request shares its exchange with no other.
    case unique
    /// Requests must have an equal value to share an exchange.
    case value(any Hashable & Sendable)
}

extension OptionKey {
    public static func identity(of value: Value) -> OptionIdentity {
        guard let override = value as? any AnyOverride else { return isNil(value) && isNil(defaultValue) ? .none : .unique }
        return override.isInherited ? .none : override.isOff ? .value(OffIdentity()) : .unique
    }

    public static var crossesOrigins: Bool { false }
    public static var servedBy: MiddlewarePlace? { nil }
}

extension OptionKey where Value: Hashable {
    public static func identity(of value: Value) -> OptionIdentity { value == defaultValue ? .none : .value(value) }
}

extension OptionIdentity {
    /// Of an option whose middleware acts outside coalescing: what a request replaces there is its own, and one that switches the middleware off
    /// shares with its like only.
    package static func ofSwitch<Value>(_ override: Override<Value>) -> OptionIdentity {
        override.isOff ? .value(OffIdentity()) : .none
    }
}

/// What is equal of two options that are switched off.
private struct OffIdentity: Hashable, Sendable {}

/// Values of options by their key. Nothing is allocated while none is set; a request has few, so that a search beats a hash.
struct OptionValues: Sendable {
    private struct Entry: Sendable {
        let key: any OptionKey.Type
        var value: any Sendable
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// Those that were set, in the order in which they were set first.
    var keys: [any OptionKey.Type] { entries.map(\.key) }

    subscript<Key: OptionKey>(_ key: Key.Type) -> Key.Value {
        get { entries.isEmpty ? Key.defaultValue : stored(key) }
        set {
            if let index = index(of: ObjectIdentifier(key)) {
                entries[index].value = newValue
            } else {
                if entries.isEmpty { entries.reserveCapacity(4) }
                entries.append(Entry(key: key, value: newValue))
            }
        }
    }

    private func stored<Key: OptionKey>(_ key: Key.Type) -> Key.Value {
        guard let index = index(of: ObjectIdentifier(key)) else { return Key.defaultValue }
        return entries[index].value as? Key.Value ?? Key.defaultValue
    }

    private func index(of key: ObjectIdentifier) -> Int? {
        for index in entries.indices where ObjectIdentifier(entries[index].key) == key { return index }
        return nil
    }

    mutating func removeOriginBoundOptions() {
        if entries.contains(where: { !$0.key.crossesOrigins }) { entries.removeAll { !$0.key.crossesOrigins } }
    }

    /// Nil if one of them makes its request unique.
    var identity: RequestOptions.Identity? {
        func identity<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> OptionIdentity {
            (value as? Key.Value).map { Key.identity(of: $0) } ?? .unique
        }
        var identities = RequestOptions.Identity()
        for entry in entries {
            switch identity(entry.key, entry.value) {
            case .none: continue
            case .unique: return nil
            case .value(let value): identities.values[ObjectIdentifier(entry.key)] = RequestOptions.Identity.Part(value: value)
            }
        }
        return identities
    }

    /// The first option that asks for a middleware at a place that `isServed` does not know.
    func unserved(_ isServed: (MiddlewarePlace) -> Bool) -> (key: any OptionKey.Type, place: MiddlewarePlace)? {
        func asksForNothing<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> Bool {
            if let override = value as? any AnyOverride { return override.isInherited || override.isOff }
            if isNil(value) { return true }
            if let collection = value as? any Collection, collection.isEmpty { return true }
            guard let value = value as? any Hashable, let unset = Key.defaultValue as? any Hashable else { return false }
            return AnyHashable(value) == AnyHashable(unset)
        }
        for entry in entries {
            guard let place = entry.key.servedBy, !isServed(place), !asksForNothing(entry.key, entry.value) else { continue }
            return (entry.key, place)
        }
        return nil
    }
}

extension OptionValues: CustomStringConvertible, CustomReflectable {
    /// The count only: values may be secret.
    var description: String { "\(count) values" }
    var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}

extension RequestOptions {
    /// What requests must have in common in their options to share an exchange. It may hold secrets, and shows none.
    public struct Identity: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        struct Part: Hashable, Sendable {
            let value: any Hashable & Sendable

            static func == (first: Part, second: Part) -> Bool { AnyHashable(first.value) == AnyHashable(second.value) }
            func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
        }

        var values: [ObjectIdentifier: Part] = [:]

        public var description: String { "\(values.count) options" }
        public var customMirror: Mirror { Mirror(self, children: ["count": values.count]) }
    }
}

/// Whether `value` is an optional without a value.
private func isNil(_ value: any Sendable) -> Bool { (value as? any AnyOptional)?.isNil ?? false }

private protocol AnyOptional { var isNil: Bool { get } }

extension Optional: AnyOptional {
    fileprivate var isNil: Bool { if case .none = self { true } else { false } }
}
