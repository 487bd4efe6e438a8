internal import ErrandCache
internal import ErrandCore
internal import Testing

extension CacheStoreBehavior {
    /// The behaviors of limits.
    static let limits: [CacheStoreBehavior] = [
        CacheStoreBehavior("BoundsEntries", "The limit for entries is never exceeded. The least recently used entry is removed first.") {
            make in
            let store = try await make(Limits(entries: 3))
            for path in ["/a", "/b", "/c"] { _ = try await add(to: store, key(path), head(), ["hello"]) }
            _ = try await store.lookUp(key("/a"))
            _ = try await add(to: store, key("/d"), head(), ["hello"])
            #expect(try await store.usage.entries == 3)
            #expect(try await store.lookUp(key("/b")).entries.isEmpty)
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
        },
        CacheStoreBehavior("BoundsBytes", "The limit for bytes is never exceeded, and the heads of entries count too.") { make in
            let store = try await make(Limits(bytes: 200_000, entryBytes: 60_000))
            let value = String(repeating: "v", count: 20_000)
            for number in 0..<20 {
                _ = try await add(
                    to: store, key("/\(number)"), head([(.eTag, value)], extent: .whole(length: 20_000)),
                    chunks: [
                        Data(repeating: 1, count: 20_000)
                    ])
                #expect(try await store.usage.bytes <= 200_000)
            }
            let entries = try await store.usage.entries
            #expect(entries >= 2 && entries <= 4, "\(entries) entries of 40 KB in 200 KB")
            #expect(try await store.lookUp(key("/19")).entries.count == 1)
        },
        CacheStoreBehavior("RefusesLargeEntries", "An entry that is too large gets no writer.") { make in
            let store = try await make(Limits(entryBytes: 10_000))
            let lookup = try await store.lookUp(key("/a"))
            for bytes in [20_000, Int64.max] {
                await expectNoWriter(
                    in: store, key("/a"), head(), expectedBytes: bytes, since: lookup.generation, because: .tooLarge)
            }
            let large = head([(.eTag, String(repeating: "v", count: 20_000))])
            await expectNoWriter(in: store, key("/a"), large, since: lookup.generation, because: .tooLarge)
        },
        CacheStoreBehavior("StopsLargeEntries", "The writer of an entry that becomes too large fails, and other entries stay.") { make in
            let store = try await make(Limits(entryBytes: 50_000))
            _ = try await add(to: store, key("/b"), head(), ["hello"])
            let writer = try await writer(in: store, key("/a"))
            await #expect(throws: CacheStatus.Refusal.tooLarge) {
                for _ in 0..<100 { try await writer.write(Data(count: 1000)) }
            }
            writer.discard()
            #expect(try await store.lookUp(key("/b")).entries.count == 1)
            #expect(try await store.usage.entries == 1)
        },
        CacheStoreBehavior("RefusesWithoutRoom", "A store without room for an entry refuses the entry, and other entries stay.") { make in
            // Each entry has at most half of the room, so not all unpublished entries have room together.
            let store = try await make(Limits(bytes: 200_000, entryBytes: 100_000))
            _ = try await add(to: store, key("/b"), head(), ["hello"])
            var writers: [any CacheWriter] = []
            var refusals: Set<CacheStatus.Refusal> = []
            for number in 0..<4 {
                do {
                    let writer = try await writer(in: store, key("/\(number)"))
                    writers.append(writer)
                    try await writer.write(Data(count: 80_000))
                    _ = try await store.lookUp(key("/b"))
                } catch let refusal as CacheStatus.Refusal {
                    refusals.insert(refusal)
                }
            }
            #expect(refusals == [.noRoom], "four unpublished entries of 80 KB in 200 KB")
            for writer in writers { writer.discard() }
            writers = []
            #expect(try await store.usage.bytes <= 200_000)
            _ = try await add(to: store, key("/c"), head(), ["hello"])
            #expect(try await store.lookUp(key("/c")).entries.count == 1, "the store works")
        },
        CacheStoreBehavior("RefusesGivenUpEntries", "The writer of a removed URL refuses more bytes, or refuses to publish.") { make in
            let store = try await make(Limits())
            let writer = try await writer(in: store, key("/a"))
            try await writer.write(Data("he".utf8))
            try await store.removeAll(urls: [key("/a").url])
            await #expect(throws: CacheStatus.Refusal.removed) {
                try await writer.write(Data("llo".utf8))
                _ = try await writer.publish(head(), replacing: [])
            }
            writer.discard()
            #expect(try await store.usage.entries == 0)
        },
        CacheStoreBehavior("ReleasesBytes", "The bytes of removed and replaced entries do not count.") { make in
            let store = try await make(Limits())
            _ = try await add(to: store, key("/a"), head(), ["hello"])
            let bytes = try await store.usage.bytes
            for _ in 0..<10 { _ = try await add(to: store, key("/a"), head(), ["hello"]) }
            #expect(try await store.usage.bytes == bytes)
            try await store.removeAll(urls: [key("/a").url])
            #expect(try await store.usage.bytes == 0)
        },
    ]
}
