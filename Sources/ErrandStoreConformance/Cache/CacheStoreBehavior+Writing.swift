internal import ErrandCache
internal import ErrandCore
internal import Testing

extension CacheStoreBehavior {
    /// The behaviors of writing, replacing and updating.
    static let writing: [CacheStoreBehavior] = [
        CacheStoreBehavior("HidesUnpublished", "Nothing of an entry is visible before the entry is published.") { make in
            let store = try await make(Limits())
            let writer = try await writer(in: store, key("/a"))
            try await writer.write(Data("hello".utf8))
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
            #expect(try await store.usage.entries == 0)
            _ = try await writer.publish(head(), replacing: [])
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
        },
        CacheStoreBehavior("DiscardsWriters", "A writer that is discarded or released leaves nothing in the store.") { make in
            let store = try await make(Limits())
            for discards in [true, false] {
                let writer = try await writer(in: store, key("/a"))
                try await writer.write(Data("hello".utf8))
                if discards {
                    writer.discard()
                    writer.discard()
                }
            }
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
            #expect(try await store.usage.bytes == 0)
        },
        CacheStoreBehavior("KeepsPublished", "Discarding a writer after its end has no effect.") { make in
            let store = try await make(Limits())
            let writer = try await writer(in: store, key("/a"))
            _ = try await writer.publish(head(extent: .whole(length: 0)), replacing: [])
            writer.discard()
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
        },
        CacheStoreBehavior("ReplacesEntries", "A new entry replaces the entries in `replacing`, and entries with the same selection.") {
            make in
            let store = try await make(Limits())
            let other = try await add(to: store, key("/a"), head(selection: language("de")), ["hallo"])
            let old = try await add(to: store, key("/a"), head(selection: language("en")), ["hello"])
            let new = try await add(to: store, key("/a"), head(selection: language("en")), ["hullo"])
            #expect(try await Set(ids(key("/a"), store)) == [other, new])
            #expect(old != new)
            let last = try await add(to: store, key("/a"), head(selection: language("fr")), ["salut"], replacing: [other, new, old])
            #expect(try await ids(key("/a"), store) == [last])
        },
        CacheStoreBehavior("NeverRepeatsNumbers", "The number of a removed entry is not used again.") { make in
            let store = try await make(Limits())
            var numbers: Set<CacheEntry.ID> = []
            for _ in 0..<5 {
                let id = try await add(to: store, key("/a"), head(), ["hello"])
                #expect(numbers.insert(id).inserted)
                try await store.removeAll()
            }
        },
        CacheStoreBehavior("BoundsVariants", "A key has at most 16 entries. The entries with the oldest responses are removed first.") {
            make in
            let store = try await make(Limits())
            var added: [CacheEntry.ID] = []
            for number in 0..<20 {
                let head = head(selection: language("l\(number)"), at: Double(number))
                added.append(try await add(to: store, key("/a"), head, ["hello"]))
            }
            #expect(try await Set(ids(key("/a"), store)) == Set(added.suffix(16)))
        },
        CacheStoreBehavior("UpdatesHeads", "An update replaces the head of an entry, and keeps the body.") { make in
            let store = try await make(Limits())
            let id = try await add(to: store, key("/a"), head([(.age, "1")]), ["hello"])
            let new = head([(.age, "2"), (.eTag, "\"x\"")], at: 50)
            try await store.updateHeads([CacheEntry(id: id, head: new), CacheEntry(id: CacheEntry.ID(999_999), head: new)])
            let found = try #require(try await store.lookUp(key("/a")).entries.first)
            #expect(found.id == id && found.head.response == new.response && found.head.responseTime == new.responseTime)
            #expect(try await text(of: id, 0..<5, in: store) == "hello")
            #expect(try await store.usage.entries == 1)
        },
        CacheStoreBehavior("WritesConcurrently", "Concurrent writers do not disturb each other.") { make in
            let store = try await make(Limits())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        for chunk in 0..<10 {
                            let text = "\(number):\(chunk)"
                            let length = Int64(text.count * 2)
                            _ = try await add(to: store, key("/\(number)"), head(extent: .whole(length: length)), [text, text])
                            let entries = try await store.lookUp(key("/\(number)")).entries
                            try #require(entries.count == 1)
                            let id = try #require(entries.first?.id)
                            try #require(try await Self.text(of: id, 0..<length, in: store) == text + text)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.usage.entries == 40)
        },
    ]
}
