public import ErrandCore
internal import ErrandFormats

/// The result of a look-up.
public struct CacheLookup: Sendable {
    /// The entries of the key.
    public let entries: [CacheEntry]
    /// The generation of the store at the look-up.
    public let generation: CacheGeneration
    /// The field that the pointer of the request's URL has; `nil` without a pointer.
    var noVarySearch: NoVarySearch?

    /// Creates a result.
    ///
    /// - Parameters:
    ///   - entries: the entries of the key.
    ///   - generation: the generation of the store.
    public init(entries: [CacheEntry], generation: CacheGeneration) { (self.entries, self.generation) = (entries, generation) }

    init(entries: [CacheEntry], generation: CacheGeneration, noVarySearch: NoVarySearch?) {
        (self.entries, self.generation, self.noVarySearch) = (entries, generation, noVarySearch)
    }
}

/// The generation of a store: the number of its latest removal. Each removal has a larger number than all earlier removals.
///
/// A response is not stored if a removal after its look-up applies to the response: a sign-out of its account, a removal of its URL, its
/// origin or one of its groups, or a removal of all entries. Otherwise an invalid response could return: its request was sent before the
/// removal ([RFC 9111, section 4.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.4)). If a store remembers only some removals, a
/// response that was requested before a forgotten removal is not stored.
public struct CacheGeneration: Sendable, Hashable {
    /// The number at the look-up.
    public let rawValue: Int64
    /// The number for removals of URLs, origins and groups. This number is larger than ``rawValue`` if the response itself has removed
    /// entries, as the response to a POST does. These removals don't forbid the storage of the response. For sign-outs, and for a removal
    /// of all entries, ``rawValue`` counts.
    public let removalValue: Int64

    /// Creates a generation.
    ///
    /// - Parameter rawValue: the number.
    public init(_ rawValue: Int64) { (self.rawValue, removalValue) = (rawValue, rawValue) }

    private init(_ rawValue: Int64, removalValue: Int64) { (self.rawValue, self.removalValue) = (rawValue, removalValue) }

    /// Returns the generation of a response whose own removals have the numbers up to `now`.
    func after(ownRemovals now: CacheGeneration) -> CacheGeneration { CacheGeneration(rawValue, removalValue: now.rawValue) }
}

/// The contents of a store in numbers.
public struct CacheUsage: Sendable, Hashable, CustomStringConvertible {
    /// The number of entries.
    public let entries: Int
    /// The bytes of all entries, heads included.
    public let bytes: Int64
    /// The largest number of entries.
    public let entryLimit: Int
    /// The largest number of bytes.
    public let limitBytes: Int64

    /// Creates numbers.
    ///
    /// - Parameters:
    ///   - entries: the number of entries.
    ///   - bytes: the bytes of all entries, heads included.
    ///   - entryLimit: the largest number of entries.
    ///   - limitBytes: the largest number of bytes.
    public init(entries: Int, bytes: Int64, entryLimit: Int, limitBytes: Int64) {
        (self.entries, self.bytes, self.entryLimit, self.limitBytes) = (entries, bytes, entryLimit, limitBytes)
    }

    /// The numbers in words: `12 of 1000 entries, 45213 of 16777216 bytes`.
    public var description: String { "\(entries) of \(entryLimit.counted("entry", "entries")), \(bytes) of \(limitBytes.counted("byte"))" }
}

/// An entry in a list of all entries. The description and the mirror show no secret of the URL, and no field of the response.
public struct ListedCacheEntry: Sendable, CustomStringConvertible, HidesStorage {
    /// The URL of the entry, as ``CacheKey/url``. The URL may have secrets.
    public let url: String
    /// Whether the entry belongs to an account.
    public let belongsToAccount: Bool
    /// Whether the entry is the response to a QUERY.
    public let hasContent: Bool
    /// The number and the head of the entry.
    public let entry: CacheEntry

    /// Creates an entry of a list.
    ///
    /// - Parameters:
    ///   - url: the URL of the entry.
    ///   - belongsToAccount: whether the entry belongs to an account.
    ///   - hasContent: whether the entry is the response to a QUERY.
    ///   - entry: the number and the head of the entry.
    public init(url: String, belongsToAccount: Bool, hasContent: Bool, entry: CacheEntry) {
        (self.url, self.belongsToAccount, self.hasContent, self.entry) = (url, belongsToAccount, hasContent, entry)
    }

    /// The URL, in which secrets are replaced, and the entry.
    public var description: String { "\(Sensitivity.standard.redactedURL(url)): \(entry)" }
}
