/// The values of options by their keys.
typealias OptionValues = TypedValues<any OptionKey.Type>

extension OptionValues {
    /// The keys of the options that were set, in the order in which the options were first set.
    var keys: [any OptionKey.Type] { entries.map(\.tag) }

    subscript<Key: OptionKey>(_ key: Key.Type) -> Key.Value {
        get { isEmpty ? Key.defaultValue : value(of: key, or: Key.defaultValue) }
        set { set(newValue, for: key, key) }
    }

    /// Sets the value of a key to the value in `other`. If `other` has no value for the key, removes the value.
    mutating func restore<Key: OptionKey>(_ key: Key.Type, of other: OptionValues) {
        if other.index(of: key) != nil {
            self[key] = other[key]
        } else if let index = index(of: key) {
            entries.remove(at: index)
        }
    }

    mutating func removeOriginBoundOptions() {
        if entries.contains(where: { !$0.tag.crossesOrigins }) { entries.removeAll { !$0.tag.crossesOrigins } }
    }

    /// The identity of all values; `nil` if one of the values makes the request unique.
    var identity: RequestOptions.Identity? {
        func identity<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> OptionIdentity {
            (value as? Key.Value).map { Key.identity(of: $0) } ?? .unique
        }
        var identities = RequestOptions.Identity()
        for entry in entries {
            switch identity(entry.tag, entry.value) {
            case .ignored: continue
            case .unique: return nil
            case .value(let value): identities.values[entry.key] = RequestOptions.Identity.Part(value: value)
            }
        }
        return identities
    }

    /// Returns the first option that is not supported. Either `isSupported` returns false for the place of the required middleware, or
    /// `capabilities` lacks a required capability.
    func firstUnsupported(
        by capabilities: TransportCapabilities, _ isSupported: (MiddlewarePlace) -> Bool
    ) -> (key: any OptionKey.Type, missing: UnsupportedOptionError.Missing)? {
        func asksForNothing<Key: OptionKey>(_ key: Key.Type, _ value: any Sendable) -> Bool {
            if let override = value as? any AnyOptionOverride { return override.isInherited || override.isOff }
            if isNil(value) { return true }
            if let collection = value as? any Collection, collection.isEmpty { return true }
            guard let value = value as? any Hashable, let unset = Key.defaultValue as? any Hashable else { return false }
            return AnyHashable(value) == AnyHashable(unset)
        }
        for entry in entries {
            let (place, lacks) = (entry.tag.requiredMiddleware, entry.tag.requiredCapabilities.subtracting(capabilities))
            let isSupported = isSupported(place)
            if isSupported && lacks.isEmpty || asksForNothing(entry.tag, entry.value) { continue }
            return (entry.tag, isSupported ? .capabilities(lacks) : .middleware(place))
        }
        return nil
    }
}

/// Returns whether `value` is an optional without a value.
func isNil(_ value: any Sendable) -> Bool { (value as? any AnyOptional)?.isNil ?? false }

private protocol AnyOptional { var isNil: Bool { get } }

extension Optional: AnyOptional {
    fileprivate var isNil: Bool { if case .none = self { true } else { false } }
}
