#if SQLite
import ErrandCache
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Limits, and full disks.
extension SQLiteCacheStoreTests {
    @Test(
        arguments: [
            .max, .max - 1, .max / 2, 9_222_500_000_000_000_000, 4_611_686_018_427_387_904, 1 << 60, -1, .min,
        ] as [Int64])
    func refusesALengthThatNoEntryHas(announced: Int64) async throws {
        for limit in [1_000_000, .max] as [Int64] {
            for entryLimit in [nil, .max] as [Int64?] {
                try await withFolder { path, _ in
                    let store = SQLiteCacheStore(inFolder: path, bytes: limit, entries: .max, entryBytes: entryLimit)
                    let key = Samples.key("/a")
                    let generation = try await store.lookUp(key).generation
                    let head = Samples.head("n", bytes: 10)
                    await #expect(throws: CacheStatus.Refusal.tooLarge) {
                        try await store.makeWriter(for: key, head: head, expectedBytes: announced, since: generation)
                    }
                    _ = try await Samples.add("n", bytes: 100_000, to: store, key)
                }
            }
        }
    }

    @Test func manyLargeLengthsWithoutALimitAreCounted() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path, bytes: .max, entries: .max, entryBytes: .max)
            var writers: [any CacheWriter] = []
            for number in 0..<12 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("n", bytes: 10)
                // Each file reserves its announced bytes.
                let writer = try await store.makeWriter(for: key, head: head, expectedBytes: 1 << 59, since: generation)
                do { try await writer.write(Data(count: 100_000)) } catch { #expect(error as? CacheStatus.Refusal == .noRoom) }
                writers.append(writer)
            }
            for writer in writers { writer.discard() }
            #expect(try await store.usage.bytes == 0)
        }
    }

    @Test func unpublishedFilesCount() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path, bytes: 4_000_000, entryBytes: 1_000_000)
            var writers: [any CacheWriter] = []
            var refused = 0
            for number in 0..<8 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("n", bytes: 900_000)
                let writer = try await store.makeWriter(for: key, head: head, expectedBytes: 900_000, since: generation)
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
            for number in 0..<8 { _ = try await Samples.add("n", bytes: 900_000, to: store, Samples.key("/\(number)")) }
            let usage = try await store.usage
            #expect(usage.entries == 4 && usage.bytes <= 4_000_000, "\(usage)")
            #expect(files.bodies.count == 4)
        }
    }

    /// The unpublished file of another entry takes the whole room.
    @Test func anEntryWithoutRoomAtItsEndIsRefused() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path, bytes: 1_000_000, entryBytes: 1_000_000)
            func begin(_ path: String, bytes: Int) async throws -> any CacheWriter {
                let generation = try await store.lookUp(Samples.key(path)).generation
                let head = Samples.head("n", bytes: bytes)
                return try await store.makeWriter(for: Samples.key(path), head: head, expectedBytes: Int64(bytes), since: generation)
            }
            let (large, small) = (try await begin("/large", bytes: 990_000), try await begin("/small", bytes: 20_000))
            try await large.write(Data(count: 100_000))
            try await small.write(Data(count: 20_000))
            await #expect(throws: CacheStatus.Refusal.noRoom) {
                try await small.publish(Samples.head("n", bytes: 20_000), replacing: [])
            }
            large.discard()
            await eventually { files.bodies.isEmpty }
            _ = try await Samples.add("n", bytes: 20_000, to: store, Samples.key("/small"))
        }
    }

    @Test func aStoreForNoEntryHasNoRoom() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path, entries: 0)
            await #expect(throws: CacheStatus.Refusal.noRoom) { try await Samples.add("n", bytes: 10, to: store, Samples.key("/a")) }
        }
    }

    @Test func manySmallBodiesInProgressUseLittleMemory() async throws {
        try await withFolder { path, files in
            let store = SQLiteCacheStore(inFolder: path)
            var writers: [any CacheWriter] = []
            for number in 0..<60 {
                let key = Samples.key("/\(number)")
                let generation = try await store.lookUp(key).generation
                let head = Samples.head("\(number)", bytes: 60_000)
                let writer = try await store.makeWriter(for: key, head: head, expectedBytes: nil, since: generation)
                try await writer.write(Samples.body("\(number)", bytes: 60_000))
                writers.append(writer)
            }
            // The others are in memory: 34 bodies of 60,000 bytes in 2 MiB.
            #expect(files.bodies.count == 26)
            for (number, writer) in writers.enumerated() {
                _ = try await writer.publish(Samples.head("\(number)", bytes: 60_000), replacing: [])
            }
            for number in 0..<60 {
                let entry = try #require(try await store.lookUp(Samples.key("/\(number)")).entries.first)
                #expect(try await Samples.check(entry, in: store) == "\(number)")
            }
        }
    }

    @Test func theDatabaseShrinksAfterARemoval() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path)
            for number in 0..<200 { try await Samples.add("n", bytes: 60_000, to: store, Samples.key("/\(number)")) }
            try await store.removeAll()
            let size = try FileManager.default.attributesOfItem(atPath: path + "/responses.sqlite")[.size] as? Int ?? 0
            #expect(size < 200_000, "\(size)")
        }
    }

    private struct DiskFull: Sendable {
        let isFull = Watched(false)
        var calls: FileCalls {
            var calls = FileCalls()
            calls.writeAt = { [isFull] in
                if isFull.value { return -28 }
                return FileCalls.system.writeAt($0, $1, $2)
            }
            return calls
        }
    }

    @Test func aFullDiskFailsTheWriterAndLeavesNothing() async throws {
        try await withFolder { path, files in
            let disk = DiskFull()
            let store = SQLiteCacheStore(inFolder: path, calls: disk.calls)
            try await Samples.add("n", bytes: 200_000, to: store, Samples.key("/a"))
            disk.isFull.change { $0 = true }
            await #expect(throws: FileWriteError.self) { try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/b")) }
            await eventually { files.bodies.count == 1 }
            let entry = try #require(try await store.lookUp(Samples.key("/a")).entries.first)
            #expect(try await Samples.check(entry, in: store) == "n")
            disk.isFull.change { $0 = false }
            _ = try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/b"))
        }
    }
}
#endif
