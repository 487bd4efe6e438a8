#if SQLite
import ErrandCache
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Several stores over one folder.
extension SQLiteCacheStoreTests {
    @Test func theNumbersOfForgottenAccountsHaveALimit() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path)
            let keys = ["first", "last", "never"].map { Samples.key("/a", account: $0) } + [Samples.key("/a")]
            func areCurrent(_ generation: CacheGeneration) async throws -> [Bool] {
                var results: [Bool] = []
                for key in keys {
                    let head = Samples.head("m", bytes: 5)
                    do {
                        _ = try await store.makeWriter(for: key, head: head, expectedBytes: 5, since: generation)
                        results.append(true)
                    } catch CacheStatus.Refusal.removed {
                        results.append(false)
                    }
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
            let one = SQLiteCacheStore(inFolder: path)
            let key = Samples.key("/a")
            let head = Samples.head("n", bytes: 200_000)
            let generation = try await one.lookUp(key).generation
            let writer = try await one.makeWriter(for: key, head: head, expectedBytes: 200_000, since: generation)
            try await writer.write(Samples.body("n", bytes: 200_000).prefix(150_000))
            #expect(files.bodies.count == 1)
            _ = FileManager.default.createFile(atPath: path + "/bodies/0123456789abcdef", contents: Data(count: 10))
            let two = SQLiteCacheStore(inFolder: path)
            #expect(try await two.usage.entries == 0)
            #expect(files.bodies.count == 1, "\(files.bodies)")
            try await writer.write(Data(Samples.body("n", bytes: 200_000).dropFirst(150_000)))
            _ = try await writer.publish(head, replacing: [])
            let entry = try #require(try await two.lookUp(key).entries.first)
            #expect(try await Samples.check(entry, in: two) == "n")
        }
    }
}
#endif
