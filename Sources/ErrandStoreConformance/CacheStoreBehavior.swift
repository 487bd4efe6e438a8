public import ErrandBehaviors
public import ErrandCache
internal import ErrandCore
internal import HTTPTypes
public import Testing

/// A rule that every store of responses must follow, with its check.
///
/// ```swift
/// @Test(arguments: CacheStoreBehavior.all)
/// func conforms(to behavior: CacheStoreBehavior) async throws {
///     try await behavior.check { limits in
///         MyCacheStore(bytes: limits.bytes, entries: limits.entries, entryBytes: limits.entryBytes)
///     }
/// }
/// ```
///
/// If several stores can open the same place, such as a folder or a database, also check ``shared``. The closure then opens the same
/// place at each call. The place must be empty before the first call:
///
/// ```swift
/// @Test(arguments: CacheStoreBehavior.all + CacheStoreBehavior.shared)
/// func conformsInAFolder(to behavior: CacheStoreBehavior) async throws {
///     let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
///     defer { try? FileManager.default.removeItem(at: folder) }
///     try await behavior.check { limits in
///         MyCacheStore(folder, bytes: limits.bytes, entries: limits.entries, entryBytes: limits.entryBytes)
///     }
/// }
/// ```
///
/// A check waits for the store without a timeout. Give the suite the trait `.timeLimit(.minutes(1))`.
public struct CacheStoreBehavior: ConformanceBehavior {
    /// The limits of a store, which a behavior chooses.
    public struct Limits: Sendable, Hashable {
        /// The largest number of bytes, as ``/ErrandCache/CacheUsage/limitBytes``.
        public let bytes: Int
        /// The largest number of entries, as ``/ErrandCache/CacheUsage/entryLimit``.
        public let entries: Int
        /// The largest number of bytes of one entry, head included.
        public let entryBytes: Int

        init(bytes: Int = 1_000_000, entries: Int = 100, entryBytes: Int = 500_000) {
            (self.bytes, self.entries, self.entryBytes) = (bytes, entries, entryBytes)
        }
    }

    typealias Make = @Sendable (Limits) async throws -> any CacheStore

    /// The unique name of the behavior.
    public let name: String
    /// The rule, as a sentence.
    public let summary: String
    private let run: @Sendable (Make) async throws -> Void

    init(_ name: String, _ summary: String, _ run: @escaping @Sendable (Make) async throws -> Void) {
        (self.name, self.summary, self.run) = (name, summary, run)
    }

