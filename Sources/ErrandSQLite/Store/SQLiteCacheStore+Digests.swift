#if SQLite
internal import ErrandCache
internal import ErrandCore

extension SQLiteCacheStore {
    private static let digestBytes = 16

    /// A keyed digest of 32 octets (HMAC-SHA-256). The key is in the folder, and stays if the store is emptied.
    public func digest(_ octets: [UInt8]) -> [UInt8]? { home.digest(octets) }

    private func shortDigest(_ kind: UInt8, _ write: (inout OctetWriter) -> Void) throws -> [UInt8] {
        var writer = OctetWriter()
        writer.small(kind)
        write(&writer)
        guard let digest = home.digest(Array(writer.data)) else { throw CacheHome.NoKey() }
        return Array(digest.prefix(Self.digestBytes))
    }

    func urlDigest(_ url: String) throws -> [UInt8] { try shortDigest(1) { $0.text(url) } }
    func originDigest(_ origin: Origin) throws -> [UInt8] { try shortDigest(2) { $0.text(origin.description) } }
    func partitionDigest(_ octets: [UInt8]) throws -> [UInt8] { try shortDigest(3) { $0.octets(octets) } }
    func groupDigest(_ group: String, of origin: [UInt8]) throws -> [UInt8] {
        try shortDigest(5) { writer in
            writer.octets(origin)
            writer.text(group)
        }
    }
    func selectionDigest(_ selection: CacheSelection) throws -> [UInt8] { try shortDigest(4) { selection.encode(to: &$0) } }

    /// Returns the digest of a key; `nil` if its identity is volatile.
    func keyDigest(_ key: CacheKey) throws -> (key: [UInt8], partition: [UInt8]?)? {
        var partition: [UInt8]?
        if case .account(let identity) = key.partition {
            guard let octets = identity.canonicalOctets else { return nil }
            partition = try partitionDigest(octets)
        }
        let digest = try shortDigest(0) { writer in
            writer.text(key.url)
            writer.optional(partition) { $0.octets($1) }
            writer.optional(key.content) { writer, content in
                writer.octets(content.digest)
                writer.text(content.fields)
            }
            // A key without `search` must have the digest that earlier versions have computed.
            if let search = key.search { writer.text(search) }
        }
        return (digest, partition)
    }

    /// Returns the digests by which an entry is found; `nil` if the identity of the key is volatile.
    func storedKey(_ key: CacheKey) throws -> StoredKey? {
        guard let (digest, partition) = try keyDigest(key) else { return nil }
        return StoredKey(
            key: digest, url: try urlDigest(key.url), origin: try originDigest(key.origin), partition: partition, name: StoredName(key))
    }
}
#endif
