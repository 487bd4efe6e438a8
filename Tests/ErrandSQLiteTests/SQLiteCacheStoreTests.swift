#if SQLite
import ErrandCache
import ErrandFormats
import ErrandStoreConformance
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

private let xor = CacheSealing(
    seal: { Data([7] + $0.map { $0 ^ 0x5A }) },
    open: {
        guard $0.first == 7 else { throw CancellationError() }
        return Data($0.dropFirst().map { $0 ^ 0x5A })
    })

private func withFolder(_ body: (String, StoreFiles) async throws -> Void) async throws {
    let folder = try TestFolder("sqlite-cache")
    let path = folder.file("store")
    try await body(path, StoreFiles(path: path))
}

@Suite struct SQLiteCacheStoreTests {
    @Test(arguments: CacheStoreBehavior.all + CacheStoreBehavior.shared, [false, true])
    func theStoreConforms(to behavior: CacheStoreBehavior, isSealed: Bool) async throws {
        try await withFolder { path, _ in
            try await behavior.check {
                SQLiteCacheStore(
                    folder: path, bytes: Int64($0.bytes), entries: $0.entries, entryBytes: Int64($0.entryBytes),
                    sealing: isSealed ? xor : nil)
            }
        }
    }

    /// The removals of a response itself, and the removals of another opening of the store before and after these removals.
    @Test func theOwnRemovalsOfAResponseAreToldApart() async throws {
        try await withFolder { path, _ in
            let (one, two) = (SQLiteCacheStore(folder: path), SQLiteCacheStore(folder: path))
            let (key, origin, head) = (Samples.key("/a"), Samples.url("/").origin, Samples.head("n", bytes: 5, group: "news"))
            let own = [
                CacheRemoval(of: origin, urls: [key.url]), CacheRemoval(clearedOrigin: origin, of: origin),
                CacheRemoval(groups: ["x", "news"], of: origin),
                CacheRemoval(clearedOrigin: origin, groups: ["news"], of: origin, urls: [key.url, "x"]),
            ]
            let others: [(name: String, applies: Bool, remove: () async throws -> Void)] = [
                ("nothing", false, {}), ("another URL", false, { try await two.removeAll(urls: [Samples.key("/b").url]) }),
                ("another group", false, { try await two.removeAll(groups: ["sports"], of: origin) }),
                ("the URL", true, { try await two.removeAll(urls: [key.url]) }),
                ("the origin", true, { try await two.removeAll(of: origin) }),
                ("the group", true, { try await two.removeAll(groups: ["news"], of: origin) }),
                ("everything", true, { try await two.removeAll() }),
            ]
            for (number, removal) in own.enumerated() {
                for (name, applies, remove) in others {
                    for isEarlier in [true, false] {
                        let old = try await one.makeWriter(for: key, head: head, expectedBytes: 0, since: one.lookUp(key).generation)
                        let empty = Samples.head("n", bytes: 0, group: "news")
                        #expect(try await old?.publish(empty, replacing: []) != nil)
                        let generation = try await one.lookUp(key).generation
                        if isEarlier { try await remove() }
                        let changed = try await one.remove(removal, by: key, head: head, since: generation)
                        #expect(try await two.lookUp(key).entries.isEmpty)
                        if !isEarlier { try await remove() }
                        let writer = try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: changed)
                        #expect((writer == nil) == applies, "removal \(number), and \(name) \(isEarlier ? "before" : "after")")
                    }
                }
            }
        }
    }

    @Test(arguments: [0, 1, 4096, 65_536, 65_537, 131_072, 131_073, 1_048_576, 1_500_000])
    func keepsEntriesForTheNextRun(bytes: Int) async throws {
        for sealing in [nil, xor] {
            try await withFolder { path, files in
                let digest: [UInt8]?
                do {
                    let store = SQLiteCacheStore(folder: path, sealing: sealing)
                    digest = store.digest([1])
                    try await Samples.add("n", bytes: bytes, to: store, Samples.key("/a", account: "a"))
                }
                let store = SQLiteCacheStore(folder: path, sealing: sealing)
                let entry = try #require(try await store.lookUp(Samples.key("/a", account: "a")).entries.first)
                #expect(try await Samples.check(entry, in: store) == "n")
                #expect(store.digest([1]) == digest && digest?.count == 32)
                #expect(files.bodies.count == (bytes > 65_536 ? 1 : 0))
            }
        }
    }

    @Test func onlyTheOwnerCanReadTheFiles() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/a"))
            #expect(files.permissions("") == 0o700)
            #expect(
                Set(files.all).isSuperset(of: ["responses.sqlite", "responses.sqlite-wal", "responses.sqlite-shm", "secret", "bodies"]))
            for name in files.all { #expect(files.permissions(name) == (name == "bodies" ? 0o700 : 0o600), "\(name)") }
        }
    }

    @Test func saysWhetherAFolderHasAStore() async throws {
        let folder = try TestFolder("sqlite-cache")
        let path = folder.file("store")
        #expect(!SQLiteCacheStore.exists(inFolder: path) && !SQLiteCacheStore.exists(inFolder: ""))
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await SQLiteCacheStore(folder: path).usage
        #expect(SQLiteCacheStore.exists(inFolder: path) && SQLiteCacheStore.exists(inFolder: path + "/"))
    }

    @Test func refusesAFolderThatIsAFile() async throws {
        let folder = try TestFolder("sqlite-cache")
        try folder.write("text", to: "store")
        let store = SQLiteCacheStore(folder: folder.file("store"))
        #expect(store.digest([]) == nil)
        await #expect(throws: FileWriteError.self) { _ = try await store.lookUp(Samples.key("/a")) }
        #expect(try folder.read("store") == Data("text".utf8))
    }

    // MARK: The files of others

    @Test func refusesAFolderWithOtherFiles() async throws {
        let folder = try TestFolder("sqlite-cache")
        let files = StoreFiles(path: folder.path)
        try folder.write("text", to: "notes.txt")
        #expect(SQLiteCacheStore.hasOtherFiles(inFolder: folder.path))
        let store = SQLiteCacheStore(folder: folder.path)
        let error = await #expect(throws: FileWriteError.self) { _ = try await store.lookUp(Samples.key("/a")) }
        #expect(
            error?.description
                == "cannot use the folder '\(folder.path)': the folder has other files, and the cache needs a folder of its own")
        #expect(error?.recoverySuggestion == "Choose an empty folder, or a folder that does not exist yet.")
        await #expect(throws: FileWriteError.self) { try await store.removeAll() }
        #expect(files.all == ["notes.txt"] && files.permissions("") == 0o755)
        try FileManager.default.removeItem(atPath: folder.file("notes.txt"))
        // The same object works after the files are gone.
        #expect(try await Samples.add("n", bytes: 10, to: store, Samples.key("/a")) != nil)
        #expect(files.permissions("") == 0o700)
        // Later files do not disturb.
        try folder.write("text", to: "notes.txt")
        #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: folder.path))
        #expect(try await SQLiteCacheStore(folder: folder.path).lookUp(Samples.key("/a")).entries.count == 1)
    }

    @Test func acceptsAnEmptyFolderAndTheRestOfAStore() async throws {
        #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: "") && !SQLiteCacheStore.hasOtherFiles(inFolder: "/nonexistent/folder"))
        try await withFolder { path, _ in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: path))
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(folder: path), Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path + "/responses.sqlite")
            try Data().write(to: URL(fileURLWithPath: path + "/.DS_Store"))
            #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: path))
            #expect(try await SQLiteCacheStore(folder: path).usage.entries == 0)
        }
    }

    @Test(arguments: [false, true]) func removesNoFilesOfOthers(isDamaged: Bool) async throws {
        try await withFolder { path, files in
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(folder: path), Samples.key("/a"))
            let others = [
                ".errand-notes", ".errand-1f.txt", ".errand-.part", "bodies/notes.txt", "bodies/00000000000000AB",
                "bodies/+00000000000000a", "bodies/1f", "bodies/0123456789abcdef.txt",
            ]
            let leftovers = [".errand-1f.part", "bodies/0123456789abcdef"]
            for name in others + leftovers { try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/" + name)) }
            if isDamaged { try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "/responses.sqlite")) }
            let events = RecordedEvents()
            #expect(try await SQLiteCacheStore(folder: path, onEvent: events.add).usage.entries == (isDamaged ? 0 : 1))
            #expect(events.kinds.contains(.replaced) == isDamaged)
            #expect(Set(files.all).isSuperset(of: others) && Set(files.all).isDisjoint(with: leftovers), "\(files.all)")
        }
    }

    @Test(arguments: [false, true]) func followsNoLinkInPlaceOfTheBodies(isDamaged: Bool) async throws {
        let other = try TestFolder("sqlite-cache-other")
        try other.write("text", to: "0123456789abcdef")
        try await withFolder { path, files in
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(folder: path), Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path + "/bodies")
            try FileManager.default.createSymbolicLink(atPath: path + "/bodies", withDestinationPath: other.path)
            if isDamaged { try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "/responses.sqlite")) }
            let store = SQLiteCacheStore(folder: path)
            let error = await #expect(throws: FileWriteError.self) { _ = try await store.usage }
            #expect(error?.description == "cannot open '\(path)/bodies': it is a symbolic link, not a folder")
            await #expect(throws: FileWriteError.self) { try await store.removeAll() }
            #expect(try other.read("0123456789abcdef") == Data("text".utf8))
            #expect(StoreFiles(path: other.path).permissions("") == 0o755)
        }
    }

    @Test func theNumberOfABodyFollowsFromItsName() {
        for number in [0, 1, -1, .max, .min] as [Int64] { #expect(BodyFile.number(of: BodyFile.name(of: number)) == number) }
        for name in ["", "1", "ffffffffffffffFF", "+fffffffffffffff", "fffffffffffffffff", "fffffffffffffffg", "ffffffffffffffé"] {
            #expect(BodyFile.number(of: name) == nil, "\(name)")
        }
    }

    @Test func keepsNothingOfAVolatileIdentity() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            let identity = CredentialIdentity(scheme: "bearer", "the-secret-token")
            let key = CacheKey(url: Samples.url("/volatile"), partition: .account(identity))
            #expect(try await Samples.add("n", bytes: 10, to: store, key) == nil)
            #expect(try await store.usage.entries == 0)
            try await store.forget(identity)
            #expect(!files.contain("/volatile") && !files.contain("the-secret-token"))
        }
    }

    @Test func findsAResponseByAnotherQueryInTheNextRun() async throws {
        try await withFolder { path, files in
            var policy = CachePolicy.standard
            policy.usesNoVarySearch = true
            func sample(_ query: String) throws -> Request { try Request(.get, url: "https://a.example/feed?\(query)") }
            do {
                let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=600", .noVarySearch: "params=(\"session\")"])
                let response = Response(head: head, data: Data("hello".utf8), request: try sample("session=1&q=a"))
                #expect(try await SQLiteCacheStore(folder: path).store(response, for: response.request, policy: policy))
            }
            let store = SQLiteCacheStore(folder: path)
            let found = try #require(try await store.response(for: sample("q=a&session=2"), policy: policy))
            #expect(try await found.body.collect() == Data("hello".utf8))
            #expect(try await !store.contains(sample("q=b&session=2"), policy: policy))
            #expect(try await !store.contains(sample("q=a&session=2")))
            // The parameters are not on the disk, not even in the names of entries.
            #expect(files.contain("/feed") && !files.contain("q=a"))
            try await store.removeAll(urls: ["https://a.example/feed"])
            #expect(try await !store.contains(sample("q=a&session=2"), policy: policy))
        }
    }

    @Test func namesNoAccountOnTheDisk() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            try await Samples.add("n", bytes: 10, to: store, Samples.key("/page", account: "carol@example.com"))
            #expect(files.contain("/page"))
            #expect(!files.contain("carol@example.com"))
        }
    }

    @Test func aForgottenAccountLeavesNoBytes() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            try await Samples.add("small-secret", bytes: 1000, to: store, Samples.key("/one", account: "carol"))
            try await Samples.add("large-secret", bytes: 100_000, to: store, Samples.key("/two", account: "carol"))
            #expect(files.contain("small-secret") && files.contain("large-secret"))
            try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
            #expect(!files.contain("small-secret") && !files.contain("large-secret"))
            #expect(!files.contain("/one") && files.bodies.isEmpty)
        }
    }

    // MARK: Limits

    @Test(
        arguments: [
            .max, .max - 1, .max / 2, 9_222_500_000_000_000_000, 4_611_686_018_427_387_904, 1 << 60, -1, .min,
        ] as [Int64])
    func refusesALengthThatNoEntryHas(announced: Int64) async throws {
        for limit in [1_000_000, .max] as [Int64] {
            for entryLimit in [nil, .max] as [Int64?] {
                try await withFolder { path, _ in
                    let store = SQLiteCacheStore(folder: path, bytes: limit, entries: .max, entryBytes: entryLimit)
                    let key = Samples.key("/a")
                    let generation = try await store.lookUp(key).generation
                    let head = Samples.head("n", bytes: 10)
                    #expect(try await store.makeWriter(for: key, head: head, expectedBytes: announced, since: generation) == nil)
                    #expect(try await Samples.add("n", bytes: 100_000, to: store, key) != nil)
                }
            }
        }
    }

    @Test func manyLargeLengthsWithoutALimitAreCounted() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path, bytes: .max, entries: .max, entryBytes: .max)
            var writers: [any CacheWriter] = []
            for number in 0..<12 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("n", bytes: 10)
                // Each file reserves its announced bytes.
                let writer = try #require(
                    try await store.makeWriter(for: key, head: head, expectedBytes: 1 << 59, since: generation))
                do { try await writer.write(Data(count: 100_000)) } catch { #expect(error is CacheRoomError) }
                writers.append(writer)
            }
            for writer in writers { writer.discard() }
            #expect(try await store.usage.bytes == 0)
        }
    }

    // MARK: Seals

    @Test func sealedFilesShowNothing() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path, sealing: xor)
            try await Samples.add("small-body", bytes: 1000, to: store, Samples.key("/page"))
            try await Samples.add("large-body", bytes: 300_000, to: store, Samples.key("/other"))
            for text in ["small-body", "large-body", "/page", "/other", "max-age"] { #expect(!files.contain(text), "\(text)") }
            #expect(try await store.entries(limit: 9).map(\.url) == ["https://a.example/other", "https://a.example/page"])
        }
    }

    @Test func entriesOfAnotherKeyAreMissing() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path, sealing: xor)
            try await Samples.add("n", bytes: 10, to: store, Samples.key("/a"))
            let other = SQLiteCacheStore(folder: path, sealing: CacheSealing(seal: { $0 }, open: { _ in throw CancellationError() }))
            #expect(try await other.lookUp(Samples.key("/a")).entries.isEmpty)
            #expect(try await other.entries(limit: 9).isEmpty)
            #expect(try await store.lookUp(Samples.key("/a")).entries.count == 1)
        }
    }

    /// A folder of a store without encryption is opened with encryption, and the reverse.
    @Test(arguments: [false, true]) func entriesOfTheOtherKindAreRemoved(_ isSealed: Bool) async throws {
        try await withFolder { path, files in
            let first = SQLiteCacheStore(folder: path, sealing: isSealed ? xor : nil)
            try await Samples.add("small-body", bytes: 10, to: first, Samples.key("/a"))
            try await Samples.add("large-body", bytes: 200_000, to: first, Samples.key("/b"))
            let events = RecordedEvents()
            let second = SQLiteCacheStore(folder: path, sealing: isSealed ? nil : xor, onEvent: { events.add($0) })
            #expect(try await second.lookUp(Samples.key("/a")).entries.isEmpty)
            #expect(try await second.entries(limit: 9).isEmpty)
            #expect(try await second.usage.entries == 0)
            #expect(files.bodies.isEmpty && !files.contain("small-body") && !files.contain("large-body"))
            #expect(events.kinds == [.replaced] && events.all[0].description.contains("encrypted"), "\(events.all)")
            try await Samples.add("n", bytes: 10, to: second, Samples.key("/a"))
            let third = SQLiteCacheStore(folder: path, sealing: isSealed ? nil : xor, onEvent: { events.add($0) })
            #expect(try await third.lookUp(Samples.key("/a")).entries.count == 1)
            #expect(events.kinds == [.replaced])
        }
    }

    @Test func aRemovalInAnotherProcessStopsEarlierResponses() async throws {
        try await withFolder { path, _ in
            let (one, two) = (SQLiteCacheStore(folder: path), SQLiteCacheStore(folder: path))
            let key = Samples.key("/a"), head = Samples.head("n", bytes: 5)
            let removals: [() async throws -> Void] = [
                { try await two.removeAll(urls: [key.url]) }, { try await two.removeAll(of: key.origin) }, { try await two.removeAll() },
            ]
            for remove in removals {
                let generation = try await one.lookUp(key).generation
                let writer = try #require(try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: generation))
                try await writer.write(Data(count: 5))
                try await remove()
                #expect(try await writer.publish(head, replacing: []) == nil)
                #expect(try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: generation) == nil)
                #expect(try await Samples.add("n", bytes: 5, to: one, key) != nil)
            }
            let other = try await one.lookUp(Samples.key("/b")).generation
            try await two.removeAll(urls: [key.url])
            #expect(try await one.makeWriter(for: Samples.key("/b"), head: head, expectedBytes: 5, since: other) != nil)
        }
    }

    @Test func aSealThatFailsStoresNothing() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path, sealing: CacheSealing(seal: { _ in throw CancellationError() }, open: { $0 }))
            await #expect(throws: CancellationError.self) { try await Samples.add("n", bytes: 10, to: store, Samples.key("/a")) }
            await #expect(throws: CancellationError.self) { try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/b")) }
            let usage = try await store.usage
            #expect(usage.entries == 0)
            await eventually { files.bodies.isEmpty }
        }
    }

    // MARK: Groups

    @Test func theRemovalOfGroupsReadsOnlyTheirOrigin() async throws {
        try await withFolder { path, files in
            let opened = Mutex(0)
            let sealing = CacheSealing(
                seal: { $0 },
                open: { data in
                    opened.withLock { $0 += 1 }
                    return data
                })
            let store = SQLiteCacheStore(folder: path, sealing: sealing)
            func add(_ url: String, group: String, bytes: Int = 10) async throws {
                let key = CacheKey(url: try HTTPURL(url), partition: .none)
                let plain = Samples.head("n", bytes: bytes)
                var response = plain.response
                response.headerFields[try #require(HTTPField.Name("Cache-Groups"))] = "\"other\", \"\(group)\""
                let head = CacheEntry.Head(
                    response: response, requestTime: plain.requestTime, responseTime: plain.responseTime, selection: plain.selection,
                    extent: plain.extent)
                let generation = try await store.lookUp(key).generation
                let writer = try await store.makeWriter(for: key, head: head, expectedBytes: nil, since: generation)
                try await writer?.write(Data(count: bytes))
                #expect(try await writer?.publish(head, replacing: []) != nil)
            }
            let count = SQLiteCacheStore.groupPageEntries * 2
            for number in 0..<count {
                try await add("https://a.example/\(number)", group: number % 3 == 0 ? "g" : "h", bytes: number == 300 ? 100_000 : 10)
            }
            for number in 0..<50 { try await add("https://b.example/\(number)", group: "g") }
            #expect(files.bodies.count == 1)
            opened.withLock { $0 = 0 }
            try await store.removeAll(groups: ["none", "g"], of: try HTTPURL("https://a.example/").origin)
            #expect(opened.withLock { $0 } == count)
            let urls = try await store.entries(limit: .max).map(\.url)
            #expect(urls.count == count - (count + 2) / 3 + 50)
            #expect(urls.count { $0.hasPrefix("https://b.example/") } == 50)
            #expect(!urls.contains("https://a.example/0") && !urls.contains("https://a.example/510"))
            #expect(urls.contains("https://a.example/511") && files.bodies.isEmpty)
            opened.withLock { $0 = 0 }
            try await store.removeAll(groups: ["h"], of: try HTTPURL("https://c.example/").origin)
            try await store.removeAll(groups: [], of: try HTTPURL("https://a.example/").origin)
            #expect(opened.withLock { $0 } == 0)
        }
    }

    @Test func manyEntriesOfAnOriginAreReadInPages() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path)
            for number in 0..<3 { try await Samples.add("n", bytes: 10, to: store, Samples.key("/\(number)")) }
            let origin = try store.originDigest(Samples.url("/").origin)
            try await store.writer.run { tables in
                let last = try #require(try tables.lastEntry(origin: origin))
                #expect(try tables.entries(origin: origin, ids: .min...last, limit: 2).map(\.entry.id) == [last - 2, last - 1])
                #expect(try tables.entries(origin: origin, ids: last...last, limit: 2).map(\.entry.id) == [last])
                let plan = try tables.database.rows("EXPLAIN QUERY PLAN " + CacheTables.entriesOfOrigin) { $0.text(3) }
                #expect(!plan.contains { $0.contains("TEMP B-TREE") || $0.contains("SCAN") }, "\(plan)")
            }
        }
    }

    // MARK: Damage

    @Test(arguments: [10, 60_000, 400_000]) func aChangedByteIsNeverReturned(bytes: Int) async throws {
        try await withFolder { path, files in
            do {
                let store = SQLiteCacheStore(folder: path)
                try await Samples.add("needle", bytes: bytes, to: store, Samples.key("/a"))
                try await store.removeAll(urls: ["https://a.example/none"])
            }
            // The released store closes its files on another thread, and writes the log into the database before.
            await eventually { !files.areOpen }
            // Changes the last occurrence of the name in the body, wherever the body is.
            var changed = 0
            for name in files.all where !name.hasSuffix("-shm") && name != "secret" && name != "lock" {
                let url = URL(fileURLWithPath: path + "/" + name)
                guard var data = try? Data(contentsOf: url) else { continue }
                while let range = data.range(of: Data("needle needl".utf8), options: .backwards) ?? data.range(of: Data("needle nee".utf8))
                {
                    data[range.lowerBound] ^= 1
                    changed += 1
                    if bytes > 100_000 { break }
                }
                try data.write(to: url)
            }
            #expect(changed > 0)
            let events = RecordedEvents()
            let store = SQLiteCacheStore(folder: path, onEvent: events.add)
            if let entry = try await store.lookUp(Samples.key("/a")).entries.first {
                do {
                    #expect(try await Samples.read(entry, in: store) == nil)
                } catch {
                    #expect(error is StoredPiece.Damaged)
                }
            }
            await eventually { !events.all.isEmpty }
            #expect(try await store.lookUp(Samples.key("/a")).entries.isEmpty)
        }
    }

    @Test func aMissingOrShortFileIsAMissingEntry() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            for isShort in [true, false] {
                try await Samples.add("n", bytes: 300_000, to: store, Samples.key("/a"))
                let name = path + "/bodies/" + (try #require(files.bodies.first))
                if isShort {
                    try Data(count: 299_999).write(to: URL(fileURLWithPath: name))
                } else {
                    try FileManager.default.removeItem(atPath: name)
                }
                let entry = try #require(try await store.lookUp(Samples.key("/a")).entries.first)
                #expect(try await store.body(of: entry.id, offsets: 0..<300_000) == nil)
                // The entry is removed in the background, before later changes.
                try await store.remove([])
                try await store.removeAll(urls: ["https://a.example/none"])
                #expect(try await store.usage.entries == 0)
            }
        }
    }

    enum Damage: CaseIterable {
        case text, empty, zeros, newer, otherTables, noTables, otherSecret, middle
    }

    @Test(arguments: Damage.allCases) func aDamagedOrNewerDatabaseIsReplaced(_ damage: Damage) async throws {
        try await withFolder { path, files in
            do {
                let store = SQLiteCacheStore(folder: path)
                for number in 0..<100 { try await Samples.add("n", bytes: 20_000, to: store, Samples.key("/\(number)")) }
                try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/large"))
            }
            let database = URL(fileURLWithPath: path + "/responses.sqlite")
            switch damage {
            case .text: try Data("not a database, but a text that is long enough to be one".utf8).write(to: database)
            case .empty: try Data().write(to: database)
            case .zeros: try Data(count: 100_000).write(to: database)
            case .newer: try SQLiteDatabase(path: database.path).runAll("PRAGMA user_version = 2")
            case .otherTables:
                try FileManager.default.removeItem(at: database)
                try Data().write(to: database)
                try SQLiteDatabase(path: database.path).runAll("CREATE TABLE other (id INTEGER PRIMARY KEY)")
            case .noTables: try SQLiteDatabase(path: database.path).runAll("DROP TABLE heads")
            case .otherSecret: try Data(count: 32).write(to: URL(fileURLWithPath: path + "/secret"))
            case .middle:
                var data = try Data(contentsOf: database)
                for index in 4096..<data.count { data[index] = UInt8(truncatingIfNeeded: index &* 31) }
                try data.write(to: database)
            }
            if damage == .otherSecret { #expect(files.permissions("secret") == 0o600) }
            let events = RecordedEvents()
            let store = SQLiteCacheStore(folder: path, onEvent: events.add)
            for number in 0..<100 {
                for entry in try await store.lookUp(Samples.key("/\(number)")).entries {
                    _ = try? await Samples.check(entry, in: store)
                }
            }
            // The store works.
            for number in 0..<50 { try await Samples.add("m", bytes: 20_000, to: store, Samples.key("/\(number)")) }
            try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/large"))
            let entry = try #require(try await store.lookUp(Samples.key("/large")).entries.first)
            #expect(try await Samples.check(entry, in: store) == "m")
            #expect(damage == .empty || events.kinds.contains(.replaced), "\(events.all)")
            #expect(files.bodies.count == 1)
            for event in events.all { #expect(!event.description.contains("a.example")) }
        }
    }

    /// The operations that read all tables and indices of the database between them.
    private func useEverything(_ store: SQLiteCacheStore) async throws {
        _ = try await store.entries(limit: 9)
        for path in ["/one", "/two", "/large"] {
            if let entry = try await store.lookUp(Samples.key(path, account: "carol")).entries.first {
                _ = try? await Samples.check(entry, in: store)
            }
        }
        try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/large"))
        try await Samples.add("m", bytes: 2000, to: store, Samples.key("/small"))
        try await store.removeAll(urls: ["https://a.example/none"])
        try await store.removeAll(groups: ["g"], of: Samples.url("/").origin)
        try await store.removeAll(of: Samples.url("/").origin)
        try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
    }

    @Test(arguments: [false, true]) func damageOfAnyTableOrIndexReplacesTheDatabase(isOpen: Bool) async throws {
        try await withFolder { path, _ in
            let database = path + "/responses.sqlite"
            func fill(_ store: SQLiteCacheStore) async throws {
                for account in [nil, "carol"] {
                    try await Samples.add("n", bytes: 1000, to: store, Samples.key("/one", account: account))
                    try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/two", account: account))
                }
            }
            try await fill(SQLiteCacheStore(folder: path))
            let tables = try SQLiteDatabase(path: database).rows(
                "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
            ) { (name: $0.text(0), page: $0.integer(1)) }
            #expect(Set(tables.map(\.name)).isSuperset(of: ["store", "entries", "heads", "bodies", "writes", "forgotten"]))
            #expect(tables.count >= 13, "\(tables)")
            for (name, page) in tables + [(name: "sqlite_schema", page: 1)] {
                try FileManager.default.removeItem(atPath: path)
                let events = RecordedEvents()
                var store = SQLiteCacheStore(folder: path, onEvent: events.add)
                try await fill(store)
                // A page in the log comes before the same page in the file.
                try SQLiteDatabase(path: database).runAll("PRAGMA wal_checkpoint(TRUNCATE)")
                if !isOpen { store = SQLiteCacheStore(folder: path, onEvent: events.add) }
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: database))
                try file.seek(toOffset: UInt64(page - 1) * 4096)
                try file.write(contentsOf: Data(repeating: 0xFF, count: 64))
                try file.close()
                // The cached pages of open connections are read again after a change by another connection.
                if isOpen { try await Samples.add("m", bytes: 10, to: SQLiteCacheStore(folder: path), Samples.key("/other")) }
                do { try await useEverything(store) } catch { Issue.record("\(name): \(error)") }
                #expect(events.kinds.contains(.replaced) || isOpen, "\(name)")
                try await useEverything(store)
                try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/two"))
                let entry = try #require(try await store.lookUp(Samples.key("/two")).entries.first)
                #expect(try await Samples.check(entry, in: store) == "m", "\(name)")
                #expect(try SQLiteDatabase(path: database).rows("PRAGMA integrity_check") { $0.text(0) } == ["ok"], "\(name)")
            }
        }
    }

    @Test(arguments: [
        "UPDATE store SET bytes = 9223372036854775807", "UPDATE store SET entries = 9223372036854775807",
        "UPDATE store SET bytes = -9223372036854775807", "UPDATE store SET entries = 7, bytes = 900000",
        "INSERT INTO writes VALUES (1, 9223372036854775807), (2, 9223372036854775807)", "UPDATE entries SET size = 9223372036854775807",
        "UPDATE entries SET used = 9223372036854775807", "INSERT INTO writes VALUES (1, -9223372036854775807)",
    ]) func wrongNumbersInTheDatabaseDoNoHarm(change: String) async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path, bytes: 1_000_000, entryBytes: 300_000)
            let id = try #require(try await Samples.add("n", bytes: 1000, to: store, Samples.key("/one")))
            try SQLiteDatabase(path: path + "/responses.sqlite").runAll(change)
            _ = try await store.usage
            try await store.updateHeads([CacheEntry(id: id, head: Samples.head("a longer name", bytes: 1000))])
            for number in 0..<5 { _ = try? await Samples.add("m", bytes: 250_000, to: store, Samples.key("/\(number)")) }
            _ = try await store.lookUp(Samples.key("/one"))
            try await store.removeAll()
            #expect(try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/two")) != nil)
        }
    }

    @Test func numbersOfAReplacedDatabaseDoNotReturn() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path)
            let first = try #require(try await Samples.add("n", bytes: 10, to: store, Samples.key("/a")))
            let generation = try await store.lookUp(Samples.key("/a")).generation
            for suffix in ["-wal", "-shm", ""] { try FileManager.default.removeItem(atPath: path + "/responses.sqlite" + suffix) }
            #expect(try await store.lookUp(Samples.key("/a")).entries.isEmpty)
            let second = try #require(try await Samples.add("n", bytes: 10, to: store, Samples.key("/b")))
            #expect(second != first)
            #expect(try await store.lookUp(Samples.key("/a")).generation != generation)
            #expect(try await store.body(of: first, offsets: 0..<10) == nil)
        }
    }

    @Test func aRemovedFolderIsMadeAgain() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path)
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path)
            #expect(try await store.lookUp(Samples.key("/a")).entries.isEmpty)
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/a"))
            let entry = try #require(try await store.lookUp(Samples.key("/a")).entries.first)
            #expect(try await Samples.check(entry, in: store) == "n")
        }
    }

    // MARK: Several stores over one folder

    @Test func theNumbersOfForgottenAccountsHaveALimit() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path)
            let keys = ["first", "last", "never"].map { Samples.key("/a", account: $0) } + [Samples.key("/a")]
            func areCurrent(_ generation: CacheGeneration) async throws -> [Bool] {
                var results: [Bool] = []
                for key in keys {
                    let head = Samples.head("m", bytes: 5)
                    results.append(try await store.makeWriter(for: key, head: head, expectedBytes: 5, since: generation) != nil)
                }
                return results
            }
            let before = try await store.lookUp(keys[0]).generation
            try await store.forget(CredentialIdentity(scheme: "sample", account: "first"))
            try await store.writer.run { tables in
                try tables.database.transaction {
                    for number in 0..<Int64(CacheLimits.removals) {
                        try tables.recordRemoval(of: [withUnsafeBytes(of: number) { Array($0) }])
                    }
                }
            }
            let middle = try await store.lookUp(keys[0]).generation
            try await store.forget(CredentialIdentity(scheme: "sample", account: "last"))
            let rows = try await store.writer.run { try $0.database.rows("SELECT count(*) FROM forgotten") { $0.integer(0) } }
            #expect(rows == [Int64(CacheLimits.removals)])
            #expect(try await areCurrent(before) == [false, false, false, false], "the table has lost removals since")
            #expect(try await areCurrent(middle) == [true, false, true, true])
            #expect(try await areCurrent(store.lookUp(keys[0]).generation) == [true, true, true, true])
        }
    }

    @Test func anOpeningKeepsTheFilesOfOpenWriters() async throws {
        try await withFolder { path, files in
            let one = SQLiteCacheStore(folder: path)
            let key = Samples.key("/a")
            let head = Samples.head("n", bytes: 200_000)
            let generation = try await one.lookUp(key).generation
            let writer = try #require(try await one.makeWriter(for: key, head: head, expectedBytes: 200_000, since: generation))
            try await writer.write(Samples.body("n", bytes: 200_000).prefix(150_000))
            #expect(files.bodies.count == 1)
            _ = FileManager.default.createFile(atPath: path + "/bodies/0123456789abcdef", contents: Data(count: 10))
            let two = SQLiteCacheStore(folder: path)
            #expect(try await two.usage.entries == 0)
            #expect(files.bodies.count == 1, "\(files.bodies)")
            try await writer.write(Data(Samples.body("n", bytes: 200_000).dropFirst(150_000)))
            #expect(try await writer.publish(head, replacing: []) != nil)
            let entry = try #require(try await two.lookUp(key).entries.first)
            #expect(try await Samples.check(entry, in: two) == "n")
        }
    }

    // MARK: Limits

    @Test func unpublishedFilesCount() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path, bytes: 4_000_000, entryBytes: 1_000_000)
            var writers: [any CacheWriter] = []
            var refused = 0
            for number in 0..<8 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("n", bytes: 900_000)
                let writer = try #require(try await store.makeWriter(for: key, head: head, expectedBytes: 900_000, since: generation))
                do {
                    try await writer.write(Data(count: 900_000))
                    writers.append(writer)
                } catch {
                    refused += 1
                    writer.discard()
                }
            }
            #expect(writers.count == 2 && refused == 6, "unpublished files have at most half of the bytes")
            for writer in writers { writer.discard() }
            await eventually { files.bodies.isEmpty }
            for number in 0..<8 { #expect(try await Samples.add("n", bytes: 900_000, to: store, Samples.key("/\(number)")) != nil) }
            let usage = try await store.usage
            #expect(usage.entries == 4 && usage.bytes <= 4_000_000, "\(usage)")
            #expect(files.bodies.count == 4)
        }
    }

    @Test func manySmallBodiesInProgressUseLittleMemory() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(folder: path)
            var writers: [any CacheWriter] = []
            for number in 0..<60 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("\(number)", bytes: 60_000)
                let writer = try #require(try await store.makeWriter(for: key, head: head, expectedBytes: nil, since: generation))
                try await writer.write(Samples.body("\(number)", bytes: 60_000))
                writers.append(writer)
            }
            // The others are in memory: 34 bodies of 60,000 bytes in 2 MiB.
            #expect(files.bodies.count == 26)
            for (number, writer) in writers.enumerated() {
                #expect(try await writer.publish(Samples.head("\(number)", bytes: 60_000), replacing: []) != nil)
            }
            for number in 0..<60 {
                let entry = try #require(try await store.lookUp(Samples.key("/\(number)")).entries.first)
                #expect(try await Samples.check(entry, in: store) == "\(number)")
            }
        }
    }

    @Test func theDatabaseShrinksAfterARemoval() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(folder: path)
            for number in 0..<200 { try await Samples.add("n", bytes: 60_000, to: store, Samples.key("/\(number)")) }
            try await store.removeAll()
            let size = try FileManager.default.attributesOfItem(atPath: path + "/responses.sqlite")[.size] as? Int ?? 0
            #expect(size < 200_000, "\(size)")
        }
    }

    // MARK: Full disks

    private struct DiskFull: Sendable {
        let isFull = SharedFlag()
        var calls: FileCalls {
            var calls = FileCalls()
            calls.writeAt = { [isFull] in
                if isFull.value { return -28 }
                return FileCalls.system.writeAt($0, $1, $2)
            }
            return calls
        }
    }

    private final class SharedFlag: Sendable {
        private let flag = Mutex(false)
        var value: Bool {
            get { flag.withLock { $0 } }
            set { flag.withLock { $0 = newValue } }
        }
    }

    @Test func aFullDiskFailsTheWriterAndLeavesNothing() async throws {
        try await withFolder { path, files in
            let disk = DiskFull()
            let store = SQLiteCacheStore(folder: path, calls: disk.calls)
            try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/a"))
            disk.isFull.value = true
            await #expect(throws: FileWriteError.self) { try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/b")) }
            await eventually { files.bodies.count == 1 }
            let entry = try #require(try await store.lookUp(Samples.key("/a")).entries.first)
            #expect(try await Samples.check(entry, in: store) == "n")
            disk.isFull.value = false
            #expect(try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/b")) != nil)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let noVarySearch = known("No-Vary-Search")
}
#endif
