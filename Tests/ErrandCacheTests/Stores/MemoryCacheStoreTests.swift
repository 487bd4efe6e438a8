import ErrandCore
import ErrandStoreConformance
import HTTPTypes
import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct MemoryCacheStoreTests {
    @Test(arguments: CacheStoreBehavior.all) func theStoreConforms(to behavior: CacheStoreBehavior) async throws {
        try await behavior.check { MemoryCacheStore(bytes: $0.bytes, entries: $0.entries, entryBytes: $0.entryBytes) }
    }

    @Test func bytesThatAreNotVisibleCountToo() throws {
        let store = MemoryCacheStore(bytes: 100_000, entryBytes: 40_000)
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        var writers: [any ImmediateCacheWriter] = []
        for _ in 0..<10 {
            do throws(CacheStatus.Refusal) {
                let writer = try store.makeImmediateWriter(
                    for: key, head: head([]), expectedBytes: 30_000, since: lookup.generation)
                if let writer { writers.append(writer) }
            } catch {
                #expect(error == .noRoom)
            }
        }
        #expect(writers.count == 1, "half of the store is for visible entries")
        #expect(store.unpublishedBytes <= 50_000)
        writers = []
        #expect(store.unpublishedBytes == 0)
    }

    @Test func volatileAccountsAreKeptAndForgotten() async throws {
        let store = MemoryCacheStore()
        let identity = CredentialIdentity(scheme: "basic", "joe", "secret")
        let key = try #require(read(request(identity: identity)).key)
        let generation = try await store.lookUp(key).generation
        let writer = try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: generation)
        _ = try await writer.publish(head([], extent: .whole(length: 0)), replacing: [])
        try await store.forget(CredentialIdentity(scheme: "basic", "joe", "other"))
        #expect(store.usage.entries == 1)
        try await store.forget(identity)
        #expect(store.usage.entries == 0)
    }

    @Test func twoStoresHaveDifferentDigests() {
        #expect(MemoryCacheStore().digest([1]) != MemoryCacheStore().digest([1]))
    }

    private static let announced: [Int64] = [.max, .max - 1, .max - 1000, .max / 2 + 1, 0]

    /// Two servers can announce any length.
    @Test(arguments: announced)
    func announcedLengthsNeverOverflow(_ announced: Int64) async throws {
        let store = MemoryCacheStore(bytes: .max, entryBytes: .max)
        let key = try #require(read(request()).key)
        let generation = try await store.lookUp(key).generation
        var writers: [any CacheWriter] = []
        for _ in 0..<3 {
            guard let writer = try? await store.makeWriter(for: key, head: head([]), expectedBytes: announced, since: generation) else {
                continue
            }
            writers.append(writer)
            try? await writer.write(Data(repeating: 0, count: 2000))
        }
        for writer in writers { _ = try? await writer.publish(head([], extent: .whole(length: 2000)), replacing: []) }
        writers = []
        #expect(store.unpublishedBytes == 0 && store.usage.bytes < 10_000)
    }

    @Test func aStoreWithoutRoomKeepsNothing() async throws {
        for (store, reason) in [(MemoryCacheStore(bytes: 0), CacheStatus.Refusal.tooLarge), (MemoryCacheStore(entries: 0), .noRoom)] {
            let key = try #require(read(request()).key)
            let generation = try await store.lookUp(key).generation
            await #expect(throws: reason) {
                try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: generation)
            }
        }
    }

    /// A server announces a long body, and sends nothing.
    @Test func anEntryThatBeginsRemovesNoOther() async throws {
        let store = MemoryCacheStore(bytes: 100_000, entryBytes: 50_000)
        for number in 0..<3 {
            let key = CacheKey(url: try HTTPURL("https://api.example/\(number)"))
            let writer = try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: store.lookUp(key).generation)
            try await writer.write(Data(count: 30_000))
            _ = try await writer.publish(head([], extent: .whole(length: 30_000)), replacing: [])
        }
        #expect(store.usage.entries == 3)
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        let slow = try #require(
            try store.makeImmediateWriter(for: key, head: head([]), expectedBytes: 40_000, since: lookup.generation))
        #expect(store.usage.entries == 3)
        try slow.write(Data(count: 1000))
        #expect(store.usage.entries == 3 && store.heldBytes <= 100_000)
        try slow.write(Data(count: 39_000))
        #expect(store.usage.entries == 1 && store.heldBytes <= 100_000)
        _ = try slow.publish(head([], extent: .whole(length: 40_000)), replacing: [])
        #expect(store.usage.entries == 2 && store.unpublishedBytes == 0)
    }

    @Test(arguments: [-1, -100_000, .min] as [Int64]) func aNegativeLengthAllowsNoMoreBytes(_ expected: Int64) throws {
        let store = MemoryCacheStore(bytes: 10_000, entryBytes: 5000)
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        let writer = try #require(
            try store.makeImmediateWriter(for: key, head: head([]), expectedBytes: expected, since: lookup.generation))
        #expect(store.unpublishedBytes > 0)
        #expect(throws: CacheStatus.Refusal.tooLarge) { try writer.write(Data(count: 6000)) }
        writer.discard()
        #expect(store.unpublishedBytes == 0 && store.heldBytes == 0)
    }

    @Test func aRemovalStopsTheWritersOfItsURL() async throws {
        let store = MemoryCacheStore()
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        let writer = try #require(
            try store.makeImmediateWriter(for: key, head: head([]), expectedBytes: nil, since: lookup.generation))
        try await store.removeAll(urls: [key.url])
        #expect(throws: CacheStatus.Refusal.removed) { try writer.write(Data(count: 1)) }
        #expect(store.unpublishedBytes == 0)
    }

    /// Begins an entry without a body.
    private func begin(_ path: String, in store: MemoryCacheStore) throws -> any ImmediateCacheWriter {
        let key = CacheKey(url: try HTTPURL("https://api.example/\(path)"))
        let generation = try #require(store.immediateLookUp(key)).generation
        return try #require(try store.makeImmediateWriter(for: key, head: head([]), expectedBytes: nil, since: generation))
    }

    /// The final head has more bytes than the head at the beginning.
    private func grownHead(_ bytes: Int) -> CacheEntry.Head {
        head(["X: " + String(repeating: "v", count: bytes)], extent: .whole(length: 0))
    }

    @Test func anEntryWhoseHeadGrowsTooLargeIsRefused() async throws {
        let store = MemoryCacheStore(bytes: 10_000, entryBytes: 5000)
        let writer = try begin("a", in: store)
        #expect(throws: CacheStatus.Refusal.tooLarge) { try writer.publish(grownHead(6000), replacing: []) }
        #expect(store.unpublishedBytes == 0 && store.usage.entries == 0)
    }

    @Test func anEntryWithoutRoomAtItsEndIsRefused() async throws {
        let store = MemoryCacheStore(bytes: 2000, entryBytes: 2000)
        let (slow, growing) = (try begin("a", in: store), try begin("b", in: store))
        try slow.write(Data(count: 900))
        #expect(throws: CacheStatus.Refusal.noRoom) { try growing.publish(grownHead(900), replacing: []) }
        slow.discard()
        #expect(store.unpublishedBytes == 0 && store.usage.entries == 0)
    }
}
