import ErrandCore
import ErrandHashing
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandTransfers

/// Uploads over a scripted server, by tus and by the IETF draft.
@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    private let folder: TestFolder
    private let content = Data.seeded(100_000)
    /// A content of several chunks. The last chunk is not read before the first chunk is sent.
    private let large = Data.seeded(400_000)

    private static let protocols: [UploadProtocol] = [.tus, .resumable(), .resumable(version: 6)]

    init() throws {
        folder = try TestFolder("upload")
        try content.write(to: URL(fileURLWithPath: folder.file("archive.zip")))
    }

    private var file: URL { URL(fileURLWithPath: folder.file("archive.zip")) }

    private func request(_ target: String = "/files") throws -> Request {
        try Request(.post, url: "https://a.example" + target, headers: [.authorization: "Bearer secret", .contentType: "application/zip"])
    }

    private func upload(
        _ server: UploadServer, policy: TransferPolicy = TransferPolicy(backoff: .immediate), options: UploadOptions = .standard,
        resuming: UploadResumption? = nil, from file: URL? = nil
    ) throws -> Upload {
        Upload(
            try request(), from: file ?? self.file, over: server, by: server.uploadProtocol, policy: policy, options: options,
            resuming: resuming)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func digest(_ data: Data) -> [UInt8] { OctetHash.of(data, by: .sha256) }

    /// Runs an upload whose first connection breaks off after some bytes, and that does not continue.
    private func breakOff(_ server: UploadServer, after bytes: Int, options: UploadOptions = .standard) async throws -> Upload {
        server.behavior.withLock { $0.cuts = [bytes] }
        let first = try upload(server, policy: TransferPolicy(maxFailures: 0), options: options)
        let error = try await #require(throws: TransportError.self) { try await first.response() }
        #expect(error.code == .connectionLost)
        return first
    }

    // MARK: From the first byte to the last

    @Test(arguments: protocols) func aFileIsUploaded(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        let upload = try upload(server)
        let response = try await upload.response()
        #expect(server.contents == [content] && server.bytesReceived == 100_000)
        #expect(server.methods == (uploadProtocol == .tus ? ["POST", "PATCH"] : ["POST"]))
        #expect(response.status == (uploadProtocol == .tus ? .noContent : .ok))
        #expect(upload.resumption == nil && upload.url?.path == "/uploads/1")
        #expect(upload.state.phase.description == "complete" && upload.state.progress.fraction == 1)
        #expect(try names == ["archive.zip"])
        #expect(server.requests.all.allSatisfy { $0.headers[.authorization] == "Bearer secret" && $0.options.call.keepsBodyBytes })
    }

    @Test func theDraftReturnsTheResponseOfTheResource() async throws {
        let server = UploadServer(.resumable())
        let response = try await upload(server).response()
        #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "stored 100000")
        #expect(server.requests.all[0].headers[.contentType] == "application/zip")
    }

    @Test(arguments: protocols) func anEmptyFileIsUploaded(_ uploadProtocol: UploadProtocol) async throws {
        try Data().write(to: file)
        let server = UploadServer(uploadProtocol, informs: false)
        let upload = try upload(server)
        _ = try await upload.response()
        #expect(server.contents == [Data()] && server.methods == ["POST"])
        #expect(uploadProtocol != .tus || upload.url?.path == "/uploads/1")
    }

    @Test func withoutInformationTheCreationIsCareful() async throws {
        let server = UploadServer(.resumable(), informs: false)
        let response = try await upload(server).response()
        #expect(server.methods == ["POST", "PATCH"] && server.contents == [content])
        #expect(server.requests.all.map { $0.headers[.uploadComplete] } == ["?0", "?1"])
        #expect(server.requests.all.map { $0.headers[.contentType] } == ["application/zip", "application/partial-upload"])
        #expect(String(decoding: try await response.body.collect(), as: UTF8.self) == "stored 100000")
    }

    @Test(arguments: protocols) func theUploadResumesAfterEachCut(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        server.behavior.withLock { $0.cuts = [1, 999, 40_000, 0, 7, 20_000] }
        _ = try await upload(server).response()
        #expect(server.contents.map(digest) == [digest(content)])
        #expect(server.bytesReceived == content.count && server.overlapCount == 0)
        let offsets = ["1", "1000", "41000", "41000", "41007", "61007"]
        #expect(server.offsets == (uploadProtocol == .tus ? ["0"] : []) + offsets)
        #expect(server.methods.filter { $0 == "POST" }.count == 1)
    }

    @Test(arguments: protocols, [1, 2, 3] as [UInt64])
    func cutsAtRandomBytesLoseNothing(_ uploadProtocol: UploadProtocol, _ seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let server = UploadServer(uploadProtocol, informs: seed != 2)
        server.behavior.withLock { behavior in
            behavior.cuts = (0..<40).map { _ in Int.random(in: 0...20_000, using: &generator) }
            behavior.losses = (0..<60).map { _ in Int.random(in: 0..<4, using: &generator) == 0 }
            behavior.lagBytes = 300
        }
        let upload = try upload(
            server, policy: TransferPolicy(maxFailures: 200, backoff: .immediate),
            options: UploadOptions(partBytes: seed == 3 ? 9_000 : nil))
        _ = try await upload.response()
        #expect(server.contents.map(digest).last == digest(content) && server.overlapCount == 0)
    }

    @Test(arguments: protocols) func theServerMayHaveFewerBytesThanWereSent(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        server.behavior.withLock { ($0.cuts, $0.lagBytes) = ([50_000], 20_000) }
        _ = try await upload(server).response()
        #expect(server.contents == [content] && server.offsets.last == "30000")
    }

    @Test func aServerMayHaveMoreBytesThanWereConfirmed() async throws {
        let server = UploadServer(.resumable())
        let bytes = content
        server.behavior.withLock { behavior in
            behavior.cuts = [10]
            behavior.beforeRequest = { request in
                guard request.method == .head else { return }
                server.files.withLock { $0["/uploads/1"]?.bytes = bytes.prefix(70_000) }
            }
        }
        _ = try await upload(server).response()
        #expect(server.contents == [content] && server.offsets == ["70000"])
    }

    @Test(arguments: protocols) func partsHaveALargestSize(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        _ = try await upload(server, options: UploadOptions(creation: .withContent, partBytes: 30_000)).response()
        #expect(server.contents == [content] && server.offsets == ["30000", "60000", "90000"])
        #expect(server.methods == ["POST", "PATCH", "PATCH", "PATCH"])
    }

    @Test func theLimitsOfTheServerAreObeyed() async throws {
        let server = UploadServer(.resumable(), informs: false)
        server.behavior.withLock { $0.limit = "max-append-size=40000, min-append-size=1" }
        _ = try await upload(server).response()
        #expect(server.contents == [content] && server.offsets == ["0", "40000", "80000"])
    }

    @Test(arguments: [true, false]) func aContentThatIsTooLargeIsCancelled(_ informs: Bool) async throws {
        let server = UploadServer(.resumable(), informs: informs)
        server.behavior.withLock { $0.limit = "max-size=99999" }
        let upload = try upload(server)
        let error = try await #require(throws: TransferError.self) { try await upload.response() }
        #expect(error.code == .tooLarge && server.methods == ["POST", "DELETE"] && upload.resumption == nil)
        #expect(try names == ["archive.zip"])
    }

    @Test(arguments: [UploadOptions.Checksum.sha1, .sha256]) func tusChecksEachPart(_ checksum: UploadOptions.Checksum) async throws {
        let server = UploadServer(.tus)
        server.behavior.withLock { $0.damages = [false, true] }
        _ = try await upload(server, options: UploadOptions(partBytes: 30_000, checksum: checksum)).response()
        #expect(server.contents == [content] && server.offsets == ["0", "30000", "30000", "60000", "90000"])
    }

    @Test func tusSendsMetadata() async throws {
        let server = UploadServer(.tus)
        _ = try await upload(server, options: UploadOptions(metadata: ["filename": "a.zip"])).response()
        #expect(server.files.withLock { $0["/uploads/1"]?.metadata } == "filename YS56aXA=")
        #expect(server.requests.all.allSatisfy { $0.headers[.tusResumable] == "1.0.0" })
        #expect(server.requests.all[0].headers[.contentType] == nil)
    }

    // MARK: Content

    @Test(arguments: protocols) func aPartOfAFileIsUploaded(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        server.behavior.withLock { $0.cuts = [5_000] }
        var request = try request()
        request.body = try .file(file, range: 10_000..<40_000)
        _ = try await Upload(request, over: server, by: uploadProtocol, policy: TransferPolicy(backoff: .immediate)).response()
        #expect(server.contents == [Data(content[10_000..<40_000])] && server.bytesReceived == 30_000)
    }

    @Test(arguments: protocols, [RequestBody.Replay.restartable, .seekable])
    func aStreamThatCanBeOpenedAgainIsUploaded(_ uploadProtocol: UploadProtocol, _ replay: RequestBody.Replay) async throws {
        let (server, bytes) = (UploadServer(uploadProtocol), content)
        server.behavior.withLock { $0.cuts = [33_333, 1] }
        var request = try request()
        request.body = .stream(length: 100_000, replay: replay) { offset in
            #expect(replay.canSeek || offset == 0)
            let rest = bytes.dropFirst(Int(offset))
            return ScriptedBodySource(chunks: stride(from: 0, to: rest.count, by: 777).map { Data(rest.dropFirst($0).prefix(777)) })
        }
        _ = try await Upload(
            request, over: server, by: uploadProtocol, policy: TransferPolicy(backoff: .immediate),
            options: UploadOptions(partBytes: 50_000)
        ).response()
        #expect(server.contents.map(digest) == [digest(content)])
    }

    @Test func aBodyThatCanBeSentOnceIsRefused() async throws {
        let server = UploadServer(.tus)
        var request = try request()
        request.body = .stream(AsyncStream<Data> { $0.finish() }, length: 10)
        let once = try await #require(throws: TransferError.self) { try await Upload(request, over: server, by: .tus).response() }
        #expect(once.code == .notReplayable)
        request.body = .stream(open: { _ in ScriptedBodySource(chunks: []) })
        let endless = try await #require(throws: TransferError.self) { try await Upload(request, over: server, by: .tus).response() }
        #expect(endless.code == .invalidRequest && server.requests.all.isEmpty)
    }

    @Test func aWrongRequestIsRefused() async throws {
        let server = UploadServer(.tus)
        let put = Upload(try Request(.put, url: "https://a.example/"), from: file, over: server, by: .tus)
        #expect(try await #require(throws: TransferError.self) { try await put.response() }.code == .invalidRequest)
        var request = try request()
        request.body = .text("x")
        let both = Upload(request, from: file, over: server, by: .tus)
        #expect(try await #require(throws: TransferError.self) { try await both.response() }.code == .invalidRequest)
        let missing = try upload(server, from: URL(fileURLWithPath: folder.file("missing")))
        await #expect(throws: FileReadError.self) { try await missing.response() }
        #expect(server.requests.all.isEmpty)
    }

    // MARK: Another run

    @Test(arguments: protocols) func anotherRunResumes(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        let first = try await breakOff(server, after: 30_000)
        #expect(first.resumption?.canContinue == true && first.resumption?.total == 100_000)
        let journal = try #require(try names.first { $0.hasPrefix("archive.zip.errand-upload-") })
        #expect(try names == ["archive.zip", journal])
        let path = folder.file(journal)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let text = String(decoding: try folder.read(journal), as: UTF8.self)
        #expect(!text.contains("Bearer") && !text.contains("secret") && !text.contains("/files"))
        _ = try await upload(server).response()
        #expect(server.contents == [content] && server.bytesReceived == content.count)
        #expect(server.offsets.last == "30000" && server.methods.filter { $0 == "POST" }.count == 1)
        #expect(try names == ["archive.zip"])
    }

    @Test(arguments: protocols) func aMovedFolderResumes(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        _ = try await breakOff(server, after: 30_000)
        let other = try TestFolder("moved")
        for name in try names { try FileManager.default.moveItem(atPath: folder.file(name), toPath: other.file(name)) }
        _ = try await upload(server, from: URL(fileURLWithPath: other.file("archive.zip"))).response()
        #expect(server.contents == [content] && server.offsets.last == "30000")
    }

    @Test func theJournalMayBeInAnotherFolder() async throws {
        let (server, journals) = (UploadServer(.tus), try TestFolder("journals"))
        let options = UploadOptions(journal: .folder(URL(fileURLWithPath: journals.path)))
        _ = try await breakOff(server, after: 30_000, options: options)
        #expect(try names == ["archive.zip"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: journals.path).count == 1)
        _ = try await upload(server, options: options).response()
        #expect(server.contents == [content] && server.offsets.last == "30000")
        #expect(try FileManager.default.contentsOfDirectory(atPath: journals.path).isEmpty)
    }

    @Test func theValueResumesWithoutAJournal() async throws {
        let (server, options) = (UploadServer(.resumable()), UploadOptions(journal: .none))
        let first = try await breakOff(server, after: 30_000, options: options)
        let data = try JSONEncoder().encode(first.resumption)
        #expect(try names == ["archive.zip"])
        let resumption = try JSONDecoder().decode(UploadResumption.self, from: data)
        _ = try await upload(server, options: options, resuming: resumption).response()
        #expect(server.contents == [content] && server.offsets == ["30000"])
    }

    @Test func theValueOfAnotherTargetIsNotUsed() async throws {
        let (server, options) = (UploadServer(.tus), UploadOptions(journal: .none))
        let first = try await breakOff(server, after: 30_000, options: options)
        let other = Upload(
            try request("/other"), from: file, over: server, by: .tus, options: options, resuming: first.resumption)
        _ = try await other.response()
        #expect(server.methods == ["POST", "PATCH", "POST", "PATCH"] && other.url?.path == "/uploads/2")
    }

    @Test func theSameObjectResumes() async throws {
        let server = UploadServer(.tus)
        let first = try await breakOff(server, after: 30_000, options: UploadOptions(journal: .none))
        _ = try await first.response()
        #expect(server.contents == [content] && server.offsets == ["0", "30000"])
    }

    @Test func anotherTargetIsAnotherUpload() async throws {
        let server = UploadServer(.tus)
        _ = try await breakOff(server, after: 30_000)
        _ = try await Upload(try request("/other"), from: file, over: server, by: .tus).response()
        #expect(server.methods.filter { $0 == "POST" }.count == 2)
        // A signed URL has another query each time.
        _ = try await Upload(try request("/files?signature=2"), from: file, over: server, by: .tus).response()
        #expect(server.offsets == ["0", "0", "30000"])
        #expect(try names == ["archive.zip"])
    }

    @Test(arguments: [true, false]) func aFileThatChangedBetweenRunsIsNotSpliced(_ keepsLength: Bool) async throws {
        let server = UploadServer(.tus)
        _ = try await breakOff(server, after: 30_000)
        let new = Data.seeded(keepsLength ? 100_000 : 60_000, seed: 2)
        try new.write(to: file)
        let error = try await #require(throws: TransferError.self) { try await upload(server).response() }
        guard case .upload(let resumption)? = error.resumption else { throw Unexpected() }
        #expect(error.code == .fileChanged && resumption.bytes == 0 && server.methods == ["POST", "PATCH"])
        _ = try await upload(server, options: UploadOptions(changedContent: .startAgain)).response()
        #expect(server.contents == [new] && server.methods == ["POST", "PATCH", "DELETE", "POST", "PATCH"])
    }

    @Test func aFileThatChangesDuringTheUploadFails() async throws {
        let (server, file) = (UploadServer(.tus), file)
        server.behavior.withLock { behavior in
            behavior.beforeRequest = { request in
                if request.headers[.uploadOffset] == "30000" { try Data.seeded(100_000, seed: 2).write(to: file) }
            }
        }
        let error = try await #require(throws: TransferError.self) {
            try await upload(server, options: UploadOptions(partBytes: 30_000)).response()
        }
        #expect(error.code == .fileChanged && server.contents.isEmpty)
    }

    @Test func anUnreadableJournalIsNamedOrReplaced() async throws {
        let server = UploadServer(.tus)
        _ = try await breakOff(server, after: 30_000)
        let name = try #require(try names.last)
        for text in ["", "{}", "[[[[", #"{"record":{"schema":2},"process":1}"#, String(repeating: "x", count: 70_000)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file(name))
            let error = try await #require(throws: TransferError.self) { try await upload(server).response() }
            #expect(error.code == .journalUnreadable && error.message.contains(name))
        }
        _ = try await upload(server, options: UploadOptions(unreadableJournal: .startAgain)).response()
        #expect(server.contents == [content])
        #expect(try names == ["archive.zip"])
    }

    @Test func oneUploadOwnsAJournal() async throws {
        let (server, begun, gate) = (UploadServer(.tus), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                begun.signal()
                try await gate.wait()
            }
        }
        let first = try upload(server)
        async let response = first.response()
        try await begun.wait()
        let busy = try await #require(throws: TransferError.self) { try await upload(UploadServer(.tus)).response() }
        #expect(busy.code == .busy)
        #expect(try await #require(throws: TransferError.self) { try await first.response() }.code == .busy)
        await #expect(throws: TransferError.self) { try await first.discard() }
        #expect(!first.state.phase.isFinal)
        gate.signal()
        _ = try await response
        #expect(server.contents == [content])
    }

    @Test(arguments: protocols) func discardCancelsTheUploadAtTheServer(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        let first = try await breakOff(server, after: 30_000)
        try await first.discard()
        #expect(server.methods.last == "DELETE" && server.files.withLock { $0.isEmpty } && first.resumption == nil)
        #expect(try names == ["archive.zip"])
    }

    @Test func discardNeedsNeitherTheFileNorTheServersConsent() async throws {
        let server = UploadServer(.tus)
        _ = try await breakOff(server, after: 30_000)
        try FileManager.default.removeItem(at: file)
        server.behavior.withLock { $0.change = { _, head, _ in head.status = .methodNotAllowed } }
        try await upload(server).discard()
        #expect(try names == [] && server.methods.last == "DELETE")
    }

    // MARK: Responses

    @Test(arguments: protocols) func aLostLastResponseIsFoundOut(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol, informs: false)
        server.behavior.withLock { $0.losses = [false, true] }
        let response = try await upload(server).response()
        #expect(server.contents == [content] && server.methods == ["POST", "PATCH", "HEAD"] && response.request.method == .head)
    }

    @Test func aLostResponseToAWholePostIsNotRepeated() async throws {
        let server = UploadServer(.resumable())
        server.behavior.withLock { ($0.informs, $0.losses) = (false, [true]) }
        let upload = try upload(server)
        await #expect(throws: TransportError.self) { try await upload.response() }
        #expect(server.methods == ["POST"] && server.contents == [content])
        // A PUT may be repeated.
        let other = UploadServer(.resumable())
        other.behavior.withLock { ($0.informs, $0.losses) = (false, [true]) }
        let put = Upload(
            try Request(.put, url: "https://a.example/x"), from: file, over: other, by: .resumable(),
            policy: TransferPolicy(backoff: .immediate))
        _ = try await put.response()
        #expect(other.methods == ["PUT", "PUT"])
    }

    @Test func aPostThatBrokeOffIsRepeated() async throws {
        let server = UploadServer(.resumable())
        server.behavior.withLock { ($0.informs, $0.cuts) = (false, [40_000]) }
        try large.write(to: file)
        _ = try await upload(server).response()
        #expect(server.methods == ["POST", "POST"] && server.contents == [large])
    }

    @Test(arguments: protocols) func aRemovedUploadMayBeComplete(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol, informs: false)
        server.behavior.withLock { behavior in
            behavior.losses = [false, true]
            behavior.beforeRequest = { request in
                if request.method == .head { server.files.withLock { $0 = [:] } }
            }
        }
        let upload = try upload(server)
        let error = try await #require(throws: TransferError.self) { try await upload.response() }
        #expect(error.code == .outcomeUnknown && server.methods == ["POST", "PATCH", "HEAD"] && upload.resumption == nil)
    }

    @Test(arguments: protocols) func anUnknownUploadStartsAgain(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        try large.write(to: file)
        _ = try await breakOff(server, after: 30_000)
        server.files.withLock { $0 = [:] }
        _ = try await upload(server).response()
        #expect(server.contents == [large] && server.methods.filter { $0 == "POST" }.count == 2)
    }

    @Test func aServerThatAlwaysForgetsEndsTheCall() async throws {
        let server = UploadServer(.tus)
        server.behavior.withLock { behavior in
            behavior.beforeRequest = { request in
                if request.method != .post { server.files.withLock { $0 = [:] } }
            }
        }
        let error = try await #require(throws: TransferError.self) { try await upload(server).response() }
        #expect(error.code == .unusableResponse)
        #expect(server.methods.filter { $0 == "POST" }.count == TransferBudget.maxRestarts + 1)
    }

    @Test(arguments: protocols) func unauthorizedKeepsTheRecord(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        _ = try await breakOff(server, after: 30_000)
        server.behavior.withLock { $0.change = { _, head, _ in head.status = .unauthorized } }
        let second = try upload(server)
        let error = try await #require(throws: StatusError.self) { try await second.response() }
        #expect(error.status == .unauthorized && second.resumption?.canContinue == true)
        #expect(try names.count == 2)
        server.behavior.withLock { $0.change = { _, _, _ in } }
        _ = try await second.response()
        #expect(server.contents == [content] && server.methods.filter { $0 == "POST" }.count == 1)
    }

    @Test func aFinalErrorOfTheResourceDropsTheRecord() async throws {
        let server = UploadServer(.resumable(), informs: false)
        server.behavior.withLock { behavior in
            behavior.change = { request, head, _ in
                if request.headers[.uploadComplete] == "?1" { head.status = .unprocessableContent }
            }
        }
        let upload = try upload(server)
        let error = try await #require(throws: StatusError.self) { try await upload.response() }
        #expect(error.status == .unprocessableContent && upload.resumption == nil && server.methods == ["POST", "PATCH"])
        #expect(try names == ["archive.zip"])
    }

    @Test(arguments: [409, 423, 460, 503]) func aTemporaryStatusIsTriedAgain(_ status: Int) async throws {
        let (server, count) = (UploadServer(.tus), Counter())
        server.behavior.withLock { behavior in
            behavior.change = { request, head, body in
                guard request.method == .patch, count.add() == 1 else { return }
                (head.status, body) = (.init(code: status), Data())
            }
        }
        _ = try await upload(server, options: UploadOptions(partBytes: 60_000)).response()
        #expect(server.contents == [content] && server.methods == ["POST", "PATCH", "HEAD", "PATCH"])
    }

    @Test func aBusyServerIsAskedAfterItsWait() async throws {
        let (server, count, clock) = (UploadServer(.tus), Counter(), ManualClock())
        server.behavior.withLock { behavior in
            behavior.change = { request, head, _ in
                guard request.method == .patch, count.add() == 1 else { return }
                head.status = .init(code: 423)
                head.headerFields[.retryAfter] = "7"
            }
        }
        let (request, file) = (try request(), file)
        let upload = Upload(
            Upload.Settings(
                sender: server, uploadProtocol: .tus, policy: TransferPolicy(backoff: .immediate), file: file,
                makeRequest: { _ in request },
                clock: clock))
        async let response = upload.response()
        var iterator = upload.states.makeAsyncIterator()
        while let state = await iterator.next() {
            guard case .waiting(let wait, _) = state.phase else { continue }
            #expect(wait == .seconds(7))
            break
        }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(7))
        _ = try await response
        #expect(server.methods == ["POST", "PATCH", "HEAD"])
    }

    @Test func aMismatchingOffsetIsCorrected() async throws {
        let (server, bytes) = (UploadServer(.resumable(), informs: false), content)
        server.behavior.withLock { behavior in
            behavior.beforeRequest = { request in
                guard request.headers[.uploadOffset] == "50000" else { return }
                server.files.withLock { $0["/uploads/1"]?.bytes = bytes.prefix(20_000) }
            }
        }
        _ = try await upload(server, options: UploadOptions(partBytes: 50_000)).response()
        #expect(server.contents == [content] && server.offsets == ["0", "50000", "20000", "70000"])
    }

    @Test(arguments: protocols) func aServerWithoutProgressEndsTheCall(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol, informs: false)
        server.behavior.withLock { behavior in
            behavior.change = { request, head, _ in
                guard request.method == .patch else { return }
                server.files.withLock { $0["/uploads/1"] = UploadServer.File(length: 100_000) }
                head.status = .noContent
                head.headerFields[.uploadOffset] = "0"
                head.headerFields[.uploadComplete] = nil
            }
        }
        let upload = try upload(
            server, policy: TransferPolicy(maxFailures: 3, backoff: .immediate), options: UploadOptions(partBytes: 50_000))
        let error = try await #require(throws: TransferError.self) { try await upload.response() }
        #expect(error.code == .unusableResponse && server.methods.filter { $0 == "PATCH" }.count == 4)
    }

    @Test func aServerWithoutTheProtocolIsNamed() async throws {
        let server = UploadServer(.resumable(), informs: false)
        server.behavior.withLock { behavior in
            behavior.change = { _, head, _ in head.headerFields = HTTPFields() }
        }
        let error = try await #require(throws: TransferError.self) { try await upload(server).response() }
        #expect(error.code == .notResumable && server.methods == ["POST"])
    }

    // MARK: Credentials

    @Test(arguments: protocols) func anotherOriginGetsNoCredentials(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        server.behavior.withLock { ($0.location, $0.cuts) = ("https://b.example/u/", [30_000]) }
        _ = try await upload(server).response()
        #expect(server.contents == [content])
        let others = server.requests.all.filter { $0.origin?.host == "b.example" }
        #expect(others.count >= 2 && others.allSatisfy { $0.headers[.authorization] == nil })
        #expect(server.requests.all[0].headers[.authorization] == "Bearer secret")
    }

    @Test func aLaterRunAlsoKeepsTheCredentials() async throws {
        let server = UploadServer(.tus)
        server.behavior.withLock { $0.location = "https://b.example/u/" }
        _ = try await breakOff(server, after: 30_000)
        _ = try await upload(server).response()
        #expect(server.requests.all.filter { $0.origin?.host == "b.example" }.allSatisfy { $0.headers[.authorization] == nil })
    }

    @Test func theRequestIsMadeAnew() async throws {
        let (server, count, file) = (UploadServer(.tus), Counter(), file)
        server.behavior.withLock { $0.cuts = [30_000] }
        let seen = RecordingList<Bool>()
        let upload = Upload(from: file, over: server, by: .tus, policy: TransferPolicy(backoff: .immediate)) { record in
            seen.record(record != nil)
            return try Request(.post, url: "https://a.example/files", headers: [.authorization: "Bearer \(count.add())"])
        }
        _ = try await upload.response()
        #expect(server.requests.all.map { $0.headers[.authorization] } == ["Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"])
        #expect(seen.all == [false, true, true, true])
    }

    /// A stack adds the authority, and refuses statuses.
    @Test(arguments: protocols) func aStackMayCompleteTheRequestAndRefuseStatuses(_ uploadProtocol: UploadProtocol) async throws {
        let server = UploadServer(uploadProtocol)
        let stack = server.wrapped(
            by: ClosureMiddleware { request, next in
                var request = request
                if request.head.authority == nil { (request.head.scheme, request.head.authority) = ("https", "a.example") }
                let response = try await next.send(request)
                guard response.status.kind == .successful else { throw try await StatusError(reading: response) }
                return response
            })
        var request = try Request(.post, "/files", headers: [.authorization: "Bearer secret"])
        request.options.timeout = .use(.nanoseconds(1))
        server.behavior.withLock { $0.cuts = [30_000] }
        let first = Upload(request, from: file, over: stack, by: uploadProtocol, policy: TransferPolicy(maxFailures: 0))
        await #expect(throws: TransportError.self) { try await first.response() }
        #expect(first.url?.description == "https://a.example/uploads/1")
        let second = Upload(request, from: file, over: stack, by: uploadProtocol, policy: TransferPolicy(backoff: .immediate))
        server.behavior.withLock { $0.change = { _, head, _ in head.status = .unauthorized } }
        #expect(try await #require(throws: StatusError.self) { try await second.response() }.status == .unauthorized)
        server.behavior.withLock { $0.change = { _, _, _ in } }
        _ = try await second.response()
        #expect(server.contents == [content] && server.requests.all.allSatisfy { $0.headers[.authorization] == "Bearer secret" })
    }

    @Test func anotherVersionOfTheDraftIsIgnored() async throws {
        let server = UploadServer(.resumable())
        server.behavior.withLock { ($0.version, $0.cuts) = ("7", [30_000]) }
        try large.write(to: file)
        _ = try await upload(server).response()
        // Without the URL of the first upload, the request is sent again.
        #expect(server.methods == ["POST", "POST"])
    }

    @Test func twoLocationsOfOneUploadAreAnError() async throws {
        let server = UploadServer(.resumable())
        server.behavior.withLock { behavior in
            behavior.change = { request, head, _ in
                guard request.method == .post else { return }
                (head.status, head.headerFields[.location], head.headerFields[.uploadComplete]) = (.created, "/uploads/2", "?0")
            }
        }
        let error = try await #require(throws: TransferError.self) { try await upload(server).response() }
        #expect(error.code == .unusableResponse)
    }

    // MARK: Pause and cancel

    @Test(arguments: protocols) func aPausedUploadResumes(_ uploadProtocol: UploadProtocol) async throws {
        let (server, begun, gate) = (UploadServer(uploadProtocol), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                guard server.bytesReceived > 0 else { return }
                begun.signal()
                try await gate.wait()
            }
        }
        // Chunks are smaller than the file, so that the pause comes between two chunks.
        try large.write(to: file)
        let upload = try upload(server)
        async let response = upload.response()
        try await begun.wait()
        upload.pause()
        for await state in upload.states { if case .paused = state.phase { break } }
        #expect(server.overlapCount == 0)
        server.behavior.withLock { $0.beforeChunk = {} }
        upload.resume()
        _ = try await response
        #expect(server.contents == [large] && server.overlapCount == 0)
    }

    @Test(arguments: protocols) func aCancelledUploadResumesInAnotherRun(_ uploadProtocol: UploadProtocol) async throws {
        let (server, begun, gate) = (UploadServer(uploadProtocol), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                guard server.bytesReceived > 0 else { return }
                begun.signal()
                try await gate.wait()
            }
        }
        try large.write(to: file)
        let upload = try upload(server)
        let task = Task { try await upload.response() }
        try await begun.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // The lock is free, and the journal is on the disk.
        #expect(try names.count == 2 && upload.resumption?.canContinue == true)
        server.behavior.withLock { $0.beforeChunk = {} }
        _ = try await self.upload(server).response()
        #expect(server.contents == [large] && server.methods.filter { $0 == "POST" }.count == 1)
    }

    @Test func aKilledRunResumes() async throws {
        // The journal is written while the creation is in progress. A copy of the folder at this time is what a kill leaves.
        let (server, begun, gate) = (UploadServer(.resumable()), Signal(), Signal())
        server.behavior.withLock { behavior in
            behavior.beforeChunk = {
                guard server.bytesReceived > 0 else { return }
                begun.signal()
                try await gate.wait()
            }
        }
        try large.write(to: file)
        let first = try upload(server)
        let task = Task { try await first.response() }
        try await begun.wait()
        await eventually { (try? names.contains { $0.hasSuffix(".json") }) == true }
        let other = try TestFolder("killed")
        for name in try names where name.hasSuffix(".json") || name.hasSuffix(".lock") {
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: other.file(name))
        }
        task.cancel()
        _ = try? await task.value
        server.behavior.withLock { $0.beforeChunk = {} }
        let second = try upload(server, options: UploadOptions(journal: .folder(URL(fileURLWithPath: other.path))))
        _ = try await second.response()
        #expect(server.contents == [large] && server.methods.filter { $0 == "POST" }.count == 1)
    }

    @Test func theStatesShowTheProgress() async throws {
        let server = UploadServer(.tus)
        let upload = try upload(server, options: UploadOptions(partBytes: 10_000))
        let states = upload.states
        async let response = upload.response()
        var bytes: [Int64] = []
        for await state in states { bytes.append(state.progress.bytes) }
        _ = try await response
        #expect(bytes == bytes.sorted() && bytes.last == 100_000)
        #expect(upload.state.progress.total == 100_000)
    }
}
