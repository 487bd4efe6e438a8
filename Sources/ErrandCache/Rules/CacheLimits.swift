package import ErrandCore

/// The numbers that the rules and all stores have in common.
package enum CacheLimits {
    /// The longest URL of a stored response: 8 KiB.
    static let urlBytes = 8192
    /// The largest size of the fields of a stored response: 64 KiB. A field counts as its name, its value and 4 bytes.
    static let headBytes = 65_536
    /// The largest size of all entity tags in the `If-None-Match` that the cache sends: 4 KiB. Many servers refuse heads of 8 KiB.
    static let validatorBytes = 4096
    /// The largest number of entries with one key.
    package static let variants = 16
    /// The bytes that an entry takes up in the tables of a store, rounded up. These bytes count for the limits of the store.
    package static let entryOverheadBytes = 256
    /// The largest number of kinds of failures that a store remembers, and of warnings that wait for a response.
    package static let warnings = 32
    /// The largest number of accounts, URLs, origins and groups whose latest removal a store remembers. A response that was requested
    /// before a forgotten removal is not stored.
    package static let removals = 1000

    /// Returns whether a head with these fields is small enough to be stored.
    package static func allowsHead(_ fields: HTTPFields) -> Bool { StoredFields.bytes(fields) <= headBytes }
}
