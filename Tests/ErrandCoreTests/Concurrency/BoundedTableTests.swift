import ErrandCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct BoundedTableTests {
    @Test func theLeastRecentlyUsedEntryIsEvicted() {
        var table = BoundedTable<String, Int>(limit: 3)
        for key in ["a", "b", "c"] { table.update(key, default: 0) { $0 += 1 } }
        table.update("a", default: 0) { $0 += 1 }
        table.update("d", default: 0) { $0 += 1 }
        #expect(table.count == 3 && table["c"] == 1 && table["d"] == 1)
        #expect(table["a"] == 2)
        #expect(table["b"] == nil)
    }

    @Test func aLookupDoesNotCountAsAUse() {
        var table = BoundedTable<String, Int>(limit: 2)
        table.update("a", default: 1) { _ in }
        table.update("b", default: 2) { _ in }
        #expect(table["a"] == 1)
        table.update("c", default: 3) { _ in }
        #expect(table["a"] == nil)
    }

    @Test func pinnedEntriesAreKeptAboveTheLimit() {
        var table = BoundedTable<Int, Bool>(limit: 2, isPinned: { $0 })
        for key in 0..<100 { table.update(key, default: true) { _ in } }
        for key in 100..<200 { table.update(key, default: false) { _ in } }
        #expect(table.count == 102)
        #expect((0..<100).allSatisfy { table[$0] == true })
        // An entry that is no longer pinned counts again, as the latest entry.
        table.updateIfPresent(7) { $0 = false }
        #expect(table.count == 101)
        #expect(table[7] == false)
        #expect(table[198] == nil)
        #expect(table[199] == false)
    }

    @Test func aPinThatIsSetTakesAnEntryOutOfTheOrder() {
        var table = BoundedTable<String, Bool>(limit: 2, isPinned: { $0 })
        for key in ["a", "b"] { table.update(key, default: false) { _ in } }
        table.updateIfPresent("a") { $0 = true }
        for key in ["c", "d", "e"] { table.update(key, default: false) { _ in } }
        #expect(table.count == 3 && table["a"] == true && table["d"] == false && table["e"] == false)
    }

    @Test func removedEntriesLeaveTheOrder() {
        var table = BoundedTable<Int, Int>(limit: 3)
        for key in 0..<3 { table.update(key, default: key) { _ in } }
        #expect(table.removeValue(forKey: 1) == 1)
        #expect(table.removeValue(forKey: 1) == nil)
        for key in 3..<5 { table.update(key, default: key) { _ in } }
        #expect(table.count == 3 && (2...4).allSatisfy { table[$0] == $0 })
        #expect(table.updateIfPresent(9) { $0 } == nil)
    }

    @Test func theMemoryOfPinsThatAreGoneIsGivenBack() {
        var table = BoundedTable<Int, Bool>(limit: 100, isPinned: { $0 })
        for key in 0..<20_000 { table.update(key, default: true) { _ in } }
        for key in 0..<20_000 { table.updateIfPresent(key) { $0 = false } }
        #expect(table.count == 100 && table.capacity < 2_000)
        #expect((19_900..<20_000).allSatisfy { table[$0] == false })
        // The order of use does not change.
        table.update(-1, default: false) { _ in }
        #expect(table[19_900] == nil && table[19_901] == false && table.count == 100)
    }

    /// The table is compared with a slow and simple model, over many random operations.
    @Test func aTableAgreesWithAPlainModel() {
        var generator = SystemRandomNumberGenerator()
        var table = BoundedTable<Int, Int>(limit: 8, isPinned: { $0 % 5 == 0 })
        var order: [Int] = []  // keys by use, oldest first
        var values: [Int: Int] = [:]
        for _ in 0..<20_000 {
            let key = Int.random(in: 0..<24, using: &generator)
            if Int.random(in: 0..<8, using: &generator) == 0 {
                #expect(table.removeValue(forKey: key) == values.removeValue(forKey: key))
                order.removeAll { $0 == key }
                continue
            }
            let value = Int.random(in: 0..<20, using: &generator)
            table.update(key, default: 0) { $0 = value }
            values[key] = value
            order.removeAll { $0 == key }
            order.append(key)
            let loose = order.filter { values[$0]! % 5 != 0 }
            for victim in loose.dropLast(8) {
                values[victim] = nil
                order.removeAll { $0 == victim }
            }
            guard table.count == values.count, values.allSatisfy({ table[$0.key] == $0.value }) else {
                Issue.record("the table has \(table.count) entries, the model \(values.count)")
                return
            }
        }
    }

    // MARK: Weight

    private static func weighing(_ weightLimit: Int, limit: Int = 100, isPinned: @escaping @Sendable (Int) -> Bool = { _ in false })
        -> BoundedTable<String, Int>
    {
        BoundedTable(limit: limit, weightLimit: weightLimit, weight: { $0 }, isPinned: isPinned)
    }

    /// Each row: the entries in the order of use, the limit, and the keys that stay.
    @Test(
        arguments: [
            ([("a", 4), ("b", 3), ("c", 3)], 10, "abc"), ([("a", 4), ("b", 3), ("c", 4)], 10, "bc"),
            ([("a", 1), ("b", 1), ("c", 11)], 10, "c"), ([("a", 11), ("b", 1)], 10, "b"), ([("a", 0), ("b", 0)], 0, "ab"),
            ([("a", 5), ("b", 5), ("a", 6)], 10, "a"), ([("a", 5), ("b", 5), ("a", 5), ("c", 1)], 10, "ac"),
            ([("a", .max), ("b", .max)], 1 << 60, "b"), ([("a", -5), ("b", 10)], 10, "ab"), ([("a", 10), ("a", 1), ("b", 9)], 10, "ab"),
        ] as [([(String, Int)], Int, String)])
    func theHeaviestEntriesThatWereUsedLongestAgoAreEvicted(_ entries: [(String, Int)], _ limit: Int, _ kept: String) {
        var table = Self.weighing(limit)
        for (key, weight) in entries { table.update(key, default: 0) { $0 = weight } }
        #expect(["a", "b", "c"].filter { table[$0] != nil }.joined() == kept)
        #expect(table.totalWeight <= limit || table.count == 1)
    }

    @Test func aPinnedEntryHasNoWeight() {
        var table = Self.weighing(10, isPinned: { $0 % 2 == 1 })
        for key in ["a", "b", "c"] { table.update(key, default: 0) { $0 = 9 } }
        table.update("d", default: 0) { $0 = 10 }
        #expect(table.count == 4 && table.totalWeight == 10)
        table.updateIfPresent("a") { $0 = 2 }
        #expect(table["a"] == 2 && table["d"] == nil && table.totalWeight == 2)
        table.updateIfPresent("a") { $0 = 3 }
        #expect(table.totalWeight == 0 && table.count == 3)
    }

    /// The table is compared with a slow and simple model, over many random operations, with pins and compaction.
    @Test func aTableWithWeightsAgreesWithAPlainModel() {
        var generator = SystemRandomNumberGenerator()
        var table = BoundedTable<Int, Int>(limit: 12, weightLimit: 100, weight: { $0 }, isPinned: { $0 % 7 == 0 })
        var order: [Int] = []  // keys by use, oldest first
        var values: [Int: Int] = [:]
        func weight(_ keys: [Int]) -> Int { keys.reduce(0) { $0 + min(101, values[$1]!) } }
        for _ in 0..<50_000 {
            let key = Int.random(in: 0..<24, using: &generator)
            if Int.random(in: 0..<8, using: &generator) == 0 {
                #expect(table.removeValue(forKey: key) == values.removeValue(forKey: key))
                order.removeAll { $0 == key }
            } else {
                let value = Int.random(in: 0..<(Int.random(in: 0..<10, using: &generator) == 0 ? 200 : 30), using: &generator)
                table.update(key, default: 0) { $0 = value }
                values[key] = value
                order.removeAll { $0 == key }
                order.append(key)
                var loose = order.filter { values[$0]! % 7 != 0 }
                while let victim = loose.first, victim != key, loose.count > 12 || weight(loose) > 100 {
                    values[victim] = nil
                    order.removeAll { $0 == victim }
                    loose.removeFirst()
                }
            }
            let loose = order.filter { values[$0]! % 7 != 0 }
            guard table.count == values.count, table.totalWeight == weight(loose), values.allSatisfy({ table[$0.key] == $0.value }) else {
                Issue.record("the table has \(table.count) entries of \(table.totalWeight), the model \(values.count) of \(weight(loose))")
                return
            }
            #expect(table.totalWeight <= 100 || loose.count == 1)
        }
    }

    @Test func aTableAgreesWithAModelForAllWeights() {
        struct Value: Sendable { var weight: Int; var pinned: Bool }
        for limit in [0, 1, 10, 1 << 60] {
            var table = BoundedTable<Int, Value>(limit: 8, weightLimit: limit, weight: { $0.weight }, isPinned: { $0.pinned })
            var order: [(key: Int, value: Value)] = []
            for _ in 0..<5_000 {
                let key = Int.random(in: 0..<14)
                let value = Value(weight: [0, 1, 3, 9, .max, .min, 1 << 60].randomElement()!, pinned: Int.random(in: 0..<4) == 0)
                if Int.random(in: 0..<5) == 0 {
                    table.removeValue(forKey: key)
                    order.removeAll { $0.key == key }
                } else {
                    table.update(key, default: value) { $0 = value }
                    order.removeAll { $0.key == key }
                    order.append((key, value))
                    func counted(_ value: Value) -> Int { value.pinned ? 0 : min(max(0, value.weight), limit + 1) }
                    while order.filter({ !$0.value.pinned }).count > 8 || order.reduce(0, { $0 + counted($1.value) }) > limit,
                        let oldest = order.firstIndex(where: { !$0.value.pinned }), oldest != order.count - 1
                    {
                        order.remove(at: oldest)
                    }
                    #expect(table.totalWeight == order.reduce(0) { $0 + counted($1.value) })
                }
                #expect(table.count == order.count && order.allSatisfy { table[$0.key]?.weight == $0.value.weight })
            }
        }
    }
}
