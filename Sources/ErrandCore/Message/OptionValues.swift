/// The values of options by their keys. Nothing is allocated while no option is set. A request has few options, so a linear
/// search is faster than hashing.
struct OptionValues: Sendable {
    private struct Entry: Sendable {
        let key: any OptionKey.Type
        var value: any Sendable
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// The keys of the options that were set, in the order in which the options were first set.
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

    /// Sets the value of a key to the value in `other`, or removes the value if `other` has none.
    mutating func restore<Key: OptionKey>(_ key: Key.Type, of other: OptionValues) {
        if other.index(of: ObjectIdentifier(key)) != nil {
            self[key] = other[key]
        } else if let index = index(of: ObjectIdentifier(key)) {
            entries.remove(at: index)
        }
    }

    mutating func removeOriginBoundOptions() {
        if entries.contains(where: { !$0.key.crossesOrigins }) { entries.removeAll { !$0.key.crossesOrigins } }
    }

    /// The identity of all values; `nil` if one of the values makes the request unique.
    var identity: RequestOptions.Identity? {
        func identity<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> OptionIdentity {
            (value as? Key.Value).map { Key.identity(of: $0) } ?? .unique
        }
        var identities = RequestOptions.Identity()
        for entry in entries {
            switch identity(entry.key, entry.value) {
            case .ignored: continue
            case .unique: return nil
            case .value(let value): identities.values[ObjectIdentifier(entry.key)] = RequestOptions.Identity.Part(value: value)
            }
        }
        return identities
    }

    /// Returns the first option that requires a middleware at a place for which `isSupported` returns false, or a capability that is not in
    /// `capabilities`.
    func firstUnsupported(
        by capabilities: Capabilities, _ isSupported: (MiddlewarePlace) -> Bool
    ) -> (key: any OptionKey.Type, missing: UnsupportedOptionError.Missing)? {
        func asksForNothing<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> Bool {
            if let override = value as? any AnyOptionOverride { return override.isInherited || override.isOff }
            if isNil(value) { return true }
            if let collection = value as? any Collection, collection.isEmpty { return true }
            guard let value = value as? any Hashable, let unset = Key.defaultValue as? any Hashable else { return false }
            return AnyHashable(value) == AnyHashable(unset)
        }
        for entry in entries {
            let (place, lacks) = (entry.key.requiredMiddleware, entry.key.requiredCapabilities.subtracting(capabilities))
            let isSupported = isSupported(place)
            if isSupported && lacks.isEmpty || asksForNothing(entry.key, entry.value) { continue }
            return (entry.key, isSupported ? .capabilities(lacks) : .middleware(place))
        }
        return nil
    }
}

extension OptionValues: CustomStringConvertible, HidesStorage {
    /// The count only: values may be secret.
    var description: String { "\(count) values" }
}

/// Whether `value` is an optional without a value.
func isNil(_ value: any Sendable) -> Bool { (value as? any AnyOptional)?.isNil ?? false }

private protocol AnyOptional { var isNil: Bool { get } }

extension Optional: AnyOptional {
    fileprivate var isNil: Bool { if case .none = self { true } else { false } }
}
