#if SQLite
/// The limits of a store.
struct CacheStoreLimits: Sendable {
    let bytes: Int64
    let entries: Int
    let entryBytes: Int64

    /// The largest number of bytes in files of unpublished entries: half of all bytes, or the limit for one entry if that limit is larger.
    var unpublishedBytes: Int64 { max(bytes / 2, entryBytes) }
}
#endif
