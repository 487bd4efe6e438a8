#if SQLite
import ErrandCache
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Sealed stores.
extension SQLiteCacheStoreTests {
    @Test func sealedFilesShowNothing() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path, sealing: xor)
            try await Samples.add("small-body", bytes: 1000, to: store, Samples.key("/page"))
            try await Samples.add("large-body", bytes: 300_000, to: store, Samples.key("/other"))
            for text in ["small-body", "large-body", "/page", "/other", "max-age"] { #expect(!files.contain(text), "\(text)") }
            #expect(try await store.entries(limit: 9).map(\.url) == ["https://a.example/other", "https://a.example/page"])
        }
    }

    @Test func entriesOfAnotherKeyAreMissing() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path, sealing: xor)
            try await Samples.add("n", bytes: 10, to: store, Samples.key("/a"))
            let other = SQLiteCacheStore(inFolder: path, sealing: CacheSealing(seal: { $0 }, open: { _ in throw CancellationError() }))
            #expect(try await other.lookUp(Samples.key("/a")).entries.isEmpty)
            #expect(try await other.entries(limit: 9).isEmpty)
            #expect(try await store.lookUp(Samples.key("/a")).entries.count == 1)
        }
    }

    /// A folder of a store without encryption is opened with encryption, and the reverse.
    @Test(arguments: [false, true]) func entriesOfTheOtherKindAreRemoved(_ isSealed: Bool) async throws {
        try await withFolder { path, files in
            let first = SQLiteCacheStore(inFolder: path, sealing: isSealed ? xor : nil)
            try await Samples.add("small-body", bytes: 10, to: first, Samples.key("/a"))
            try await Samples.add("large-body", bytes: 200_000, to: first, Samples.key("/b"))
            let events = RecordingList<SQLiteCacheStore.Event>()
            let second = SQLiteCacheStore(inFolder: path, sealing: isSealed ? nil : xor, onEvent: { events.record($0) })
            #expect(try await second.lookUp(Samples.key("/a")).entries.isEmpty)
            #expect(try await second.entries(limit: 9).isEmpty)
            #expect(try await second.usage.entries == 0)
            #expect(files.bodies.isEmpty && !files.contain("small-body") && !files.contain("large-body"))
            #expect(events.kinds == [.replaced] && events.all[0].description.contains("encrypted"), "\(events.all)")
            try await Samples.add("n", bytes: 10, to: second, Samples.key("/a"))
            let third = SQLiteCacheStore(inFolder: path, sealing: isSealed ? nil : xor, onEvent: { events.record($0) })
            #expect(try await third.lookUp(Samples.key("/a")).entries.count == 1)
            #expect(events.kinds == [.replaced])
        }
    }

    @Test func aRemovalInAnotherProcessStopsEarlierResponses() async throws {
        try await withFolder { path, _ in
            let (one, two) = (SQLiteCacheStore(inFolder: path), SQLiteCacheStore(inFolder: path))
            let key = Samples.key("/a"), head = Samples.head("n", bytes: 5)
            let removals: [() async throws -> Void] = [
                { try await two.removeAll(urls: [key.url]) }, { try await two.removeAll(of: key.origin) }, { try await two.removeAll() },
            ]
            for remove in removals {
                let generation = try await one.lookUp(key).generation
                let writer = try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: generation)
                try await writer.write(Data(count: 5))
                try await remove()
                await #expect(throws: CacheStatus.Refusal.removed) { try await writer.publish(head, replacing: []) }
                await #expect(throws: CacheStatus.Refusal.removed) {
                    try await one.makeWriter(for: key, head: head, expectedBytes: 5, since: generation)
                }
                _ = try await Samples.add("n", bytes: 5, to: one, key)
            }
            let other = try await one.lookUp(Samples.key("/b")).generation
            try await two.removeAll(urls: [key.url])
            _ = try await one.makeWriter(for: Samples.key("/b"), head: head, expectedBytes: 5, since: other)
        }
    }

    @Test func aSealThatFailsStoresNothing() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path, sealing: CacheSealing(seal: { _ in throw CancellationError() }, open: { $0 }))
            await #expect(throws: CancellationError.self) { try await Samples.add("n", bytes: 10, to: store, Samples.key("/a")) }
            await #expect(throws: CancellationError.self) { try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/b")) }
            let usage = try await store.usage
            #expect(usage.entries == 0)
            await eventually { files.bodies.isEmpty }
        }
    }
}
#endif
