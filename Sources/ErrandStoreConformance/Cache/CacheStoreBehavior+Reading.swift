internal import ErrandCache
internal import ErrandCore
internal import Testing

extension CacheStoreBehavior {
    /// The behaviors of reading.
    static let reading: [CacheStoreBehavior] = [
        CacheStoreBehavior("EmptyAtFirst", "A new store has no entries, and reports its limits.") { make in
            let store = try await make(Limits())
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
            let usage = try await store.usage
            #expect(usage.entries == 0 && usage.bytes == 0 && usage.entryLimit == 100 && usage.limitBytes == 1_000_000)
            #expect(try await store.entries(limit: 10).isEmpty)
        },
        CacheStoreBehavior("KeepsTheWholeEntry", "A look-up returns all parts of an entry's head, and the body can be read.") { make in
            let store = try await make(Limits())
            let selection = CacheSelection(fields: [
                .init(name: .accept, value: .text("text/html")), .init(name: .cookie, value: .digest([1, 2, 3])),
                .init(name: .authorization, value: .account), .init(name: .acceptLanguage, value: .absent),
            ])
            let written = head(
                [(.eTag, "\"1\""), (.cacheControl, "max-age=60"), (.via, "<a>"), (.via, "<b>")], selection: selection,
                lifetimes: CacheLifetimes(fresh: .seconds(3), staleWhileRevalidate: .milliseconds(1500), staleIfError: nil))
            let id = try await add(to: store, key("/a"), written, ["he", "l", "lo"])
            let found = try #require(try await store.lookUp(key("/a")).entries.first)
            #expect(found.id == id)
            #expect(found.head.response == written.response)
            #expect(found.head.requestTime == written.requestTime && found.head.responseTime == written.responseTime)
            #expect(found.head.selection == selection)
            #expect(found.head.lifetimes == written.lifetimes && found.head.extent == .whole(length: 5) && !found.head.isDecoded)
            #expect(try await text(of: found.id, 0..<5, in: store) == "hello")
        },
        CacheStoreBehavior("KeepsParts", "A stored part of a representation keeps its range.") { make in
            let store = try await make(Limits())
            let part = head(extent: .part(100..<105, completeLength: nil), isDecoded: true)
            _ = try await add(to: store, key("/a"), part, ["hello"])
            let found = try #require(try await store.lookUp(key("/a")).entries.first)
            #expect(found.head.extent == .part(100..<105, completeLength: nil) && found.head.isDecoded)
        },
        CacheStoreBehavior("ReadsAnyRange", "A body can be read from any offset.") { make in
            let store = try await make(Limits())
            let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            let id = try await add(to: store, key("/a"), head(extent: .whole(length: 300_000)), chunks: [bytes])
            let ranges: [Range<Int64>] = [0..<300_000, 0..<0, 0..<1, 299_999..<300_000, 131_071..<262_145, 300_000..<300_000]
            for range in ranges {
                let read = try await body(of: id, range, in: store)
                #expect(areEqual(read, bytes[Int(range.lowerBound)..<Int(range.upperBound)]), "\(range)")
                if let immediate = store.immediateBody(of: id, offsets: range) { #expect(areEqual(immediate, read), "\(range)") }
            }
        },
        CacheStoreBehavior("KeepsEmptyBodies", "An empty body is stored.") { make in
            let store = try await make(Limits())
            let id = try await add(to: store, key("/a"), head(extent: .whole(length: 0)), [])
            #expect(try await text(of: id, 0..<0, in: store) == "")
        },
        CacheStoreBehavior("ReadsRemovedBodies", "The reader of a body gets the whole body, even if the entry is removed meanwhile.") {
            make in
            let store = try await make(Limits())
            let chunks = (0..<4).map { Data(repeating: $0, count: 100_000) }
            let id = try await add(to: store, key("/a"), head(extent: .whole(length: 400_000)), chunks: chunks)
            let source = try #require(try await store.body(of: id, offsets: 0..<400_000))
            var read = try await source.next() ?? Data()
            try await store.removeAll()
            while let chunk = try await source.next() { read.append(chunk) }
            #expect(areEqual(read, Data(chunks.joined())))
            #expect(try await store.body(of: id, offsets: 0..<400_000) == nil)
        },
        CacheStoreBehavior("KeepsKeysApart", "Keys that differ in one part have different entries.") { make in
            let store = try await make(Limits())
            let account = CredentialIdentity(scheme: "s", account: "a")
            let keys = [
                key("/a"), key("/A"), key("/a?x"), CacheKey(url: url("/a"), partition: .account(account)),
                CacheKey(url: url("/a"), partition: .account(CredentialIdentity(scheme: "s", account: "b"))),
                CacheKey(url: url("/a"), content: .init(digest: [1], fields: "f")),
                CacheKey(url: url("/a"), content: .init(digest: [2], fields: "f")),
                CacheKey(url: url("/a"), content: .init(digest: [1], fields: "g")), key("/a", search: ""), key("/a", search: "x"),
                key("/a", search: "X"),
                CacheKey(url: url("/\u{E9}".addingPercentEncoding)), CacheKey(url: url("/e\u{301}".addingPercentEncoding)),
            ]
            for (index, key) in keys.enumerated() { _ = try await add(to: store, key, head(), [String(index)]) }
            for (index, key) in keys.enumerated() {
                let entries = try await store.lookUp(key).entries
                #expect(entries.count == 1, "key \(index)")
                let id = try #require(entries.first?.id)
                #expect(try await text(of: id, 0..<Int64(String(index).count), in: store) == String(index))
            }
            #expect(try await store.usage.entries == keys.count)
        },
        CacheStoreBehavior("ListsRecentlyUsedFirst", "The list begins with the most recently used entry.") { make in
            let store = try await make(Limits())
            for path in ["/a", "/b", "/c"] { _ = try await add(to: store, key(path), head(), ["x"]) }
            _ = try await store.lookUp(key("/a"))
            let urls = try await store.entries(limit: 2).map(\.url)
            #expect(urls.count == 2 && urls.first == key("/a").url)
            let account = CacheKey(url: url("/d"), partition: .account(CredentialIdentity(scheme: "s", account: "x")))
            _ = try await add(to: store, account, head(), ["x"])
            let listed = try #require(try await store.entries(limit: 9).first { $0.url == account.url })
            #expect(listed.belongsToAccount && !listed.hasContent)
        },
        CacheStoreBehavior("RepeatsDigests", "Equal octets have equal digests, and different octets have different digests.") { make in
            let store = try await make(Limits())
            guard let first = store.digest([1, 2, 3]) else { return }
            #expect(
                first.count >= 16 && first == store.digest([1, 2, 3]) && first != store.digest([1, 2, 4]) && first != store.digest([]))
        },
    ]
}

extension String {
    /// The text with each octet that is not ASCII in its percent-encoded form.
    fileprivate var addingPercentEncoding: String {
        utf8.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16, uppercase: true) }.joined()
    }
}
