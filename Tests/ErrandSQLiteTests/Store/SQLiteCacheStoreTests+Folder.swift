#if SQLite
import ErrandCache
import Foundation
import TestSupport
import Testing

@testable import ErrandCore
@testable import ErrandSQLite

/// The folder of a store, and the files of others.
extension SQLiteCacheStoreTests {
    @Test func refusesAFolderWithOtherFiles() async throws {
        let folder = try TestFolder("sqlite-cache")
        let files = StoreFiles(path: folder.path)
        try folder.write("text", to: "notes.txt")
        #expect(SQLiteCacheStore.hasOtherFiles(inFolder: folder.path))
        let store = SQLiteCacheStore(inFolder: folder.path)
        let error = await #expect(throws: FileWriteError.self) { _ = try await store.lookUp(Samples.key("/a")) }
        #expect(
            error?.description
                == "cannot use the folder '\(folder.path)': the folder has other files, and the cache needs a folder of its own")
        #expect(error?.recoverySuggestion == "Choose an empty folder, or a folder that does not exist yet.")
        await #expect(throws: FileWriteError.self) { try await store.removeAll() }
        #expect(files.all == ["notes.txt"] && files.permissions("") == 0o755)
        try FileManager.default.removeItem(atPath: folder.file("notes.txt"))
        // The same object works after the files are gone.
        _ = try await Samples.add("n", bytes: 10, to: store, Samples.key("/a"))
        #expect(files.permissions("") == 0o700)
        // Later files do not disturb.
        try folder.write("text", to: "notes.txt")
        #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: folder.path))
        #expect(try await SQLiteCacheStore(inFolder: folder.path).lookUp(Samples.key("/a")).entries.count == 1)
    }

    @Test func acceptsAnEmptyFolderAndTheRestOfAStore() async throws {
        #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: "") && !SQLiteCacheStore.hasOtherFiles(inFolder: "/nonexistent/folder"))
        try await withFolder { path, _ in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: path))
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(inFolder: path), Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path + "/responses.sqlite")
            try Data().write(to: URL(fileURLWithPath: path + "/.DS_Store"))
            #expect(!SQLiteCacheStore.hasOtherFiles(inFolder: path))
            #expect(try await SQLiteCacheStore(inFolder: path).usage.entries == 0)
        }
    }

    @Test(arguments: [false, true]) func removesNoFilesOfOthers(isDamaged: Bool) async throws {
        try await withFolder { path, files in
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(inFolder: path), Samples.key("/a"))
            let others = [
                ".errand-notes", ".errand-1f.txt", ".errand-.part", "bodies/notes.txt", "bodies/00000000000000AB",
                "bodies/+00000000000000a", "bodies/1f", "bodies/0123456789abcdef.txt",
            ]
            let leftovers = [".errand-1f.part", "bodies/0123456789abcdef"]
            for name in others + leftovers { try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/" + name)) }
            if isDamaged { try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "/responses.sqlite")) }
            let events = RecordingList<SQLiteCacheStore.Event>()
            #expect(try await SQLiteCacheStore(inFolder: path, onEvent: events.record).usage.entries == (isDamaged ? 0 : 1))
            #expect(events.kinds.contains(.replaced) == isDamaged)
            #expect(Set(files.all).isSuperset(of: others) && Set(files.all).isDisjoint(with: leftovers), "\(files.all)")
        }
    }

    @Test(arguments: [false, true]) func followsNoLinkInPlaceOfTheBodies(isDamaged: Bool) async throws {
        let other = try TestFolder("sqlite-cache-other")
        try other.write("text", to: "0123456789abcdef")
        try await withFolder { path, files in
            try await Samples.add("n", bytes: 100_000, to: SQLiteCacheStore(inFolder: path), Samples.key("/a"))
            try FileManager.default.removeItem(atPath: path + "/bodies")
            try FileManager.default.createSymbolicLink(atPath: path + "/bodies", withDestinationPath: other.path)
            if isDamaged { try Data(count: 100_000).write(to: URL(fileURLWithPath: path + "/responses.sqlite")) }
            let store = SQLiteCacheStore(inFolder: path)
            let error = await #expect(throws: FileWriteError.self) { _ = try await store.usage }
            #expect(error?.description == "cannot open '\(path)/bodies': it is a symbolic link, not a folder")
            await #expect(throws: FileWriteError.self) { try await store.removeAll() }
            #expect(try other.read("0123456789abcdef") == Data("text".utf8))
            #expect(StoreFiles(path: other.path).permissions("") == 0o755)
        }
    }
}
#endif
