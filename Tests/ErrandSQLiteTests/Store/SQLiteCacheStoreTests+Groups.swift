#if SQLite
import ErrandCache
import ErrandFormats
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Groups of responses, and many entries of an origin.
extension SQLiteCacheStoreTests {
    @Test func theRemovalOfGroupsReadsOnlyTheirOrigin() async throws {
        try await withFolder { path, files in
            let opened = Mutex(0)
            let sealing = CacheSealing(
                seal: { $0 },
                open: { data in
                    opened.withLock { $0 += 1 }
                    return data
                })
            let store = SQLiteCacheStore(inFolder: path, sealing: sealing)
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
                try await writer.write(Data(count: bytes))
                _ = try await writer.publish(head, replacing: [])
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
            let store = SQLiteCacheStore(inFolder: path)
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
}
#endif
