/// Values by the types of their keys, in the order in which the keys were first set. Nothing is allocated while no value is set.
/// There are few values, so a linear search is faster than hashing.
struct TypedValues<Tag: Sendable>: Sendable {
    struct Entry: Sendable {
        let key: ObjectIdentifier
        /// The owner's own information about the key.
        let tag: Tag
        var value: any Sendable
    }

    var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    func index(of key: Any.Type) -> Int? {
        let key = ObjectIdentifier(key)
        for index in entries.indices where entries[index].key == key { return index }
        return nil
    }

    /// Returns the value of a key; `standard` if no value is set.
    ///
    /// A separate function, because it needs more of the type's metadata at run time. Every layer reads values, but most requests
    /// have none.
    func value<Value>(of key: Any.Type, or standard: @autoclosure () -> Value) -> Value {
        // Searched first, because a missing value must not be mistaken for the `nil` of an optional `Value`.
        guard let index = index(of: key) else { return standard() }
        return entries[index].value as? Value ?? standard()
    }

    mutating func set(_ value: any Sendable, for key: Any.Type, _ tag: Tag) {
        if let index = index(of: key) {
            entries[index].value = value
        } else {
            if entries.isEmpty { entries.reserveCapacity(4) }
            entries.append(Entry(key: ObjectIdentifier(key), tag: tag, value: value))
        }
    }
}

extension TypedValues: CustomStringConvertible, HidesStorage {
    /// The number of values. The values are not shown, because they may be secret.
    var description: String { "\(count) values" }
}
