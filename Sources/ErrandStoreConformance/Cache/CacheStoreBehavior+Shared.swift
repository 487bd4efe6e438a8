internal import ErrandCache
internal import ErrandCore
internal import Testing

extension CacheStoreBehavior {
    /// The behaviors of stores that open the same place, such as a folder or a database, in one process or in several processes.
    public static let shared: [CacheStoreBehavior] = [
        CacheStoreBehavior("KeepsEntriesBetweenRuns", "A later store of the same place has the earlier entries and digests.") {
            make in
            let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            func write() async throws -> [UInt8]? {
                let store = try await make(Limits())
                _ = try await add(to: store, key("/a"), head([(.eTag, "\"1\"")]), ["hello"])
                _ = try await add(to: store, key("/b"), head(extent: .whole(length: Int64(bytes.count))), chunks: [bytes])
                _ = try await writer(in: store, key("/c")).write(Data("half".utf8))
                return store.digest([1])
            }
            let digest = try await write()
            let store = try await make(Limits())
            let found = try #require(try await store.lookUp(key("/a")).entries.first)
            #expect(found.head.response.headerFields[.eTag] == "\"1\"")
            #expect(try await text(of: found.id, 0..<5, in: store) == "hello")
            let large = try #require(try await store.lookUp(key("/b")).entries.first)
            #expect(areEqual(try await body(of: large.id, 0..<Int64(bytes.count), in: store), bytes))
            #expect(try await store.lookUp(key("/c")).entries.isEmpty)
            #expect(try await store.usage.entries == 2)
            #expect(store.digest([1]) == digest)
        },
        CacheStoreBehavior("SharesEntries", "Another store of the same place finds an entry as soon as the entry is published.") { make in
            let (one, two) = (try await make(Limits()), try await make(Limits()))
            #expect(try await two.lookUp(key("/a")).entries.isEmpty)
            let first = try await add(to: one, key("/a"), head(), ["hello"])
            #expect(try await ids(key("/a"), two) == [first])
            #expect(try await text(of: first, 0..<5, in: two) == "hello")
            let second = try await add(to: two, key("/a"), head(), ["hullo"])
            #expect(try await ids(key("/a"), one) == [second] && first != second)
            try await one.removeAll(urls: [key("/a").url])
            #expect(try await two.lookUp(key("/a")).entries.isEmpty)
        },
        sharedRemovals,
        CacheStoreBehavior("SharesSignOuts", "A sign-out, or a removal of all entries, applies to all stores of the same place.") { make in
            let (one, two) = (try await make(Limits()), try await make(Limits()))
            let identity = CredentialIdentity(scheme: "s", account: "carol")
            let account = CacheKey(url: url("/a"), partition: .account(identity))
            let removals: [(CacheKey, () async throws -> Void)] = [
                (account, { try await one.forget(identity) }), (account, { try await one.removeAll() }),
                (key("/b"), { try await one.removeAll() }),
            ]
            for (key, remove) in removals {
                _ = try await add(to: one, key, head(), ["hello"])
                let generation = try await two.lookUp(key).generation
                let open = try await writer(in: two, key)
                try await open.write(Data("hello".utf8))
                try await remove()
                #expect(try await two.lookUp(key).entries.isEmpty)
                await expectGivenUp(open, head())
                await expectNoWriter(in: two, key, head(), since: generation, because: .removed)
                #expect(try await one.lookUp(key).entries.isEmpty)
                // The account may sign in again.
                _ = try await add(to: two, key, head(), ["hello"])
                #expect(try await one.lookUp(key).entries.count == 1)
            }
        },
        CacheStoreBehavior("KeepsNoVolatileAccounts", "Responses of an account without a lasting name are not stored.") { make in
            let store = try await make(Limits())
            let volatile = CacheKey(url: url("/a"), partition: .account(CredentialIdentity(scheme: "s", "token")))
            let generation = try await store.lookUp(volatile).generation
            await expectNoWriter(in: store, volatile, head(), since: generation, because: .volatileAccount)
        },
    ]
}
