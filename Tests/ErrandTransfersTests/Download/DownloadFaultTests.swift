import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

#if Crypto
import ErrandHashing
#endif

/// Each file call of a download fails once. After each fault: a clear error or a whole file, no lost bytes, and a next run that ends.
@Suite(.timeLimit(.minutes(5))) struct DownloadFaultTests {
    private static let content = Data.seeded(60_000)
    /// The first connection of each download is cut after this number of bytes.
    private static let cut = 30_000

    private let folder: TestFolder

    init() throws { folder = try TestFolder("faults") }

    private static func server() -> ContentServer {
        var fields = ["ETag": "\"v1\""]
        #if Crypto
        fields["Repr-Digest"] = "sha-256=:\(Data(OctetHash.of(content, by: .sha256)).base64EncodedString()):"
        #endif
        let server = ContentServer(content, fields)
        server.behavior.withLock { ($0.cuts, $0.chunkBytes) = ([cut], 20_000) }
        return server
    }

    /// Returns a download whose clock stands still, so that the order of its calls is always the same.
    private func download(
        _ name: String, _ server: ContentServer, _ calls: FileCalls = .system, replaces: Bool = true, permissions: UInt16 = 0o600
    ) throws -> Download {
        let request = try get("/file")
        let file = FileWriteOptions(replacesExistingFile: replaces, permissions: permissions, synchronizesToDisk: true)
        var settings = Download.Settings(
            url: URL(fileURLWithPath: folder.file(name)), sender: server.transport, policy: TransferPolicy(backoff: .immediate),
            options: DownloadOptions(file: file), makeRequest: { _ in request })
        (settings.calls, settings.clock) = (calls, ManualClock())
        return Download(settings)
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder.file(name)) }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    /// The calls of a download without faults.
    private func names(replaces: Bool) async throws -> [String] {
        let faults = FileFaults()
        _ = try await download("count", Self.server(), faults.calls, replaces: replaces).file()
        try FileManager.default.removeItem(atPath: folder.file("count"))
        return faults.names.all
    }

    #if Crypto
    @Test func theDownloadsMakeEachCall() async throws {
        let all = try await Set(names(replaces: true) + names(replaces: false))
        // Only a file that is written as a whole is written at its end.
        #expect(all == FileFaults.allNames.subtracting(["write"]))
    }
    #endif

    @Test(arguments: [true, false], [EIO, ENOSPC]) func eachCallMayFailOnce(replaces: Bool, code: Int32) async throws {
        for (number, name) in try await names(replaces: replaces).enumerated() {
            try await run(FileFaults(.one(number), code: code), "\(number) \(name)", replaces: replaces, isLasting: false)
        }
    }

    @Test(arguments: [EIO, EDQUOT]) func eachCallMayFailFromSomePointOn(code: Int32) async throws {
        for (number, name) in try await names(replaces: true).enumerated() {
            try await run(FileFaults(.all(number), code: code), "\(number) \(name)", replaces: true, isLasting: true)
        }
    }

    private func run(_ faults: FileFaults, _ fault: String, replaces: Bool, isLasting: Bool) async throws {
        let (server, name) = (Self.server(), "file \(fault)")
        do {
            _ = try await download(name, server, faults.calls, replaces: replaces).file()
            #expect(try folder.read(name) == Self.content, "\(fault): a wrong file without an error")
            if !replaces, exists(name + ".errand-part") { return try await check(name, afterLeftPart: fault) }
        } catch let error as TransferError {
            #expect([.noSpace, .journalUnreadable].contains(error.code), "\(fault): \(error)")
        } catch let error as FileWriteError {
            #expect(error.path.contains(name) && !error.operation.isEmpty, "\(fault): \(error)")
            #expect(![ENOSPC, EDQUOT].contains(error.code), "\(fault): not an error of a transfer: \(error)")
        } catch {
            Issue.record("\(fault): \(error)")
        }
        #expect(faults.failed != nil, "\(fault): the call was not made")
        if exists(name) { #expect(try folder.read(name) == Self.content, "\(fault): the file is incomplete") }
        let isComplete = exists(name)
        // The journal names only bytes that are there.
        let record = try await DownloadFiles.readJournal(of: folder.file(name), replaces: false)
        if let record, record.bytes > 0, !isComplete {
            let part = try folder.read(name + ".errand-part")
            #expect(part.prefix(Int(record.bytes)) == Self.content.prefix(Int(record.bytes)), "\(fault): the journal is wrong")
        }
        let hadResumed = server.requests.all.count == 2
        if hadResumed, !isLasting, !isComplete { #expect(record?.bytes ?? 0 >= Self.cut, "\(fault): bytes are lost") }
        if isComplete {
            // The next download may replace the file, and does not continue the old bytes.
            try FileManager.default.removeItem(atPath: folder.file(name))
        }
        let next = Self.server()
        next.behavior.withLock { $0.cuts = [] }
        _ = try await download(name, next, replaces: replaces).file()
        #expect(try folder.read(name) == Self.content, "\(fault): the next run has another content")
        let offset = record.flatMap { isComplete ? nil : DownloadRule.range(after: $0)?.offset }
        #expect(next.ranges == [offset.map { "bytes=\($0)-" }], "\(fault)")
        #expect(try names() == [name], "\(fault): files are left")
        try FileManager.default.removeItem(atPath: folder.file(name))
    }

    /// The partial file is a second name of the finished file. Another download must not write to the finished file.
    private func check(_ name: String, afterLeftPart fault: String) async throws {
        let other = ContentServer(Data(), ["ETag": "\"v2\""])
        other.behavior.withLock { $0.change = { _, head, _ in head.status = .notFound } }
        await #expect(throws: StatusError.self, "\(fault)") { try await download(name, other).file() }
        #expect(try folder.read(name) == Self.content, "\(fault): the finished file was changed")
        let new = ContentServer(Data.seeded(100, seed: 2), ["ETag": "\"v2\""])
        new.behavior.withLock { behavior in
            behavior.cuts = [50]
            behavior.change = { [content = Self.content, folder] request, _, _ in
                guard request.headers.contains(.range) else { return }
                #expect((try? folder.read(name)) == content, "\(fault): the finished file was changed")
            }
        }
        _ = try await download(name, new).file()
        #expect(try folder.read(name) == Data.seeded(100, seed: 2) && new.requests.all.count == 2, "\(fault)")
        #expect(try names() == [name], "\(fault): files are left")
        try FileManager.default.removeItem(atPath: folder.file(name))
    }
}
