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
            if case .writer(let writer) = store.makeImmediateWriter(
                for: key, head: head([]), expectedBytes: 30_000, since: lookup.generation)
            {
                writers.append(writer)
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
        let writer = try #require(try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: generation))
        #expect(try await writer.publish(head([], extent: .whole(length: 0)), replacing: []) != nil)
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
            guard let writer = try await store.makeWriter(for: key, head: head([]), expectedBytes: announced, since: generation) else {
                continue
            }
            writers.append(writer)
            try? await writer.write(Data(repeating: 0, count: 2000))
        }
        for writer in writers { _ = try await writer.publish(head([], extent: .whole(length: 2000)), replacing: []) }
        writers = []
        #expect(store.unpublishedBytes == 0 && store.usage.bytes < 10_000)
    }

    @Test func aStoreWithoutRoomKeepsNothing() async throws {
        for store in [MemoryCacheStore(bytes: 0), MemoryCacheStore(entries: 0)] {
            let key = try #require(read(request()).key)
            let generation = try await store.lookUp(key).generation
            #expect(try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: generation) == nil)
        }
    }

    /// A server announces a long body, and sends nothing.
    @Test func anEntryThatBeginsRemovesNoOther() async throws {
        let store = MemoryCacheStore(bytes: 100_000, entryBytes: 50_000)
        for number in 0..<3 {
            let key = CacheKey(url: try HTTPURL("https://api.example/\(number)"))
            let writer = try #require(
                try await store.makeWriter(for: key, head: head([]), expectedBytes: nil, since: store.lookUp(key).generation))
            try await writer.write(Data(count: 30_000))
            #expect(try await writer.publish(head([], extent: .whole(length: 30_000)), replacing: []) != nil)
        }
        #expect(store.usage.entries == 3)
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        guard
            case .writer(let slow) = store.makeImmediateWriter(for: key, head: head([]), expectedBytes: 40_000, since: lookup.generation)
        else { return #expect(Bool(false)) }
        #expect(store.usage.entries == 3)
        #expect(slow.write(Data(count: 1000)) && store.usage.entries == 3 && store.heldBytes <= 100_000)
        #expect(slow.write(Data(count: 39_000)) && store.usage.entries == 1 && store.heldBytes <= 100_000)
        #expect(slow.publish(head([], extent: .whole(length: 40_000)), replacing: []) != nil)
        #expect(store.usage.entries == 2 && store.unpublishedBytes == 0)
    }

    @Test(arguments: [-1, -100_000, .min] as [Int64]) func aNegativeLengthAllowsNoMoreBytes(_ expected: Int64) throws {
        let store = MemoryCacheStore(bytes: 10_000, entryBytes: 5000)
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        guard
            case .writer(let writer) = store.makeImmediateWriter(
                for: key, head: head([]), expectedBytes: expected, since: lookup.generation)
        else { return }
        #expect(store.unpublishedBytes > 0)
        #expect(!writer.write(Data(count: 6000)))
        writer.discard()
        #expect(store.unpublishedBytes == 0 && store.heldBytes == 0)
    }

    @Test func aRemovalStopsTheWritersOfItsURL() async throws {
        let store = MemoryCacheStore()
        let key = try #require(read(request()).key)
        let lookup = try #require(store.immediateLookUp(key))
        guard
            case .writer(let writer) = store.makeImmediateWriter(for: key, head: head([]), expectedBytes: nil, since: lookup.generation)
        else { return #expect(Bool(false)) }
        try await store.removeAll(urls: [key.url])
        #expect(!writer.write(Data(count: 1)) && store.unpublishedBytes == 0)
    }
}
