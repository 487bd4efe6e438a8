/// A bounded table with two kinds of entries, ordinary and important. The limit applies to each kind separately. Therefore
/// ordinary entries never evict important entries.
///
/// For example, origins without a failure evict one another. If a crawler visits many origins, the failure counts of a failing
/// origin are not evicted.
@usableFromInline package struct TieredTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var plain: BoundedTable<Key, Value>
    @usableFromInline var important: BoundedTable<Key, Value>
    @usableFromInline let isImportant: @Sendable (Value) -> Bool

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - limit: the largest number of entries of each kind; at least 1.
    ///   - isImportant: returns whether a value is important. Called after each change of a value.
    ///   - isPinned: returns whether an important value is pinned. A pinned value is never evicted, and does not count toward
    ///     the limit.
    @inlinable package init(
        limit: Int, isImportant: @escaping @Sendable (Value) -> Bool, isPinned: @escaping @Sendable (Value) -> Bool = { _ in false }
    ) {
        plain = BoundedTable(limit: limit)
        important = BoundedTable(limit: limit, isPinned: isPinned)
        self.isImportant = isImportant
    }

    @inlinable package var count: Int { plain.count + important.count }

    /// The important entries, in no particular order.
    package var importantEntries: [(key: Key, value: Value)] { important.entries }

    /// The value of `key`; `nil` if the table has no such key. Reading the value does not count as a use.
    @inlinable package subscript(key: Key) -> Value? { important[key] ?? plain[key] }

    /// Changes the value of `key` in place, which counts as a use.
    @inlinable package mutating func update<Result>(_ key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) -> Result)
        -> Result
    {
        let known = important.updateIfPresent(key) { value in
            let result = body(&value)
            return (result, isImportant(value))
        }
        if let (result, stays) = known {
            if !stays, let value = important.removeValue(forKey: key) { plain.update(key, default: value) { _ in } }
            return result
        }
        let seen = plain.updateIfPresent(key) { value in
            let result = body(&value)
            return (result, isImportant(value))
        }
        if let (result, moves) = seen {
            if moves, let value = plain.removeValue(forKey: key) { important.update(key, default: value) { _ in } }
            return result
        }
        // A new entry is added directly to its own tier. If the entry were first added to the other tier, the entry would evict
        // another entry there.
        var value = value()
        let result = body(&value)
        if isImportant(value) { important.update(key, default: value) { _ in } } else { plain.update(key, default: value) { _ in } }
        return result
    }

    @inlinable package mutating func removeValue(forKey key: Key) {
        plain.removeValue(forKey: key)
        important.removeValue(forKey: key)
    }
}
