#if SQLite
import ErrandCache
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// Damaged files and databases.
extension SQLiteCacheStoreTests {
    @Test(arguments: [10, 60_000, 400_000]) func aChangedByteIsNeverReturned(bytes: Int) async throws {
        try await withFolder { path, files in
            do {
                let store = SQLiteCacheStore(inFolder: path)
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
            let events = RecordingList<SQLiteCacheStore.Event>()
            let store = SQLiteCacheStore(inFolder: path, onEvent: events.record)
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
            let store = SQLiteCacheStore(inFolder: path)
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
                let store = SQLiteCacheStore(inFolder: path)
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
            let events = RecordingList<SQLiteCacheStore.Event>()
            let store = SQLiteCacheStore(inFolder: path, onEvent: events.record)
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
        try await Self.addUnlessReplaced("m", bytes: 200_000, to: store, "/large")
        try await Self.addUnlessReplaced("m", bytes: 2000, to: store, "/small")
        try await store.removeAll(urls: ["https://a.example/none"])
        try await store.removeAll(groups: ["g"], of: Samples.url("/").origin)
        try await store.removeAll(of: Samples.url("/").origin)
        try await store.forget(CredentialIdentity(scheme: "sample", account: "carol"))
    }

    /// Adds an entry. If a new database replaces the damaged database after the look-up, the store refuses the entry.
    private static func addUnlessReplaced(_ name: String, bytes: Int, to store: SQLiteCacheStore, _ path: String) async throws {
        do { try await Samples.add(name, bytes: bytes, to: store, Samples.key(path)) } catch CacheStatus.Refusal.removed {}
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
            try await fill(SQLiteCacheStore(inFolder: path))
            let tables = try SQLiteDatabase(path: database).rows(
                "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
            ) { (name: $0.text(0), page: $0.integer(1)) }
            #expect(Set(tables.map(\.name)).isSuperset(of: ["store", "entries", "heads", "bodies", "writes", "forgotten"]))
            #expect(tables.count >= 13, "\(tables)")
            for (name, page) in tables + [(name: "sqlite_schema", page: 1)] {
                try FileManager.default.removeItem(atPath: path)
                let events = RecordingList<SQLiteCacheStore.Event>()
                var store = SQLiteCacheStore(inFolder: path, onEvent: events.record)
                try await fill(store)
                // A page in the log comes before the same page in the file.
                try SQLiteDatabase(path: database).runAll("PRAGMA wal_checkpoint(TRUNCATE)")
                if !isOpen { store = SQLiteCacheStore(inFolder: path, onEvent: events.record) }
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: database))
                try file.seek(toOffset: UInt64(page - 1) * 4096)
                try file.write(contentsOf: Data(repeating: 0xFF, count: 64))
                try file.close()
                // The cached pages of open connections are read again after a change by another connection.
                if isOpen { try await Self.addUnlessReplaced("m", bytes: 10, to: SQLiteCacheStore(inFolder: path), "/other") }
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
            let store = SQLiteCacheStore(inFolder: path, bytes: 1_000_000, entryBytes: 300_000)
            let id = try await Samples.add("n", bytes: 1000, to: store, Samples.key("/one"))
            try SQLiteDatabase(path: path + "/responses.sqlite").runAll(change)
            _ = try await store.usage
            try await store.updateHeads([CacheEntry(id: id, head: Samples.head("a longer name", bytes: 1000))])
            for number in 0..<5 { _ = try? await Samples.add("m", bytes: 250_000, to: store, Samples.key("/\(number)")) }
            _ = try await store.lookUp(Samples.key("/one"))
            try await store.removeAll()
            _ = try await Samples.add("m", bytes: 200_000, to: store, Samples.key("/two"))
        }
    }

    @Test func numbersOfAReplacedDatabaseDoNotReturn() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path)
            let first = try await Samples.add("n", bytes: 10, to: store, Samples.key("/a"))
            let generation = try await store.lookUp(Samples.key("/a")).generation
            for suffix in ["-wal", "-shm", ""] { try FileManager.default.removeItem(atPath: path + "/responses.sqlite" + suffix) }
            #expect(try await store.lookUp(Samples.key("/a")).entries.isEmpty)
            let second = try await Samples.add("n", bytes: 10, to: store, Samples.key("/b"))
            #expect(second != first)
            #expect(try await store.lookUp(Samples.key("/a")).generation != generation)
            #expect(try await store.body(of: first, offsets: 0..<10) == nil)
        }
    }

    @Test func aRemovedFolderIsMadeAgain() async throws {
        try await withFolder { path, _ in
            let store = SQLiteCacheStore(inFolder: path)
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path)
            #expect(try await store.lookUp(Samples.key("/a")).entries.isEmpty)
            try await Samples.add("n", bytes: 100_000, to: store, Samples.key("/a"))
            let entry = try #require(try await store.lookUp(Samples.key("/a")).entries.first)
            #expect(try await Samples.check(entry, in: store) == "n")
        }
    }
}
#endif