    /// Makes a store, uses the store, and records an issue for each violation.
    ///
    /// - Parameter make: returns an empty store with these limits. For the behaviors of ``shared``, the closure is called several times,
    ///   and returns another store of the same place at each call. For all other behaviors, the closure is called once.
    /// - Throws: the errors of `make`, and the errors of the store.
    public func check(_ make: @Sendable (Limits) async throws -> any CacheStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [CacheStoreBehavior] = reading + writing + removing + late + limits

    // MARK: Reading and writing

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
            let id = try #require(try await add(to: store, key("/a"), head(extent: .whole(length: 300_000)), chunks: [bytes]))
            let ranges: [Range<Int64>] = [0..<300_000, 0..<0, 0..<1, 299_999..<300_000, 131_071..<262_145, 300_000..<300_000]
            for range in ranges {
                let read = try await body(of: id, range, in: store)
                #expect(areEqual(read, bytes[Int(range.lowerBound)..<Int(range.upperBound)]), "\(range)")
                if let immediate = store.immediateBody(of: id, offsets: range) { #expect(areEqual(immediate, read), "\(range)") }
            }
        },
        CacheStoreBehavior("KeepsEmptyBodies", "An empty body is stored.") { make in
            let store = try await make(Limits())
            let id = try #require(try await add(to: store, key("/a"), head(extent: .whole(length: 0)), []))
            #expect(try await text(of: id, 0..<0, in: store) == "")
        },
        CacheStoreBehavior("ReadsRemovedBodies", "The reader of a body gets the whole body, even if the entry is removed meanwhile.") {
            make in
            let store = try await make(Limits())
            let chunks = (0..<4).map { Data(repeating: $0, count: 100_000) }
            let id = try #require(try await add(to: store, key("/a"), head(extent: .whole(length: 400_000)), chunks: chunks))
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

    static let writing: [CacheStoreBehavior] = [
        CacheStoreBehavior("HidesUnpublished", "Nothing of an entry is visible before the entry is published.") { make in
            let store = try await make(Limits())
            let writer = try #require(try await writer(in: store, key("/a")))
            try await writer.write(Data("hello".utf8))
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
            #expect(try await store.usage.entries == 0)
            #expect(try await writer.publish(head(), replacing: []) != nil)
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
        },
        CacheStoreBehavior("DiscardsWriters", "A writer that is discarded or released leaves nothing in the store.") { make in
            let store = try await make(Limits())
            for discards in [true, false] {
                let writer = try #require(try await writer(in: store, key("/a")))
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
            let writer = try #require(try await writer(in: store, key("/a")))
            #expect(try await writer.publish(head(extent: .whole(length: 0)), replacing: []) != nil)
            writer.discard()
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
        },
        CacheStoreBehavior("ReplacesEntries", "A new entry replaces the entries in `replacing`, and entries with the same selection.") {
            make in
            let store = try await make(Limits())
            let other = try await add(to: store, key("/a"), head(selection: language("de")), ["hallo"])
            let old = try await add(to: store, key("/a"), head(selection: language("en")), ["hello"])
            let new = try await add(to: store, key("/a"), head(selection: language("en")), ["hullo"])
            #expect(try await Set(ids(key("/a"), store)) == [other, new].compactedSet)
            #expect(old != new)
            let last = try await add(to: store, key("/a"), head(selection: language("fr")), ["salut"], replacing: [other, new, old])
            #expect(try await ids(key("/a"), store) == [last])
        },
        CacheStoreBehavior("NeverRepeatsNumbers", "The number of a removed entry is not used again.") { make in
            let store = try await make(Limits())
            var numbers: Set<CacheEntry.ID> = []
            for _ in 0..<5 {
                let id = try #require(try await add(to: store, key("/a"), head(), ["hello"]))
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
                added.append(try #require(try await add(to: store, key("/a"), head, ["hello"])))
            }
            #expect(try await Set(ids(key("/a"), store)) == Set(added.suffix(16)))
        },
        CacheStoreBehavior("UpdatesHeads", "An update replaces the head of an entry, and keeps the body.") { make in
            let store = try await make(Limits())
            let id = try #require(try await add(to: store, key("/a"), head([(.age, "1")]), ["hello"]))
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

    // MARK: Removing

    static let removing: [CacheStoreBehavior] = [
        CacheStoreBehavior("RemovesEntries", "Removed entries are missing, and unknown numbers are ignored.") { make in
            let store = try await make(Limits())
            let one = try #require(try await add(to: store, key("/a"), head(selection: language("de")), ["hello"]))
            let two = try #require(try await add(to: store, key("/a"), head(selection: language("en")), ["hello"]))
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
            let open = try #require(try await writer(in: store, key("/a")))
            let other = try #require(try await writer(in: store, key("/c")))
            #expect(try await store.removeAll(urls: [key("/a").url, key("/none").url]) == keys.count)
            #expect(try await store.removeAll(urls: [key("/a").url]) == 0)
            for key in keys { #expect(try await store.lookUp(key).entries.isEmpty) }
            #expect(try await store.lookUp(key("/b")).entries.count == 1)
            #expect((try? await open.publish(head(extent: .whole(length: 0)), replacing: [])) ?? nil == nil)
            #expect(try await other.publish(head(extent: .whole(length: 0)), replacing: []) != nil)
            #expect(try await store.lookUp(key("/a")).entries.isEmpty)
        },
        CacheStoreBehavior("RemovesOrigins", "A removed origin has no entries, and its writers can't publish.") { make in
            let store = try await make(Limits())
            let other = CacheKey(url: url("/a", host: "b.example"))
            let port = CacheKey(url: url("/a", host: "a.example:8443"))
            for key in [key("/a"), key("/b"), other, port] { _ = try await add(to: store, key, head(), ["hello"]) }
            let open = try #require(try await writer(in: store, key("/c")))
            let kept = try #require(try await writer(in: store, CacheKey(url: url("/c", host: "b.example"))))
            try await store.removeAll(of: url("/").origin)
            #expect(try await store.usage.entries == 2)
            #expect(try await store.lookUp(other).entries.count == 1)
            #expect(try await store.lookUp(port).entries.count == 1)
            #expect((try? await open.publish(head(extent: .whole(length: 0)), replacing: [])) ?? nil == nil)
            #expect(try await kept.publish(head(extent: .whole(length: 0)), replacing: []) != nil)
        },
        CacheStoreBehavior("ForgetsAccounts", "A forgotten account has no entries, and gets no entry from an exchange in progress.") {
            make in
            let store = try await make(Limits())
            let one = CredentialIdentity(scheme: "s", account: "one", "token 1")
            let two = CredentialIdentity(scheme: "s", account: "two", "token 2")
            let keys = [one, two].map { CacheKey(url: url("/a"), partition: .account($0)) }
            for key in keys + [key("/a")] { _ = try await add(to: store, key, head(), ["hello"]) }
            let before = try await store.lookUp(keys[0]).generation
            let open = try #require(try await writer(in: store, keys[0]))
            var (others, generations): ([any CacheWriter], [CacheKey: CacheGeneration]) = ([], [:])
            for key in [keys[1], key("/a")] {
                others.append(try #require(try await writer(in: store, key)))
                generations[key] = try await store.lookUp(key).generation
            }
            // Only the name of the account decides which entries are removed.
            try await store.forget(CredentialIdentity(scheme: "s", account: "one", "token 3"))
            #expect(try await store.lookUp(keys[0]).entries.isEmpty)
            #expect(try await store.lookUp(keys[1]).entries.count == 1)
            #expect(try await store.lookUp(key("/a")).entries.count == 1)
            #expect((try? await open.publish(head(extent: .whole(length: 0)), replacing: [])) ?? nil == nil)
            #expect(try await store.makeWriter(for: keys[0], head: head(), expectedBytes: nil, since: before) == nil)
            if case .writer = store.makeImmediateWriter(for: keys[0], head: head(), expectedBytes: nil, since: before) {
                Issue.record("makeImmediateWriter returned a writer for a generation from before the call of forget(_:)")
            }
            #expect(try await store.lookUp(keys[0]).entries.isEmpty)
            // Other writers can still publish: the writers of other accounts, and of responses without an account.
            for (writer, key) in zip(others, [keys[1], key("/a")]) {
                #expect(try await writer.publish(head(extent: .whole(length: 0)), replacing: []) != nil)
                let late = try await store.makeWriter(for: key, head: head(), expectedBytes: nil, since: generations[key] ?? .init(-1))
                #expect(try await late?.publish(head(extent: .whole(length: 0)), replacing: []) != nil)
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
                open.append(try #require(try await writer(in: store, key)))
                generations.append(try await store.lookUp(key).generation)
            }
            try await store.removeAll()
            for (index, key) in keys.enumerated() {
                #expect((try? await open[index].publish(head(extent: .whole(length: 0)), replacing: [])) ?? nil == nil)
                #expect(try await store.makeWriter(for: key, head: head(), expectedBytes: nil, since: generations[index]) == nil)
            }
            #expect(try await store.usage.entries == 0)
            #expect(try await store.usage.bytes == 0)
        },
        CacheStoreBehavior("RemovesAfterCancellation", "Removals are carried out even if the task is cancelled.") { make in
            let store = try await make(Limits())
            let id = try #require(try await add(to: store, key("/a"), head(), ["hello"]))
            _ = try await add(to: store, key("/b"), head(), ["hello"])
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.remove([id])
                try await store.removeAll(urls: [key("/b").url])
            }.value
            #expect(try await store.usage.entries == 0)
        },
    ]

    // MARK: Limits

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
                let id = try await add(
                    to: store, key("/\(number)"), head([(.eTag, value)], extent: .whole(length: 20_000)),
                    chunks: [
                        Data(repeating: 1, count: 20_000)
                    ])
                #expect(id != nil)
                #expect(try await store.usage.bytes <= 200_000)
            }
            let entries = try await store.usage.entries
            #expect(entries >= 2 && entries <= 4, "\(entries) entries of 40 KB in 200 KB")
            #expect(try await store.lookUp(key("/19")).entries.count == 1)
        },
        CacheStoreBehavior("RefusesLargeEntries", "An entry that is too large gets no writer.") { make in
            let store = try await make(Limits(entryBytes: 10_000))
            let lookup = try await store.lookUp(key("/a"))
            #expect(try await store.makeWriter(for: key("/a"), head: head(), expectedBytes: 20_000, since: lookup.generation) == nil)
            let huge = Int64.max
            #expect(try await store.makeWriter(for: key("/a"), head: head(), expectedBytes: huge, since: lookup.generation) == nil)
            let large = head([(.eTag, String(repeating: "v", count: 20_000))])
            #expect(try await store.makeWriter(for: key("/a"), head: large, expectedBytes: nil, since: lookup.generation) == nil)
        },
        CacheStoreBehavior("StopsLargeEntries", "The writer of an entry that becomes too large fails, and other entries stay.") { make in
            let store = try await make(Limits(entryBytes: 50_000))
            _ = try await add(to: store, key("/b"), head(), ["hello"])
            let writer = try #require(try await writer(in: store, key("/a")))
            await #expect(throws: (any Error).self) {
                for _ in 0..<100 { try await writer.write(Data(count: 1000)) }
            }
            writer.discard()
            #expect(try await store.lookUp(key("/b")).entries.count == 1)
            #expect(try await store.usage.entries == 1)
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

extension String {
    /// The text with each octet that is not ASCII in its percent-encoded form.
    fileprivate var addingPercentEncoding: String {
        utf8.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16, uppercase: true) }.joined()
    }
}

extension [CacheEntry.ID?] {
    fileprivate var compactedSet: Set<CacheEntry.ID> { Set(compactMap(\.self)) }
}

extension CacheStoreBehavior {
    static func url(_ path: String, host: String = "a.example") -> HTTPURL {
        do { return try HTTPURL("https://\(host)\(path)") } catch { preconditionFailure("path must be valid (is \(path))") }
    }

    static func key(_ path: String) -> CacheKey { CacheKey(url: url(path)) }

    static func key(_ path: String, search: String) -> CacheKey {
        key(path).replacing(url: url(path).description, content: nil, search: search)
    }

    static func language(_ language: String) -> CacheSelection {
        CacheSelection(fields: [.init(name: .acceptLanguage, value: .text(language))])
    }

    static func head(
        _ fields: [(HTTPField.Name, String)] = [], extent: CacheExtent = .whole(length: 5), selection: CacheSelection = CacheSelection(),
        lifetimes: CacheLifetimes? = nil, isDecoded: Bool = false, at seconds: Double = 0
    ) -> CacheEntry.Head {
        var response = HTTPResponse(status: .ok)
        for (name, value) in fields { response.headerFields.append(HTTPField(name: name, value: value)) }
        return CacheEntry.Head(
            response: response,
            requestTime: CacheInstant(sinceEpoch: .seconds(1_900_000_000 + seconds), uptime: .seconds(seconds + 10), run: .max),
            responseTime: CacheInstant(sinceEpoch: .seconds(1_900_000_001 + seconds), uptime: .seconds(seconds + 11), run: .max),
            selection: selection, extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
    }

    static func writer(in store: any CacheStore, _ key: CacheKey) async throws -> (any CacheWriter)? {
        let generation = try await store.lookUp(key).generation
        return try await store.makeWriter(for: key, head: head(), expectedBytes: nil, since: generation)
    }

    static func add(
        to store: any CacheStore, _ key: CacheKey, _ head: CacheEntry.Head, _ texts: [String], replacing: [CacheEntry.ID?] = []
    ) async throws -> CacheEntry.ID? {
        let bytes = texts.map { Data($0.utf8) }
        var head = head
        let length = Int64(bytes.reduce(0) { $0 + $1.count })
        if case .whole = head.extent {
            head = CacheEntry.Head(
                response: head.response, requestTime: head.requestTime, responseTime: head.responseTime, selection: head.selection,
                extent: .whole(length: length), lifetimes: head.lifetimes, isDecoded: head.isDecoded)
        }
        return try await add(to: store, key, head, chunks: bytes, replacing: replacing)
    }

    static func add(
        to store: any CacheStore, _ key: CacheKey, _ head: CacheEntry.Head, chunks: [Data], replacing: [CacheEntry.ID?] = []
    ) async throws -> CacheEntry.ID? {
        let generation = try await store.lookUp(key).generation
        let length = head.extent.storedBytes
        let writer = try #require(try await store.makeWriter(for: key, head: head, expectedBytes: length, since: generation))
        for chunk in chunks { try await writer.write(chunk) }
        return try await writer.publish(head, replacing: replacing.compactMap(\.self))
    }

    static func ids(_ key: CacheKey, _ store: any CacheStore) async throws -> [CacheEntry.ID] {
        try await store.lookUp(key).entries.map(\.id)
    }

    static func body(of id: CacheEntry.ID, _ offsets: Range<Int64>, in store: any CacheStore) async throws -> Data {
        let source = try #require(try await store.body(of: id, offsets: offsets))
        var data = Data()
        while let chunk = try await source.next() {
            #expect(!chunk.isEmpty)
            data.append(chunk)
        }
        return data
    }

    /// Returns whether the bytes are equal. `#expect(one == other)` would take minutes to describe the difference of long bodies.
    static func areEqual(_ one: Data, _ other: Data) -> Bool { one == other }

    static func text(of id: CacheEntry.ID, _ offsets: Range<Int64>, in store: any CacheStore) async throws -> String {
        String(decoding: try await body(of: id, offsets, in: store), as: UTF8.self)
    }
}
