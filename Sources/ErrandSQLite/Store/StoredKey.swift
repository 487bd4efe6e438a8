#if SQLite
/// The digests by which an entry is found.
struct StoredKey: Sendable {
    let key: [UInt8]
    let url: [UInt8]
    let origin: [UInt8]
    /// `nil` if the entry belongs to no account.
    let partition: [UInt8]?
    let name: StoredName
}
#endif
