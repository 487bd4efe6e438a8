/// Values by the types of their keys, in the order in which the keys were first set. Nothing is allocated while no value is set.
/// There are few values, so a linear search is faster than hashing.
struct TypedValues<Tag: Sendable>: Sendable {
    struct Entry: Sendable {
        let key: ObjectIdentifier
        /// Information about the key, which the owner of these values adds.
        let tag: Tag
        var value: any Sendable
    }

    /// `nil` while no value is set. An empty array would require reference counting for every copy of a request or a response.
    private var storage: [Entry]?

    var entries: [Entry] {
        get { storage ?? [] }
        _modify {
            var entries = storage.take() ?? []
            defer { storage = entries.isEmpty ? nil : entries }
            yield &entries
        }
    }

    var isEmpty: Bool { storage == nil }
    var count: Int { storage?.count ?? 0 }

    func index(of key: Any.Type) -> Int? {
        guard let storage else { return nil }
        let key = ObjectIdentifier(key)
        for index in storage.indices where storage[index].key == key { return index }
        return nil
    }

    /// Returns the value of a key; `standard` if no value is set.
    ///
    /// This function needs the metadata of a type at run time, and is therefore slow. The subscripts call this function only if a value is
    /// set. Every layer reads values, but most requests have no values.
    func value<Value>(of key: Any.Type, or standard: @autoclosure () -> Value) -> Value {
        // The index is searched first, because a missing value must not be mistaken for the `nil` of an optional `Value`.
        guard let index = index(of: key) else { return standard() }
        return entries[index].value as? Value ?? standard()
    }

    mutating func set(_ value: any Sendable, for key: Any.Type, _ tag: Tag) {
        if let index = index(of: key) {
            entries[index].value = value
        } else {
            var added = storage.take() ?? []
            if added.isEmpty { added.reserveCapacity(4) }
            added.append(Entry(key: ObjectIdentifier(key), tag: tag, value: value))
            storage = added
        }
    }
}

extension TypedValues: CustomStringConvertible, HidesStorage {
    /// The number of values. The values are not shown, because they may be secret.
    var description: String { count.counted("value") }
}
