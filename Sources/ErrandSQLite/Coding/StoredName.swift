#if SQLite
internal import ErrandCache
internal import ErrandCore

/// The parts of a key that a list of entries shows.
struct StoredName {
    let url: String
    let belongsToAccount: Bool
    let hasContent: Bool

    init(_ key: CacheKey) { (url, belongsToAccount, hasContent) = (key.url, key.partition != .none, key.content != nil) }

    var encoded: Data {
        var writer = OctetWriter()
        writer.text(url)
        writer.flag(belongsToAccount)
        writer.flag(hasContent)
        return writer.data
    }

    init(_ data: Data) throws {
        var reader = OctetReader(data)
        (url, belongsToAccount, hasContent) = (try reader.text(), try reader.flag(), try reader.flag())
    }
}
#endif
