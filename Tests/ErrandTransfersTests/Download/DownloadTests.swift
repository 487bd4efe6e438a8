import ErrandCore
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    private let folder: TestFolder
    private let content = Data.seeded(100_000)
    private let request: Request

    init() throws {
        folder = try TestFolder("download")
        request = try get("/archive.zip")
    }

    private func download(
        _ server: ContentServer, policy: TransferPolicy = TransferPolicy(backoff: .immediate),
        options: DownloadOptions = .standard, resuming: DownloadResumption? = nil, in folder: TestFolder? = nil
    ) -> Download {
        let url = URL(fileURLWithPath: (folder ?? self.folder).file("archive.zip"))
        return Download(request, to: url, over: server.transport, policy: policy, options: options, resuming: resuming)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private static let unfinished = ["archive.zip.errand-part", "archive.zip.errand-part.json"]

    // MARK: From the first byte to the last

    @Test func aFileIsDownloaded() async throws {
        let server = ContentServer(content)
        let download = download(server)
        let file = try await download.file()
        #expect(try folder.read("archive.zip") == content)
        #expect(file.bytes == 100_000 && file.status == .ok)
        #expect(try names == ["archive.zip"])
        #expect(server.requests.all[0].headers[.acceptEncoding] == "identity")
        #expect(download.resumption == nil)
        #expect(download.state.phase.description == "complete" && download.state.progress.fraction == 1)
    }

    @Test func anEmptyFileIsDownloaded() async throws {
        _ = try await download(ContentServer(Data())).file()
        #expect(try folder.read("archive.zip").isEmpty)
    }

    @Test func theFileResumesAfterEachCut() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [0, 1, 999, 40_000, 0, 7, 20_000] }
        let file = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, nil, "bytes=1-", "bytes=1000-", "bytes=41000-", "bytes=41000-", "bytes=41007-", "bytes=61007-"])
        #expect(server.requests.all.dropFirst(2).allSatisfy { $0.headers[.ifRange] == "\"v1\"" })
        #expect(server.bytesSent == content.count)
        #expect(file.status == .partialContent && file.bytes == 100_000)
    }

    @Test func aServerMaySendSmallerPartsThanRequested() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { behavior in
            behavior.cuts = [10]
            behavior.change = { _, head, body in
                guard head.status == .partialContent, let range = head.contentRange?.range else { return }
                body = body.prefix(30_000)
                head.headerFields[.contentRange] =
                    ContentRange(range.lowerBound..<(range.lowerBound + Int64(body.count)), completeLength: 100_000)?.description
            }
        }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.requests.all.count == 5)
    }

    @Test func aContentWithoutALengthIsDownloaded() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { behavior in
            behavior.cuts = [50_000]
            behavior.change = { _, head, _ in
                if head.status == .ok { head.headerFields[.transferEncoding] = "chunked" }
            }
        }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=50000-"])
    }

    // MARK: Another run

    @Test func anotherRunResumes() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        let first = download(server, policy: TransferPolicy(maxFailures: 0))
        let error = try await #require(throws: TransportError.self) { try await first.file() }
        #expect(error.code == .connectionLost)
        #expect(first.resumption?.bytes == 30_000 && first.resumption?.canContinue == true)
        #expect(try names == Self.unfinished)
        let file = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=30000-"] && file.bytes == 100_000)
        #expect(try names == ["archive.zip"])
    }

    @Test func aMovedFolderResumes() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        let other = try TestFolder("moved")
        for name in Self.unfinished { try FileManager.default.moveItem(atPath: folder.file(name), toPath: other.file(name)) }
        _ = try await download(server, in: other).file()
        #expect(try other.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=30000-"])
    }

    @Test func theValueResumesWithoutAJournal() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        let first = download(server, policy: TransferPolicy(maxFailures: 0))
        _ = try? await first.file()
        let data = try JSONEncoder().encode(first.resumption)
        #expect(!String(decoding: data, as: UTF8.self).contains("a.example"))
        try FileManager.default.removeItem(atPath: folder.file("archive.zip.errand-part.json"))
        let resumption = try JSONDecoder().decode(DownloadResumption.self, from: data)
        _ = try await download(server, resuming: resumption).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=30000-"])
    }

    @Test func bytesAfterTheJournalAreNotTrusted() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        let handle = try #require(FileHandle(forWritingAtPath: folder.file("archive.zip.errand-part")))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(repeating: 1, count: 200_000))
        try handle.close()
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
    }

    @Test func aShortPartialFileStartsAgain() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        let handle = try #require(FileHandle(forWritingAtPath: folder.file("archive.zip.errand-part")))
        try handle.truncate(atOffset: 29_999)
        try handle.close()
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content && server.ranges == [nil, nil])
    }

    @Test func aCompleteFileIsConfirmed() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [100_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        #expect(try names == Self.unfinished)
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=99999-"] && server.bytesSent == 100_001)
    }

    @Test func anUnreadableJournalIsNamedOrReplaced() async throws {
        let server = ContentServer(content)
        let journal = folder.file("archive.zip.errand-part.json")
        for text in ["", "{}", "[[[[", #"{"record":{"schema":2},"process":1}"#, String(repeating: "x", count: 70_000)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: journal))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: journal)
            let error = try await #require(throws: TransferError.self) { try await download(server).file() }
            #expect(error.code == .journalUnreadable && error.message.contains("archive.zip.errand-part.json"))
        }
        _ = try await download(server, options: DownloadOptions(unreadableJournal: .startAgain)).file()
        #expect(try folder.read("archive.zip") == content)
    }

    @Test func oneDownloadOwnsATarget() async throws {
        let (server, begun, gate) = (ContentServer(content), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                begun.signal()
                try await gate.wait()
            }
        }
        let first = download(server)
        async let file = first.file()
        try await begun.wait()
        let error = try await #require(throws: TransferError.self) { try await download(ContentServer(content)).file() }
        #expect(error.code == .busy && error.message.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        await #expect(throws: TransferError.self) { try await download(server).discard() }
        gate.signal()
        _ = try await file
        #expect(try folder.read("archive.zip") == content)
    }

    @Test func aSecondCallDoesNotChangeTheStates() async throws {
        let (server, begun, gate) = (ContentServer(content), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                begun.signal()
                try await gate.wait()
            }
        }
        let download = download(server)
        async let file = download.file()
        try await begun.wait()
        let error = try await #require(throws: TransferError.self) { try await download.file() }
        #expect(error.code == .busy && !download.state.phase.isFinal && error.delivery == .notSent)
        gate.signal()
        _ = try await file
        // After the end, a further call downloads the file again.
        _ = try await download.file()
        #expect(server.requests.all.count == 2)
    }

    @Test func discardRemovesBothFiles() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        let first = download(server, policy: TransferPolicy(maxFailures: 0))
        _ = try? await first.file()
        try await first.discard()
        #expect(try names == [] && first.resumption == nil)
    }

    // MARK: Content that changes, and servers that can't resume

    @Test func aChangedContentStartsAgain() async throws {
        let (server, new) = (ContentServer(content), Data.seeded(60_000, seed: 2))
        server.behavior.withLock { $0.cuts = [90_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        server.behavior.withLock { ($0.content, $0.fields[.eTag]) = (new, "\"v2\"") }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == new)
        #expect(server.ranges == [nil, "bytes=90000-"])
    }

    @Test func aChangedContentFailsIfTheOptionsSaySo() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [90_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        server.behavior.withLock { ($0.content, $0.fields[.eTag]) = (Data(), "\"v2\"") }
        let error = try await #require(throws: TransferError.self) {
            try await download(server, options: DownloadOptions(changedContent: .fail)).file()
        }
        #expect(error.code == .changed && error.resumption?.bytes == 90_000)
        #expect(try folder.read("archive.zip.errand-part") == content.prefix(90_000))
    }

    @Test(arguments: [["ETag": "W/\"v1\""], [:], ["Last-Modified": "Fri, 15 Jan 2027 07:00:00 GMT"]])
    func withoutAStrongValidatorEachConnectionStartsAgain(_ lines: [String: String]) async throws {
        let server = ContentServer(content, lines)
        server.behavior.withLock { $0.cuts = [70_000, 80_000] }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content && server.ranges == [nil, nil, nil])
    }

    @Test func aServerThatIgnoresRangesStartsAgain() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { ($0.honorsRanges, $0.cuts) = (false, [70_000]) }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content && server.ranges == [nil, "bytes=70000-"])
    }

    @Test func aServerThatLiesInContentRangeStartsAgain() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { behavior in
            behavior.cuts = [70_000]
            behavior.change = { _, head, _ in
                if head.status == .partialContent { head.headerFields[.contentRange] = "bytes 60000-99999/100000" }
            }
        }
        _ = try await download(server).file()
        #expect(try folder.read("archive.zip") == content && server.ranges == [nil, "bytes=70000-", nil])
    }

    @Test func aBodyThatIsTooLongFails() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { behavior in
            behavior.change = { _, head, body in
                head.headerFields[.contentLength] = "\(body.count)"
                body += Data(repeating: 0, count: 10)
            }
        }
        let error = try await #require(throws: TransferError.self) { try await download(server).file() }
        #expect(error.code == .unusablePart)
        #expect(try names == Self.unfinished)
    }

    @Test func aServerThatAlwaysChangesEndsTheCall() async throws {
        let (server, version) = (ContentServer(content), Counter())
        server.behavior.withLock { behavior in
            behavior.cuts = Array(repeating: 70_000, count: 50)
            behavior.honorsRanges = false
            behavior.change = { _, head, _ in head.headerFields[.eTag] = "\"\(version.add())\"" }
        }
        let error = try await #require(throws: TransferError.self) { try await download(server).file() }
        #expect(error.code == .changed && server.requests.all.count == TransferBudget.maxRestarts + 2)
    }

    @Test func anErrorPageIsNotWritten() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        _ = try? await download(server, policy: TransferPolicy(maxFailures: 0)).file()
        server.behavior.withLock { behavior in
            behavior.change = { _, head, body in (head.status, body) = (.notFound, Data("gone".utf8)) }
        }
        let error = try await #require(throws: StatusError.self) { try await download(server).file() }
        #expect(error.status == .notFound)
        #expect(try folder.read("archive.zip.errand-part") == content.prefix(30_000))
    }

    // MARK: Failures

    @Test func aTemporaryStatusIsTriedAgain() async throws {
        let (server, count) = (ContentServer(content), Counter())
        server.behavior.withLock { behavior in
            behavior.change = { _, head, body in
                guard count.add() < 3 else { return }
                (head.status, body) = (.serviceUnavailable, Data())
                head.headerFields[.retryAfter] = "1"
            }
        }
        let clock = ManualClock()
        let url = URL(fileURLWithPath: folder.file("archive.zip"))
        let request = request
        let download = Download(
            Download.Settings(
                url: url, sender: server.transport, policy: .standard, options: .standard, makeRequest: { _ in request }, clock: clock))
        async let file = download.file()
        for number in 1...2 {
            // The wait of the download is the only sleeper: the checkpoints begin with the body.
            await eventually { server.requests.all.count >= number }
            try await clock.sleepers(atLeast: 1)
            guard case .waiting(let wait, let error) = download.state.phase else {
                Issue.record("\(download.state)")
                return
            }
            #expect(wait >= .seconds(1) && error is StatusError)
            clock.advance(by: .seconds(30))
        }
        _ = try await file
        #expect(server.requests.all.count == 3)
    }

    @Test func failuresWithoutProgressEndTheCall() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = Array(repeating: 10, count: 100) }
        await #expect(throws: TransportError.self) {
            try await download(server, policy: TransferPolicy(maxFailures: 4, backoff: .immediate)).file()
        }
        #expect(server.requests.all.count == 5)
    }

    @Test func aWrongDigestIsRefused() async throws {
        let value = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"
        let server = ContentServer(content, ["ETag": "\"v1\"", "Repr-Digest": value])
        let error = try await #require(throws: TransferError.self) { try await download(server).file() }
        #expect(error.code == .digestMismatch && error.message.contains("0707070707"))
        #expect(try names == Self.unfinished)
        // The next run does not continue the damaged file.
        server.behavior.withLock { $0.fields[HTTPField.Name("Repr-Digest")!] = nil }
        _ = try await download(server).file()
        #expect(server.ranges == [nil, nil])
        #expect(try folder.read("archive.zip") == content)
    }

    @Test func aDiskWithoutSpaceIsNamedAtTheStart() async throws {
        let server = ContentServer(content)
        var calls = FileCalls.system
        calls.freeBytes = { _ in 50_000 }
        let download = faulty(server, calls)
        let error = try await #require(throws: TransferError.self) { try await download.file() }
        #expect(error.code == .noSpace && error.message.contains("100000 bytes") && error.message.contains("50000 free bytes"))
        #expect(error.delivery == .sent)
    }

    /// The disk has this number of bytes. A write of 256 KiB ends at about 262, 524, 786 and 1,049 thousand bytes.
    @Test(arguments: [1_000_000, 800_000]) func aFullDiskKeepsTheBytes(_ disk: Int) async throws {
        let server = ContentServer(Data.seeded(2_000_000))
        var calls = FileCalls.system
        let (real, folder) = (calls.writeAt, folder)
        // The journal needs space too.
        calls.writeAt = { descriptor, bytes, offset in
            let length = lseek(descriptor, 0, SEEK_END)
            let used =
                (try? FileManager.default.contentsOfDirectory(atPath: folder.path).map { try folder.read($0).count }.reduce(0, +)) ?? 0
            let free = max(0, length - Int(offset)) + max(0, disk - used)
            guard free > 0 else { return -Int(ENOSPC) }
            return real(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(free)), offset)
        }
        let download = faulty(server, calls)
        let error = try await #require(throws: TransferError.self) { try await download.file() }
        #expect(error.code == .noSpace && error.resumption?.bytes ?? 0 > 600_000)
        #expect(error.delivery == .sent && error.request != nil && error.response?.status == .ok)
        _ = try await self.download(server).file()
        #expect(try folder.read("archive.zip") == Data.seeded(2_000_000))
        let offset = try #require(server.ranges.last??.dropFirst(6).dropLast()).description
        #expect(Int(offset) ?? 0 > 600_000)
    }

    private func faulty(_ server: ContentServer, _ calls: FileCalls, policy: TransferPolicy = .standard) -> Download {
        let request = request
        var settings = Download.Settings(
            url: URL(fileURLWithPath: folder.file("archive.zip")), sender: server.transport, policy: policy, options: .standard,
            makeRequest: { _ in request })
        settings.calls = calls
        return Download(settings)
    }

    /// The disk refuses to force the bytes of the first connection to the disk.
    @Test func theJournalDescribesOnlyBytesOnTheDisk() async throws {
        let (server, path, journals) = (ContentServer(content), folder.file("archive.zip"), RecordingList<Int64>())
        server.behavior.withLock { behavior in
            behavior.cuts = [30_000]
            behavior.beforeChunk = { [requests = server.requests] in
                guard requests.all.count == 2, journals.all.isEmpty else { return }
                if let record = try await DownloadFiles.readJournal(of: path, replaces: false) { journals.record(record.bytes) }
            }
        }
        var calls = FileCalls.system
        let real = calls.synchronize
        calls.synchronize = { lseek($0, 0, SEEK_END) == 30_000 ? EIO : real($0) }
        _ = try await faulty(server, calls, policy: TransferPolicy(backoff: .immediate)).file()
        #expect(journals.all == [0])
        #expect(server.ranges == [nil, "bytes=30000-"])
        #expect(try folder.read("archive.zip") == content)
    }

    @Test func aLimitIsChecked() async throws {
        let server = ContentServer(content)
        let options = DownloadOptions(file: FileWriteOptions(limitBytes: 99_999))
        let error = try await #require(throws: TransferError.self) { try await download(server, options: options).file() }
        #expect(error.code == .tooLarge)
    }

    @Test func requestsThatCannotResumeAreRefused() async throws {
        let server = ContentServer(content)
        let url = URL(fileURLWithPath: folder.file("archive.zip"))
        for (method, headers) in [(.post, [:]), (.get, [.range: "bytes=1-"]), (.get, [.ifRange: "\"a\""])]
            as [(HTTPRequest.Method, HTTPFields)]
        {
            let request = try Request(method, url: "https://a.example/x", headers: headers)
            let error = try await #require(throws: TransferError.self) {
                try await Download(request, to: url, over: server.transport).file()
            }
            #expect(error.code == .invalidRequest)
        }
        #expect(server.requests.all.isEmpty)
    }

    @Test func theRequestIsMadeAnew() async throws {
        let (server, made) = (ContentServer(content), RecordingList<DownloadResumption?>())
        server.behavior.withLock { $0.cuts = [30_000, 30_000] }
        let url = URL(fileURLWithPath: folder.file("archive.zip"))
        let download = Download(to: url, over: server.transport, policy: TransferPolicy(backoff: .immediate)) { resumption in
            made.record(resumption)
            return try get("/signed?signature=\(made.all.count)")
        }
        _ = try await download.file()
        #expect(made.all.map { $0?.bytes } == [nil, 30_000, 60_000])
        #expect(server.requests.all.map { $0.head.path } == ["/signed?signature=1", "/signed?signature=2", "/signed?signature=3"])
    }

    // MARK: Pausing and cancelling

    @Test func aPausedDownloadKeepsItsBytes() async throws {
        let (server, begun, gate, count) = (ContentServer(content), Signal(), Signal(), Counter())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                guard count.add() == 31 else { return }
                begun.signal()
                try await gate.wait()
            }
        }
        let download = download(server)
        async let file = download.file()
        try await begun.wait()
        download.pause()
        for await state in download.states { if case .paused = state.phase { break } }
        #expect(download.resumption?.bytes == 30_000)
        download.resume()
        _ = try await file
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=30000-"])
    }

    @Test func aDownloadMayBePausedBeforeItBegins() async throws {
        let server = ContentServer(content)
        let download = download(server)
        download.pause()
        async let file = download.file()
        for await state in download.states { if case .paused = state.phase { break } }
        #expect(server.requests.all.isEmpty)
        download.resume()
        _ = try await file
    }

    @Test func aCancelledDownloadKeepsItsBytes() async throws {
        let (server, begun, count) = (ContentServer(content), Signal(), Counter())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                guard count.add() == 31 else { return }
                begun.signal()
                try await Task.sleep(for: .seconds(600))
            }
        }
        let download = download(server)
        let task = Task { try await download.file() }
        try await begun.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(download.resumption?.bytes == 30_000)
        _ = try await self.download(server).file()
        #expect(try folder.read("archive.zip") == content)
        #expect(server.ranges == [nil, "bytes=30000-"])
    }

    @Test func theStatesEnd() async throws {
        let server = ContentServer(content)
        server.behavior.withLock { $0.cuts = [30_000] }
        let download = download(server)
        let states = download.states
        async let all = states.reduce(into: [String]()) { $0.append($1.phase.description) }
        _ = try await download.file()
        let phases = await all
        #expect(phases.last == "complete")
    }
}
