#if Auth
import ErrandCore
import ErrandFormats
import ErrandStoreConformance
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct CookieStoreTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder("cookies") }

    private var path: String { folder.file("cookies.json") }

    private func fileStore(_ clock: any Clock<Duration> = ContinuousClock(), now: HTTPDate = cookieTestTime) -> FileCookieStore {
        FileCookieStore(atPath: path, clock: clock) { now.date }
    }

    private func stores() -> [any CookieStore] { [MemoryCookieStore { cookieTestTime.date }, fileStore()] }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func aFullDiskDoesNotPreventTheRemovalOfAllCookies() async throws {
        let disk = try SmallDisk(bytes: 128 * 1024)
        let store = FileCookieStore(atPath: disk.file("cookies.json")) { cookieTestTime.date }
        let (a, b) = (Cookie.sample("a"), Cookie.sample("b"))
        #expect(try await store.apply(changed: [a, b], removed: []) == [a, b])
        try disk.fill()
        await #expect(throws: FileWriteError.self) { try await store.apply(changed: [], removed: [a.key]) }
        #expect(try await store.load() == [a, b])
        #expect(try await store.apply(changed: [], removed: [a.key, b.key]) == [])
        #expect(try await store.load() == [])
    }

    // MARK: Every store

    @Test(arguments: CookieStoreBehavior.all) func theStoreInMemoryConforms(to behavior: CookieStoreBehavior) async throws {
        try await behavior.check { MemoryCookieStore() }
    }

    @Test(arguments: CookieStoreBehavior.all + CookieStoreBehavior.shared)
    func theFileConforms(to behavior: CookieStoreBehavior) async throws {
        let path = path
        try await behavior.check { FileCookieStore(atPath: path) }
    }

    @Test func aCookieTakesThePlaceOfTheReplacedCookie() async throws {
        for store in stores() {
            let (a, b, c) = (Cookie.sample("a"), Cookie.sample("b"), Cookie.sample("c"))
            #expect(try await store.apply(changed: [a, b], removed: []) == [a, b])
            let newer = Cookie.sample("a", "2")
            #expect(try await store.apply(changed: [c, newer], removed: [b.key]) == [newer, c])
            #expect(try await store.load() == [newer, c])
            #expect(try await store.apply(changed: [a], removed: [a.key]) == [c, a])
        }
    }

    @Test func theEarliestDateOfCreationIsKept() async throws {
        for store in stores() {
            let first = Cookie.sample("a", "1", created: 5)
            _ = try await store.apply(changed: [first], removed: [])
            #expect(try await store.apply(changed: [.sample("a", "2", created: 9)], removed: []) == [.sample("a", "2", created: 5)])
            #expect(try await store.apply(changed: [.sample("a", "3", created: 4)], removed: []) == [.sample("a", "3", created: 4)])
            #expect(
                try await store.apply(changed: [.sample("a", "4", created: 9)], removed: [first.key]) == [.sample("a", "4", created: 9)])
        }
    }

    @Test func expiredCookiesAndCookiesOfTheSessionAreNotStored() async throws {
        let now = cookieTestTime.secondsSinceEpoch
        for store in stores() {
            let kept = Cookie.sample("kept", expires: now + 1)
            let changed = [kept, .sample("now", expires: now), .sample("old", expires: now - 1), .sample("session", expires: nil)]
            #expect(try await store.apply(changed: changed, removed: []) == [kept])
            // A cookie of the session replaces the stored cookie with its key.
            #expect(try await store.apply(changed: [.sample("kept", expires: nil)], removed: []) == [])
            #expect(try await store.load() == [])
        }
        _ = try await fileStore().apply(changed: [.sample("a", expires: now + 10), .sample("b", expires: now + 20)], removed: [])
        let later = fileStore(now: HTTPDate(secondsSinceEpoch: now + 10))
        #expect(try await later.load().map(\.name) == ["b"])
        #expect(try folder.read("cookies.json").count > 200)
        #expect(try await later.apply(changed: [], removed: []).map(\.name) == ["b"])
        #expect(try !String(decoding: folder.read("cookies.json"), as: UTF8.self).contains("\"a\""))
        let time = ManualDate(now)
        let memory = MemoryCookieStore([.sample("a", expires: now + 10), .sample("s", expires: nil)]) { time.date }
        #expect(memory.cookies.map(\.name) == ["a"] && memory.description == "memory, 1 cookie")
        time.move(bySeconds: 10)
        #expect(memory.load() == [] && memory.description == "memory, 0 cookies")
    }

    // MARK: The file

    @Test func onlyTheOwnerCanReadTheFiles() async throws {
        let store = fileStore()
        _ = try await store.apply(changed: [.sample("a")], removed: [])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["cookies.json", "cookies.json.lock"])
        for name in names {
            #expect(try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int == 0o600)
        }
        #expect(store.description == "file \(path)" && store.path == path)
        #expect(try await FileCookieStore(atPath: path).load() == [])
    }

    @Test func anUnchangedFileIsNotWritten() async throws {
        let store = fileStore()
        #expect(try await store.apply(changed: [], removed: [Cookie.sample("a").key]) == [])
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await store.apply(changed: [.sample("a")], removed: [])
        let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        _ = try await store.apply(changed: [.sample("a")], removed: [Cookie.sample("b").key])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == before)
        _ = try await store.apply(changed: [.sample("a", "2")], removed: [])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int != before)
    }

    @Test(arguments: [
        ("{", CookieFileError.Code.foreign), ("# Netscape HTTP Cookie File\n", .foreign), ("{\"value\":\"token\"}", .foreign),
        (#"{"cookies":[],"format":"errand-cookies","version":2}"#, .newerVersion),
        (#"{"cookies":[{}],"format":"errand-cookies","version":1}"#, .corrupt),
    ]) func aFileThatIsNotOneOfCookiesIsKept(_ text: String, _ code: CookieFileError.Code) async throws {
        try write(text)
        let store = fileStore()
        await #expect(throws: CookieFileError(code, path: path)) { try await store.load() }
        await #expect(throws: CookieFileError(code, path: path)) {
            try await store.apply(changed: [.sample("a")], removed: [])
        }
        #expect(try folder.read("cookies.json") == Data(text.utf8))
        #expect(CookieFileError(code, path: path).description == "cannot use the cookies in '\(path)': \(code)")
    }

    @Test func anEmptyFileIsAnEmptyStore() async throws {
        try write("")
        #expect(try await fileStore().load() == [])
        #expect(try await fileStore().apply(changed: [.sample("a")], removed: []).count == 1)
    }

    @Test func aFileThatOthersCanReadIsRefused() async throws {
        try write(#"{"cookies":[],"format":"errand-cookies","version":1}"#, mode: 0o644)
        await #expect(throws: FileReadError.self) { try await fileStore().load() }
        await #expect(throws: FileReadError.self) { try await fileStore().apply(changed: [.sample("a")], removed: []) }
        await #expect(throws: FileWriteError.self) {
            try await FileCookieStore(atPath: folder.file("missing/a")).apply(changed: [], removed: [])
        }
    }

    @Test func aSymbolicLinkIsRefused() async throws {
        try write(#"{"cookies":[],"format":"errand-cookies","version":1}"#)
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let store = FileCookieStore(atPath: link) { cookieTestTime.date }
        let error = await #expect(throws: FileReadError.self) { try await store.load() }
        #expect(error?.description.contains("it is a symbolic link") == true)
        await #expect(throws: FileReadError.self) { try await store.apply(changed: [.sample("a")], removed: []) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    }

    @Test func cookiesOfMoreThanTheLimitAreNotWritten() async throws {
        let store = fileStore()
        _ = try await store.apply(changed: [.sample("a")], removed: [])
        let before = try folder.read("cookies.json")
        let large = Cookie.sample("b", String(repeating: "x", count: CookieFile.limitBytes))
        await #expect(throws: CookieFileError(.tooLarge, path: path)) { try await store.apply(changed: [large], removed: []) }
        #expect(try folder.read("cookies.json") == before)
    }

    @Test func theFileThatAKilledProcessHasLeftIsUsed() async throws {
        let part = path + ".part"
        try Data("half".utf8).write(to: URL(fileURLWithPath: part))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: part)
        #expect(try await fileStore().apply(changed: [.sample("a")], removed: []).count == 1)
        #expect(!FileManager.default.fileExists(atPath: part))
        #expect(try await fileStore().load().map(\.name) == ["a"])
    }

    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func aFullDiskKeepsTheOldCookies() async throws {
        let disk = try SmallDisk(bytes: 128 * 1024)
        let store = FileCookieStore(atPath: disk.file("cookies.json")) { cookieTestTime.date }
        _ = try await store.apply(changed: [.sample("a")], removed: [])
        try disk.fill()
        let large = Cookie.sample("b", String(repeating: "x", count: 100_000))
        await #expect(throws: FileWriteError.self) { try await store.apply(changed: [large], removed: []) }
        #expect(try await store.load().map(\.name) == ["a"])
    }

    // MARK: Several stores of one file

    @Test func aChangeWaitsForTheLock() async throws {
        let clock = ManualClock()
        let lock = try #require(try await PrivateFile.lock(path + ".lock", within: .zero))
        let store = fileStore(clock)
        let late = Task { try await store.apply(changed: [.sample("a")], removed: []) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(31))
        let busy = await #expect(throws: FileWriteError.self) { try await late.value }
        #expect(busy?.description.contains("the lock was not free within 30 s: another process") == true)
        let waiting = Task { try await store.apply(changed: [.sample("a")], removed: []) }
        try await clock.sleepers(atLeast: 1)
        // Reading takes no lock.
        #expect(try await store.load() == [])
        lock.release()
        clock.advance(by: .milliseconds(20))
        #expect(try await waiting.value.count == 1)
        let cancelled = try #require(try await PrivateFile.lock(path + ".lock", within: .zero))
        let task = Task { try await store.apply(changed: [.sample("b")], removed: []) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        cancelled.release()
    }
}
#endif
