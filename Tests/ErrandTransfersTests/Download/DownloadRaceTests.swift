import Dispatch
import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

/// Two processes with the same target. Two descriptors of one process have separate locks, as those of two processes do.
@Suite(.timeLimit(.minutes(5))) struct DownloadRaceTests {
    private let folder: TestFolder
    private let content = Data.seeded(50_000)

    init() throws { folder = try TestFolder("race") }

    private func download(
        _ server: ContentServer, _ calls: FileCalls = .system, maxFailures: Int = 10, permissions: UInt16 = 0o600,
        synchronizes: Bool = false
    ) throws -> Download {
        let request = try get("/file")
        let options = DownloadOptions(file: FileWriteOptions(permissions: permissions, synchronizesToDisk: synchronizes))
        var settings = Download.Settings(
            url: URL(fileURLWithPath: folder.file("file")), sender: server.transport,
            policy: TransferPolicy(maxFailures: maxFailures, backoff: .immediate), options: options, makeRequest: { _ in request })
        settings.calls = calls
        return Download(settings)
    }

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder.file("file"))[.posixPermissions] as? Int
    }

    /// The second download opens the partial file just before the first download renames it, and locks the file just after.
    @Test func aRenamedFileIsNotChangedByASecondDownload() async throws {
        let (atRename, atLock) = (Signal(), Signal())
        let (mayRename, mayLock) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var first = FileCalls.system
        first.rename = { [path = folder.file("file")] old, new in
            if new == path {
                atRename.signal()
                mayRename.wait()
            }
            return FileCalls.system.rename(old, new)
        }
        var second = FileCalls.system
        let locks = Counter()
        second.lock = { descriptor, waits in
            if locks.add() == 1 {
                atLock.signal()
                mayLock.wait()
            }
            return FileCalls.system.lock(descriptor, waits)
        }
        let gone = ContentServer(Data.seeded(70_000, seed: 2), ["ETag": "\"v2\""])
        gone.behavior.withLock { $0.change = { _, head, body in (head.status, body) = (.notFound, Data()) } }

        let one = try download(ContentServer(content), first, permissions: 0o644)
        async let file = one.file()
        try await atRename.wait()
        let other = try download(gone, second)
        let task = Task { try await other.file() }
        try await atLock.wait()
        mayRename.signal()
        _ = try await file
        mayLock.signal()
        let error = try await #require(throws: StatusError.self) { try await task.value }
        #expect(error.status == .notFound)
        #expect(try folder.read("file") == content && mode() == 0o644)
        #expect(locks.value > 1)
        // The second download has its own partial file.
        let new = ContentServer(Data.seeded(70_000, seed: 2), ["ETag": "\"v2\""])
        _ = try await download(new).file()
        #expect(try folder.read("file") == Data.seeded(70_000, seed: 2) && mode() == 0o600)
        #expect(new.ranges == [nil])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    /// The second download begins after the first download has renamed the file, and before it removes its journal.
    ///
    /// - Parameter fails: whether the first download fails after the rename, because its folder can't be forced to the disk.
    @Test(arguments: [false, true]) func theJournalOfASecondDownloadStays(fails: Bool) async throws {
        let (atEnd, mayEnd) = (Signal(), DispatchSemaphore(value: 0))
        let isRenamed = Mutex(false)
        var calls = FileCalls.system
        calls.rename = { [path = folder.file("file")] old, new in
            let code = FileCalls.system.rename(old, new)
            if new == path {
                isRenamed.withLock { $0 = true }
                atEnd.signal()
                mayEnd.wait()
            }
            return code
        }
        calls.synchronize = { fails && isRenamed.withLock { $0 } ? EIO : FileCalls.system.synchronize($0) }
        let first = try download(ContentServer(content), calls, synchronizes: fails)
        let task = Task { try await first.file() }
        try await atEnd.wait()
        #expect(try folder.read("file") == content)
        let server = ContentServer(Data.seeded(70_000, seed: 2), ["ETag": "\"v2\""])
        server.behavior.withLock { $0.cuts = [30_000] }
        await #expect(throws: TransportError.self) { try await download(server, maxFailures: 0).file() }
        mayEnd.signal()
        let result = await task.result
        #expect(((try? result.get()) == nil) == fails)
        _ = try await download(server).file()
        #expect(server.ranges == [nil, "bytes=30000-"])
        #expect(try folder.read("file") == Data.seeded(70_000, seed: 2))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }

    /// The directory entry of a finished file can't be forced to the disk. A second download must not lose its journal by the first one.
    @Test func aFailureAfterTheRenameDoesNotWriteAJournal() async throws {
        var calls = FileCalls.system
        let isRenamed = Mutex(false)
        calls.rename = { [path = folder.file("file")] old, new in
            if new == path { isRenamed.withLock { $0 = true } }
            return FileCalls.system.rename(old, new)
        }
        calls.synchronize = { isRenamed.withLock { $0 } ? EIO : FileCalls.system.synchronize($0) }
        let error = try await #require(throws: FileWriteError.self) {
            try await download(ContentServer(content), calls, synchronizes: true).file()
        }
        #expect(error.operation == FileWriteError.folderSynchronization)
        #expect(try folder.read("file") == content)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
}
