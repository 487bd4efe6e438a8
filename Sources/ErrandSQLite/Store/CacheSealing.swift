#if SQLite
public import ErrandCore

/// Closures that encrypt the bytes that a store writes to the disk, and decrypt the bytes that the store reads.
///
/// ```swift
/// let sealing = CacheSealing(
///     seal: { try AES.GCM.seal($0, using: key).combined! },
///     open: { try AES.GCM.open(AES.GCM.SealedBox(combined: $0), using: key) })
/// let store = SQLiteCacheStore(inFolder: path, sealing: sealing)
/// ```
///
/// URLs, heads and bodies are sealed. Numbers, such as lengths and times, are not sealed. The keyed digests by which entries are found are
/// not sealed either. A body is sealed in pieces of at most 128 KiB. If the encryption is authenticated, a sealed piece that was moved to
/// another place counts as damaged.
///
/// The closures are called on threads that may block, and several calls may run at the same time. If `open` throws, the entry is treated as
/// missing. If `seal` throws, nothing is stored.
public struct CacheSealing: Sendable {
    let seal: @Sendable (Data) throws -> Data
    let open: @Sendable (Data) throws -> Data

    /// Creates a pair of closures.
    ///
    /// - Parameters:
    ///   - seal: a closure that returns the encrypted bytes. The result may be longer than the argument, by at most 4 KiB.
    ///   - open: a closure that decrypts a result of `seal`, and returns the original bytes.
    public init(seal: @escaping @Sendable (Data) throws -> Data, open: @escaping @Sendable (Data) throws -> Data) {
        (self.seal, self.open) = (seal, open)
    }
}
#endif
