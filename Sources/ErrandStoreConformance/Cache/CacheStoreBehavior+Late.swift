internal import ErrandCache
internal import ErrandCore
internal import HTTPTypes
internal import Testing

/// The behaviors for responses that arrive after a removal: their requests were sent before the removal.
extension CacheStoreBehavior {
    static let late: [CacheStoreBehavior] = [
        CacheStoreBehavior(
            "RefusesLateResponses", "A response that was requested before the removal of its URL, its origin or its group gets no writer."
        ) { make in
            let store = try await make(Limits())
            for removal in try removalsOfSample() {
                _ = try await add(to: store, key("/a"), try groupedHead(), ["hello"])
                let before = try await store.lookUp(key("/a")).generation
                try await removal.perform(store)
                await expectNoWriter(
                    in: store, key("/a"), try groupedHead(), expectedBytes: 5, since: before, because: .removed,
                    "the \(removal.name) was removed")
                _ = try await add(to: store, key("/a"), try groupedHead(), ["hello"])
                #expect(try await store.lookUp(key("/a")).entries.count == 1, "a response that was requested later is stored")
            }
        },
        CacheStoreBehavior("GivesUpWritersOfGroups", "An unpublished entry of a removed group is given up.") { make in
            let store = try await make(Limits())
            let before = try await store.lookUp(key("/a")).generation
            let head = try groupedHead()
            let open = try await store.makeWriter(for: key("/a"), head: head, expectedBytes: 5, since: before)
            try await open.write(Data("hello".utf8))
            try await store.removeAll(groups: ["g"], of: key("/a").origin)
            await expectGivenUp(open, head)
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
        },
    ]

    static let sharedRemovals = CacheStoreBehavior(
        "SharesRemovals", "After a removal of a URL, an origin or a group, no store of the same place publishes an earlier response."
    ) { make in
        let (one, two) = (try await make(Limits()), try await make(Limits()))
        for removal in try removalsOfSample() {
            _ = try await add(to: two, key("/a"), try groupedHead(), ["hello"])
            let before = try await two.lookUp(key("/a")).generation
            let open = try await two.makeWriter(for: key("/a"), head: groupedHead(), expectedBytes: 5, since: before)
            try await open.write(Data("hello".utf8))
            try await removal.perform(one)
            #expect(try await two.lookUp(key("/a")).entries.isEmpty, "the \(removal.name) was removed")
            await expectGivenUp(open, try groupedHead(), "the \(removal.name) was removed")
            await expectNoWriter(
                in: two, key("/a"), try groupedHead(), expectedBytes: 5, since: before, because: .removed,
                "the \(removal.name) was removed")
            _ = try await add(to: two, key("/a"), try groupedHead(), ["hello"])
            #expect(try await one.lookUp(key("/a")).entries.count == 1, "a response that was requested later is stored")
        }
    }

    /// A removal that applies to the entry with the URL `/a` and the head ``groupedHead()``.
    private struct Removal {
        let name: String
        let perform: @Sendable (any CacheStore) async throws -> Void
    }

    private static func removalsOfSample() throws -> [Removal] {
        let key = key("/a")
        return [
            Removal(name: "URL") { try await $0.removeAll(urls: [key.url]) },
            Removal(name: "origin") { try await $0.removeAll(of: key.origin) },
            Removal(name: "group") { try await $0.removeAll(groups: ["x", "g"], of: key.origin) },
        ]
    }

    private static func groupedHead() throws -> CacheEntry.Head {
        head([(try #require(HTTPField.Name("Cache-Groups")), "\"g\", \"h\"")])
    }
}
