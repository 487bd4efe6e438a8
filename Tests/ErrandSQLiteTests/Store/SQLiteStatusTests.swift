#if SQLite
import ErrandCache
import ErrandCore
import ErrandSQLite
import ErrandTesting
import Foundation
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
}
#endif
