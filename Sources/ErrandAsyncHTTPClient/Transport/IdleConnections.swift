#if AsyncHTTPClient
/// The connections of one authority that can take a request, in the order in which they became idle.
///
/// Adding one takes constant time on average, removing one logarithmic time, however many there are.
struct IdleConnections {
    private struct Slot {
        let ticket: Int
        /// Nil once it is removed.
        var record: ConnectionRecord?
    }

    /// By ascending tickets. The last one has a record.
    private var slots: [Slot] = []
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// The connection that became idle last.
    var last: ConnectionRecord? { slots.last?.record }

    /// - Parameter ticket: by which it is removed: higher than all before.
    mutating func append(_ record: ConnectionRecord, ticket: Int) {
        slots.append(Slot(ticket: ticket, record: record))
        count += 1
    }

    mutating func remove(_ ticket: Int) {
        var (low, high) = (0, slots.count)
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        guard low < slots.count, slots[low].ticket == ticket, slots[low].record != nil else { return }
        slots[low].record = nil
        count -= 1
        // Each slot goes once, so that this is constant on average.
        while let last = slots.last, last.record == nil { slots.removeLast() }
        if slots.count > 2 * count + 8 { slots.removeAll { $0.record == nil } }
    }
}
#endif
