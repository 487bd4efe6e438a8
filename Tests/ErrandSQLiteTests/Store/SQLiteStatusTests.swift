#if SQLite
import ErrandCache
import ErrandCore
import ErrandSQLite
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// What the status of the cache says about a store on the disk.
@Suite(.timeLimit(.minutes(5))) struct SQLiteStatusTests {
    /// Sends a request over a cache, and returns the status before and after the body.
    private func statuses(
        sealing: CacheSealing? = nil, identity: CredentialIdentity? = nil, entryBytes: Int64? = nil, length: Int? = nil
    ) async throws -> (head: CacheStatus?, end: CacheStatus?, entries: Int) {
        let folder = try TestFolder("sqlite-status")
        let store = SQLiteCacheStore(inFolder: folder.file("store"), entryBytes: entryBytes, sealing: sealing)
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if let length { fields[.contentLength] = "\(length)" }
        let stub = StubTransport(Stub().responds(.stream([Data(count: length ?? 10)], headers: fields)))
        var request = try Request(.get, url: "https://a.example/a")
        request.options.credentialIdentity = identity
        let response = try await stub.cache(in: store).send(request)
        let head = response.metadata.cacheStatus
        _ = try await response.body.collect()
        await store.finish()
        return (head, response.metadata.cacheStatus, try await store.usage.entries)
    }

    @Test func anEntryOnTheDiskIsStored() async throws {
        let (head, end, entries) = try await statuses(identity: CredentialIdentity(scheme: "bearer", account: "ada"))
        #expect(head?.isStored == true && end?.isStored == true && end?.refusal == nil && entries == 1)
    }

    @Test func aVolatileAccountIsNotStored() async throws {
        let (head, end, entries) = try await statuses(identity: CredentialIdentity(scheme: "bearer", "secret"))
        #expect(end?.refusal == .volatileAccount && end?.isStored == false && entries == 0)
        // On a slow machine, the store needs more time than the head waits.
        #expect(head?.isStored == true || head?.refusal == .volatileAccount)
    }

    @Test func aSealThatFailsIsNotStored() async throws {
        struct NoKey: Error {}
        let (_, end, entries) = try await statuses(sealing: CacheSealing(seal: { _ in throw NoKey() }, open: { $0 }))
        #expect(end?.refusal == .storeFailed && end?.isStored == false && entries == 0)
    }

    @Test func anEntryThatIsTooLargeIsNotStored() async throws {
        let (_, end, entries) = try await statuses(entryBytes: 10_000, length: 20_000)
        #expect(end?.refusal == .tooLarge && end?.isStored == false && entries == 0)
    }

    /// The body has no announced length, and is larger than the limit for one entry.
    @Test func aBodyThatGrowsTooLargeIsNotStored() async throws {
        let (head, end) = try await statuses(entryBytes: 10_000) { _ in }
        #expect(head?.isStored == true && end?.description.hasSuffix("detail=too-large") == true, "\(end?.description ?? "")")
    }

    @Test func aRemovalDuringTheBodyIsNotStored() async throws {
        let (head, end) = try await statuses { try await $0.removeAll(urls: ["https://a.example/a"]) }
        #expect(head?.isStored == true && end?.description.hasSuffix("detail=removed") == true, "\(end?.description ?? "")")
    }

    /// The unpublished file of another entry takes the whole room.
    @Test func aStoreWithoutRoomIsNotStored() async throws {
        let large = try CacheKey(url: HTTPURL("https://a.example/large"))
        let head = CacheEntry.Head(
            response: HTTPResponse(status: .ok), requestTime: .init(sinceEpoch: .zero, uptime: .zero, run: 1),
            responseTime: .init(sinceEpoch: .zero, uptime: .zero, run: 1), selection: CacheSelection(), extent: .whole(length: 0))
        let writers = Mutex<[any CacheWriter]>([])
        let (_, end) = try await statuses(bytes: 1_000_000, entryBytes: 1_000_000) { store in
            let generation = try await store.lookUp(large).generation
            let writer = try await store.makeWriter(for: large, head: head, expectedBytes: 990_000, since: generation)
            try await writer.write(Data(count: 100_000))
            writers.withLock { $0.append(writer) }
        }
        #expect(end?.description.hasSuffix("detail=no-room") == true, "\(end?.description ?? "")")
    }

    /// Sends a request for 20,000 bytes over a cache, and returns the status before and after the body.
    ///
    /// - Parameter meanwhile: a closure that is called before the body is read.
    private func statuses(
        bytes: Int64 = SQLiteCacheStore.defaultLimitBytes, entryBytes: Int64? = nil,
        _ meanwhile: @Sendable (SQLiteCacheStore) async throws -> Void
    ) async throws -> (head: CacheStatus?, end: CacheStatus?) {
        let folder = try TestFolder("sqlite-status")
        let store = SQLiteCacheStore(inFolder: folder.file("store"), bytes: bytes, entryBytes: entryBytes)
        let stub = StubTransport(Stub().responds(.stream([Data(count: 20_000)], headers: [.cacheControl: "max-age=60"])))
        let response = try await stub.cache(in: store).send(Request(.get, url: "https://a.example/a"))
        let head = response.metadata.cacheStatus
        try await meanwhile(store)
        _ = try await response.body.collect()
        await store.finish()
        return (head, response.metadata.cacheStatus)
    }
}
#endif
