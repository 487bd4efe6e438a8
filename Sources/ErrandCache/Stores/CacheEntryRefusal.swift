/// An error of a writer that concerns only its entry, such as an entry without room. The store works, and the cache continues to write
/// other entries.
package protocol CacheEntryRefusal: Error {}

extension CacheRoomError: CacheEntryRefusal {}
