#if SQLite
internal import Synchronization

extension SQLiteCacheStore {
    /// The uses that the database does not have yet, by the number of the entry.
    struct Uses {
        var order: [Int64: Int] = [:]
        var next = 0
        var lastFlush = ContinuousClock.now
        var isFlushing = false
    }

    func use(_ ids: [Int64]) {
        guard !ids.isEmpty else { return }
        let isDue = uses.withLock { uses in
            for id in ids {
                uses.order[id] = uses.next
                uses.next += 1
            }
            guard !uses.isFlushing, uses.order.count >= 1000 || uses.lastFlush.duration(to: .now) >= .seconds(1) else { return false }
            uses.isFlushing = true
            return true
        }
        guard isDue else { return }
        writer.begin { [self] tables in
            defer { uses.withLock { $0.isFlushing = false } }
            try tables.database.transaction { try flushUses(tables) }
        }
    }

    /// Writes the order of use to the database, in a transaction.
    func flushUses(_ tables: CacheTables) throws {
        let order = uses.withLock { uses in
            defer { (uses.order, uses.lastFlush) = ([:], .now) }
            return uses.order
        }
        try tables.use(order.sorted { $0.value < $1.value }.map(\.key))
    }
}
#endif
