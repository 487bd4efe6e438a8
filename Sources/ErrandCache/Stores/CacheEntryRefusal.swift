package import ErrandCore

/// An error of a writer that concerns only its entry, such as an entry without room. The store works, and the cache continues to write
/// other entries.
package protocol CacheEntryRefusal: Error {
    /// Why the entry is not stored.
    var refusal: CacheStatus.Refusal { get }
}

extension CacheRoomError: CacheEntryRefusal {
    package var refusal: CacheStatus.Refusal { .noRoom }
}
