internal import ErrandCache
internal import ErrandCore
internal import HTTPTypes
internal import Testing

extension CacheStoreBehavior {
    /// The behaviors of removing.
    static let removing: [CacheStoreBehavior] = [
        CacheStoreBehavior("RemovesEntries", "Removed entries are missing, and unknown numbers are ignored.") { make in
            let store = try await make(Limits())
            let one = try await add(to: store, key("/a"), head(selection: language("de")), ["hello"])
            let two = try await add(to: store, key("/a"), head(selection: language("en")), ["hello"])
            try await store.remove([one, CacheEntry.ID(999_999)])
            #expect(try await ids(key("/a"), store) == [two])
            #expect(try await store.body(of: one, offsets: 0..<5) == nil)
            try await store.remove([two])
            #expect(try await store.usage.entries == 0)
            #expect(try await store.usage.bytes == 0)
        },
        CacheStoreBehavior("RemovesURLs", "A removed URL has no entries of any account or content, and its writers can't publish.") {
            make in
            let store = try await make(Limits())
            let account = CacheKey.Partition.account(CredentialIdentity(scheme: "s", account: "a"))
            let keys = [
                key("/a"), CacheKey(url: url("/a"), partition: account),
                CacheKey(url: url("/a"), content: .init(digest: [1], fields: "")),
            ]
            for key in keys + [key("/b")] { _ = try await add(to: store, key, head(), ["hello"]) }
            let open = try await writer(in: store, key("/a"))
            let other = try await writer(in: store, key("/c"))
            #expect(try await store.removeAll(urls: [key("/a").url, key("/none").url]) == keys.count)
            #expect(try await store.removeAll(urls: [key("/a").url]) == 0)
            for key in keys { #expect(try await store.lookUp(key).entries.isEmpty) }
            #expect(try await store.lookUp(key("/b")).entries.count == 1)
            await expectGivenUp(open, head(extent: .whole(length: 0)))
            _ = try await other.publish(head(extent: .whole(length: 0)), replacing: [])
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
        },
        CacheStoreBehavior("RemovesOrigins", "A removed origin has no entries, and its writers can't publish.") { make in
            let store = try await make(Limits())
            let other = CacheKey(url: url("/a", host: "b.example"))
            let port = CacheKey(url: url("/a", host: "a.example:8443"))
            for key in [key("/a"), key("/b"), other, port] { _ = try await add(to: store, key, head(), ["hello"]) }
            let open = try await writer(in: store, key("/c"))
            let kept = try await writer(in: store, CacheKey(url: url("/c", host: "b.example")))
            try await store.removeAll(of: url("/").origin)
            #expect(try await store.usage.entries == 2)
            #expect(try await store.lookUp(other).entries.count == 1)
            #expect(try await store.lookUp(port).entries.count == 1)
            await expectGivenUp(open, head(extent: .whole(length: 0)))
            _ = try await kept.publish(head(extent: .whole(length: 0)), replacing: [])
        },
        CacheStoreBehavior("ForgetsAccounts", "A forgotten account has no entries, and gets no entry from an exchange in progress.") {
            make in
            let store = try await make(Limits())
            let one = CredentialIdentity(scheme: "s", account: "one", "token 1")
            let two = CredentialIdentity(scheme: "s", account: "two", "token 2")
            let keys = [one, two].map { CacheKey(url: url("/a"), partition: .account($0)) }
            for key in keys + [key("/a")] { _ = try await add(to: store, key, head(), ["hello"]) }
            let before = try await store.lookUp(keys[0]).generation
            let open = try await writer(in: store, keys[0])
            var (others, generations): ([any CacheWriter], [CacheKey: CacheGeneration]) = ([], [:])
            for key in [keys[1], key("/a")] {
                others.append(try await writer(in: store, key))
                generations[key] = try await store.lookUp(key).generation
            }
            // Only the name of the account decides which entries are removed.
            try await store.forget(CredentialIdentity(scheme: "s", account: "one", "token 3"))
            #expect(try await store.lookUp(keys[0]).entries.isEmpty)
            #expect(try await store.lookUp(keys[1]).entries.count == 1)
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
            await expectGivenUp(open, head(extent: .whole(length: 0)))
            await expectNoWriter(in: store, keys[0], head(), since: before, because: .removed)
            #expect(try await store.lookUp(keys[0]).entries.isEmpty)
            // Other writers can still publish: the writers of other accounts, and of responses without an account.
            for (writer, key) in zip(others, [keys[1], key("/a")]) {
                _ = try await writer.publish(head(extent: .whole(length: 0)), replacing: [])
                let late = try await store.makeWriter(for: key, head: head(), expectedBytes: nil, since: generations[key] ?? .init(-1))
                _ = try await late.publish(head(extent: .whole(length: 0)), replacing: [])
            }
            // The account may sign in again.
            _ = try await add(to: store, keys[0], head(), ["hello"])
            #expect(try await store.lookUp(keys[0]).entries.count == 1)
        },
        CacheStoreBehavior("RemovesGroups", "The entries of a group are removed for all accounts of an origin.") { make in
            let store = try await make(Limits())
            let account = CacheKey.Partition.account(CredentialIdentity(scheme: "s", account: "a"))
            let name = try #require(HTTPField.Name("Cache-Groups"))
            let (grouped, other) = (head([(name, "\"g\", \"h\"")]), head([(name, "\"G\"")]))
            let removed = [key("/a"), CacheKey(url: url("/b"), partition: account)]
            let kept = [key("/c"), CacheKey(url: url("/a", host: "b.example"))]
            for key in removed { _ = try await add(to: store, key, grouped, ["hello"]) }
            _ = try await add(to: store, kept[0], other, ["hello"])
            _ = try await add(to: store, kept[1], grouped, ["hello"])
            try await store.removeAll(groups: ["x", "h"], of: kept[0].origin)
            for key in removed { #expect(try await store.lookUp(key).entries.isEmpty) }
            for key in kept { #expect(try await store.lookUp(key).entries.count == 1) }
        },
        CacheStoreBehavior("RemovesEverything", "An emptied store has no entries, and its writers can't publish.") { make in
            let store = try await make(Limits())
            _ = try await add(to: store, key("/a"), head(), ["hello"])
            let account = CredentialIdentity(scheme: "s", account: "one")
            let keys = [key("/b"), CacheKey(url: url("/b"), partition: .account(account))]
            // After this call, the account has a removal of its own.
            try await store.forget(account)
            var (open, generations): ([any CacheWriter], [CacheGeneration]) = ([], [])
            for key in keys {
                open.append(try await writer(in: store, key))
                generations.append(try await store.lookUp(key).generation)
            }
            try await store.removeAll()
            for (index, key) in keys.enumerated() {
                await expectGivenUp(open[index], head(extent: .whole(length: 0)))
                await expectNoWriter(in: store, key, head(), since: generations[index], because: .removed)
            }
            #expect(try await store.usage.entries == 0)
            #expect(try await store.usage.bytes == 0)
        },
        CacheStoreBehavior("RemovesAfterCancellation", "Removals are carried out even if the task is cancelled.") { make in
            let store = try await make(Limits())
            let id = try await add(to: store, key("/a"), head(), ["hello"])
            _ = try await add(to: store, key("/b"), head(), ["hello"])
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.remove([id])
                try await store.removeAll(urls: [key("/b").url])
            }.value
            #expect(try await store.usage.entries == 0)
        },
    ]
}
