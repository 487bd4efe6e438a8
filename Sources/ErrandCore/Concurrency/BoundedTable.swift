/// A dictionary with a bound. If the bound is exceeded, the entry that was used least recently is evicted.
///
/// State with a key, such as an origin, is stored in tables of this type. Therefore one eviction rule applies to all this state. There are
/// two exceptions: the cookies of a jar, which have an order of their own (`UseOrder`), and the entries of a cache on the disk, which
/// SQLite orders.
///
/// The bound is a number of entries and, with a `weightLimit`, a total weight, such as a number of bytes. The most recently used entry
/// stays, even if its weight alone exceeds the bound. If another entry is used next, the heavy entry is evicted.
///
/// An entry whose value is pinned is never evicted, and counts toward neither bound. For example, an entry is pinned while its value has a
/// setting of the app, or has work in progress.
///
/// Every operation takes constant time on average. The methods are inlinable, so that the compiler specializes them for the types of
/// each caller. An unspecialized method costs thousands of instructions.
public struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Slot: Sendable {
        @usableFromInline var key: Key
        @usableFromInline var value: Value
        @usableFromInline var isPinned = false
        /// The weight that counts toward the bound: 0 for a pinned entry.
        @usableFromInline var weight = 0
        /// The neighbors in the order of use, by index. The value is -1 if there is no neighbor, and for a pinned entry.
        @usableFromInline var older = -1
        @usableFromInline var newer = -1

        @inlinable init(key: Key, value: Value) { (self.key, self.value) = (key, value) }
    }

    /// The largest number of entries that are not pinned.
    public let limit: Int
    /// The largest weight of the entries that are not pinned; `nil` if only their number is bounded.
    public let weightLimit: Int?
    @usableFromInline let isPinned: @Sendable (Value) -> Bool
    @usableFromInline let weight: @Sendable (Value) -> Int
    @usableFromInline var indices: [Key: Int] = [:]
    @usableFromInline var slots: [Slot?] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var oldest = -1
    @usableFromInline var newest = -1
    @usableFromInline var pinnedCount = 0
    /// The weight of the entries that are not pinned. An entry heavier than ``weightLimit`` is treated as ``weightLimit`` + 1.
    @inlinable public var totalWeight: Int { heaviness }
    @usableFromInline var heaviness = 0

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - limit: the largest number of entries that are not pinned; at least 1.
    ///   - weightLimit: the largest weight of the entries that are not pinned, from 0 to 2^60; `nil`, the default, means no bound.
    ///   - weight: returns the weight of a value. A negative weight is treated as 0. Called after each change of the value if
    ///     there is a `weightLimit`.
    ///   - isPinned: returns whether a value must be kept. Called after each change of the value.
    @inlinable public init(
        limit: Int, weightLimit: Int? = nil, weight: @escaping @Sendable (Value) -> Int = { _ in 0 },
        isPinned: @escaping @Sendable (Value) -> Bool = { _ in false }
    ) {
        precondition(limit >= 1, "limit must be at least 1 (is \(limit))")
        precondition((0...1 << 60).contains(weightLimit ?? 0), "weightLimit must be from 0 to 2^60 (is \(weightLimit ?? 0))")
        self.limit = limit
        self.weightLimit = weightLimit
        self.weight = weight
        self.isPinned = isPinned
    }

    /// The number of entries, including pinned entries.
    @inlinable public var count: Int { indices.count }

    /// Whether the table has no entry.
    @inlinable public var isEmpty: Bool { indices.isEmpty }

    /// All entries, in no particular order.
    package var entries: [(key: Key, value: Value)] { slots.compactMap { slot in slot.map { ($0.key, $0.value) } } }

    /// All entries that are not pinned, the most recently used first.
    package var entriesByUse: [(key: Key, value: Value)] {
        var (entries, index): ([(key: Key, value: Value)], Int) = ([], newest)
        while index >= 0, let slot = slots[index] {
            entries.append((slot.key, slot.value))
            index = slot.older
        }
        return entries
    }

    /// The number of slots for entries, including free slots. The memory of the table is proportional to this number.
    @inlinable public var capacity: Int { slots.count }

    /// The value of `key`; `nil` if the table has no such key. Reading the value here does not count as a use.
    @inlinable public subscript(key: Key) -> Value? { indices[key].flatMap { slots[$0]?.value } }

    /// Changes the value of `key` in place, which counts as a use. A new key may evict the entry that was used least recently.
    ///
    /// - Returns: what `body` returns.
    @discardableResult
    @inlinable public mutating func update<Result>(
        _ key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) throws -> Result
    ) rethrows -> Result {
        let index = indices[key] ?? insert(key, value())
        defer { settle(index) }
        return try body(&slots[index]!.value)
    }

    /// Changes the value of `key` in place, if the table has such a key. The change counts as a use.
    ///
    /// - Returns: what `body` returns; `nil` if the table has no such key.
    @discardableResult
    @inlinable public mutating func updateIfPresent<Result>(_ key: Key, _ body: (inout Value) throws -> Result) rethrows -> Result? {
        guard let index = indices[key] else { return nil }
        defer { settle(index) }
        return try body(&slots[index]!.value)
    }

    /// Removes an entry, and returns its value; `nil` if the table has no such key.
    @discardableResult
    @inlinable public mutating func removeValue(forKey key: Key) -> Value? {
        defer { compactIfSparse() }
        return remove(key)
    }

    /// Removes the entry that was used least recently, and returns it; `nil` if all entries are pinned.
    package mutating func removeLeastRecentlyUsed() -> (key: Key, value: Value)? {
        guard oldest >= 0, let key = slots[oldest]?.key else { return nil }
        return removeValue(forKey: key).map { (key, $0) }
    }

    @discardableResult
    @inlinable mutating func remove(_ key: Key) -> Value? {
        guard let index = indices.removeValue(forKey: key) else { return nil }
        unlink(index)
        let slot = slots[index]
        if slot?.isPinned == true { pinnedCount -= 1 }
        heaviness -= slot?.weight ?? 0
        slots[index] = nil
        free.append(index)
        return slot?.value
    }

    /// Releases the memory of free slots, if there are many more free slots than entries.
    @inlinable mutating func compactIfSparse() {
        guard free.count > 3 * indices.count + 1024 else { return }
        var compacted: [Slot?] = []
        compacted.reserveCapacity(indices.count)
        func add(_ slot: Slot) {
            var slot = slot
            (slot.older, slot.newer) = (-1, -1)
            compacted.append(slot)
        }
        for case let slot? in slots where slot.isPinned { add(slot) }
        var index = oldest
        while index >= 0, let slot = slots[index] {
            add(slot)
            index = slot.newer
        }
        slots = compacted
        free = []
        indices = Dictionary(minimumCapacity: compacted.count)
        oldest = -1
        newest = -1
        for (index, slot) in slots.enumerated() {
            guard let slot else { continue }
            indices[slot.key] = index
            if !slot.isPinned { link(index) }
        }
    }

    // MARK: The order of use

    @inlinable mutating func insert(_ key: Key, _ value: Value) -> Int {
        let slot = Slot(key: key, value: value)
        let index: Int
        if let last = free.popLast() {
            index = last
            slots[index] = slot
        } else {
            index = slots.count
            slots.append(slot)
        }
        indices[key] = index
        link(index)
        return index
    }

    /// Moves a used entry to its place in the order of use, and evicts the entries that exceed the bound.
    @inlinable mutating func settle(_ index: Int) {
        guard let slot = slots[index] else { return }
        let pins = isPinned(slot.value)
        if !slot.isPinned { unlink(index) }
        if pins != slot.isPinned {
            slots[index]?.isPinned = pins
            pinnedCount += pins ? 1 : -1
        }
        if !pins { link(index) }
        if let weightLimit {
            let counted = pins ? 0 : min(max(0, weight(slot.value)), weightLimit + 1)
            heaviness += counted - slot.weight
            slots[index]?.weight = counted
        }
        while indices.count - pinnedCount > limit || heaviness > weightLimit ?? .max, oldest >= 0, oldest != index,
            let key = slots[oldest]?.key
        {
            remove(key)
        }
        compactIfSparse()
    }

    @inlinable mutating func link(_ index: Int) {
        slots[index]?.older = newest
        slots[index]?.newer = -1
        if newest >= 0 { slots[newest]?.newer = index } else { oldest = index }
        newest = index
    }

    @inlinable mutating func unlink(_ index: Int) {
        guard let slot = slots[index], !slot.isPinned else { return }
        if slot.older >= 0 { slots[slot.older]?.newer = slot.newer } else if oldest == index { oldest = slot.newer }
        if slot.newer >= 0 { slots[slot.newer]?.older = slot.older } else if newest == index { newest = slot.older }
    }
}
