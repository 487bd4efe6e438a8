internal import ErrandCore

/// The limits of a store. Sums of a few of these numbers can't overflow.
package struct CacheStoreLimits: Sendable {
    /// The largest number of bytes that a store counts: 1 EiB. A larger limit is treated as this number.
    package static let largestBytes: Int64 = 1 << 60
    /// The largest number of entries that a store counts: 2³¹ - 1. A larger limit is treated as this number.
    package static let largestEntries = Int(Int32.max)

    /// The largest number of bytes of all entries.
    package let bytes: Int64
    /// The largest number of entries.
    package let entries: Int
    /// The largest number of bytes of one entry.
    package let entryBytes: Int64

    /// The largest number of bytes of unpublished entries: half of all bytes, or the limit for one entry if that limit is larger.
    package var unpublishedBytes: Int64 { max(bytes / 2, entryBytes) }

    /// - Parameters:
    ///   - bytes: the largest number of bytes of all entries, at least 0.
    ///   - entries: the largest number of entries, at least 0.
    ///   - entryBytes: the largest number of bytes of one entry, at least 0. `nil`: an eighth of `bytes`.
    package init(bytes: Int64, entries: Int, entryBytes: Int64?) {
        precondition(bytes >= 0, "bytes must be at least 0 (is \(bytes))")
        precondition(entries >= 0, "entries must be at least 0 (is \(entries))")
        precondition(entryBytes ?? 0 >= 0, "entryBytes must be at least 0 (is \(entryBytes ?? 0))")
        self.bytes = min(bytes, Self.largestBytes)
        self.entries = min(entries, Self.largestEntries)
        self.entryBytes = min(self.bytes, entryBytes ?? self.bytes / 8)
    }
}
