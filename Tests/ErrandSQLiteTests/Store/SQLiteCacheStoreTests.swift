#if SQLite
import ErrandCache
import ErrandFormats
import ErrandStoreConformance
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

@Suite struct SQLiteCacheStoreTests {
    @Test(arguments: CacheStoreBehavior.all + CacheStoreBehavior.shared, [false, true])
    func theStoreConforms(to behavior: CacheStoreBehavior, isSealed: Bool) async throws {
        try await withFolder { path, _ in
            try await behavior.check {
                SQLiteCacheStore(
                    inFolder: path, bytes: Int64($0.bytes), entries: $0.entries, entryBytes: Int64($0.entryBytes),
                    sealing: isSealed ? xor : nil)
            }
        }
    }

    /// The removals of a response itself, and the removals of another opening of the store before and after these removals.
    @Test func theOwnRemovalsOfAResponseAreToldApart() async throws {
        try await withFolder { path, _ in
            let (one, two) = (SQLiteCacheStore(inFolder: path), SQLiteCacheStore(inFolder: path))
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
                        _ = try await old.publish(empty, replacing: [])
                        let generation = try await one.lookUp(key).generation
                        if isEarlier { try await remove() }
                        let changed = try await one.remove(removal, by: key, head: head, since: generation)
                        #expect(try await two.lookUp(key).entries.isEmpty)
                        if !isEarlier { try await remove() }
                        var refusal: CacheStatus.Refusal?
                        do {
                            _ = try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: changed)
                        } catch let error as CacheStatus.Refusal {
                            refusal = error
                        }
                        #expect(
                            refusal == (applies ? .removed : nil), "removal \(number), and \(name) \(isEarlier ? "before" : "after")")
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
                    let store = SQLiteCacheStore(inFolder: path, sealing: sealing)
                    digest = store.digest([1])
                    try await Samples.add("n", bytes: bytes, to: store, Samples.key("/a", account: "a"))
                }
                let store = SQLiteCacheStore(inFolder: path, sealing: sealing)
                let entry = try #require(try await store.lookUp(Samples.key("/a", account: "a")).entries.first)
                #expect(try await Samples.check(entry, in: store) == "n")
                #expect(store.digest([1]) == digest && digest?.count == 32)
                #expect(files.bodies.count == (bytes > 65_536 ? 1 : 0))
            }
        }
    }

    @Test func onlyTheOwnerCanReadTheFiles() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path)
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
        _ = try await SQLiteCacheStore(inFolder: path).usage
        #expect(SQLiteCacheStore.exists(inFolder: path) && SQLiteCacheStore.exists(inFolder: path + "/"))
    }

    @Test func refusesAFolderThatIsAFile() async throws {
        let folder = try TestFolder("sqlite-cache")
        try folder.write("text", to: "store")
        let store = SQLiteCacheStore(inFolder: folder.file("store"))
        #expect(store.digest([]) == nil)
        await #expect(throws: FileWriteError.self) { _ = try await store.lookUp(Samples.key("/a")) }
        #expect(try folder.read("store") == Data("text".utf8))
    }

    @Test func keepsNothingOfAVolatileIdentity() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path)
            let identity = CredentialIdentity(scheme: "bearer", "the-secret-token")
            let key = CacheKey(url: Samples.url("/volatile"), partition: .account(identity))
            await #expect(throws: CacheStatus.Refusal.volatileAccount) { try await Samples.add("n", bytes: 10, to: store, key) }
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
                #expect(try await SQLiteCacheStore(inFolder: path).store(response, for: response.request, policy: policy))
            }
            let store = SQLiteCacheStore(inFolder: path)
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
            let store = SQLiteCacheStore(inFolder: path)
            try await Samples.add("n", bytes: 10, to: store, Samples.key("/page", account: "carol@example.com"))
            #expect(files.contain("/page"))
            #expect(!files.contain("carol@example.com"))
        }
    }

    @Test func aForgottenAccountLeavesNoBytes() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path)
            try await Samples.add("small-secret", bytes: 1000, to: store, Samples.key("/one", account: "carol"))
            try await Samples.add("large-secret", bytes: 100_000, to: store, Samples.key("/two", account: "carol"))
            #expect(files.contain("small-secret") && files.contain("large-secret"))
            try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
            #expect(!files.contain("small-secret") && !files.contain("large-secret"))
            #expect(!files.contain("/one") && files.bodies.isEmpty)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let noVarySearch = known("No-Vary-Search")
}
#endif
