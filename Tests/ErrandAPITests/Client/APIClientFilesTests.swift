import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// Downloads to files, uploads, and their progress.
@Suite(.timeLimit(.minutes(5))) struct APIClientFilesTests {
    private let folder: TestFolder
    private var target: URL { URL(fileURLWithPath: folder.file("a.zip")) }
    private let reports = RecordingList<TransferProgress>()

    init() throws { folder = try TestFolder("client-files") }

    @MainActor private final class ProgressBar {
        var fraction = 0.0
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func client(_ stub: Stub..., wrap: (HTTPStack) -> HTTPStack = { $0 }) -> (APIClient, StubTransport) {
        let transport = StubTransport()
        for stub in stub { transport.add(stub) }
        return (APIClient(wrap(HTTPStack(transport)).server("https://a.example"), bodyLimitBytes: 4), transport)
    }

    private let archive = Endpoint<Void>.get("/archive")

    @Test func aDownloadIsAFileWithItsHead() async throws {
        let (client, stub) = client(Stub(.get, "/archive").responds(.stream(streamed, headers: [.eTag: "\"1\"", .contentLength: "11"])))
        let file = try await client.download(archive, to: target, progress: reports.record)
        #expect(try folder.read("a.zip") == Data("onetwothree".utf8))
        #expect(file.url == target && file.bytes == 11 && file.status == .ok && file.headers[.eTag] == "\"1\"")
        #expect(file.request.url?.description == "https://a.example/archive")
        #expect(file.description == "\(target.path) (11 bytes), 200 to GET https://a.example/archive")
        // Others come where the machine takes more than 100 ms.
        #expect(reports.all.first == TransferProgress(bytes: 0, total: 11))
        #expect(reports.all.last == TransferProgress(bytes: 11, total: 11))
        #expect(stub.openBodyCount == 0)
    }

    @Test func aURLThatIsNotAFileURLIsRefusedBeforeSending() async throws {
        try folder.write("s3cret", to: "a.zip")
        let (client, stub) = client(Stub().responds(.status(.ok, text: "new")))
        let web = try #require(URL(string: "https://b.example\(target.path)"))
        let plain = try #require(URL(string: target.path))
        for (url, scheme) in [(web, "https"), (plain, "missing")] {
            let problem = "the URL is not a file URL (its scheme is \(scheme)); create the URL with URL(filePath:)"
            let sent = await #expect(throws: FileReadError.self) { try await client.post("/x", body: .file(url)) }
            #expect(sent?.description == "POST /x: cannot read '\(target.path)': \(problem)")
            await #expect(throws: FileReadError.self) { try await client.upload("/x", body: .file(url), progress: reports.record) }
            #expect(throws: FileReadError.self) { try RequestBody.file(url) }
            let written = await #expect(throws: FileWriteError.self) { try await client.download(archive, to: url) }
            #expect(written?.description == "cannot write '\(target.path)': \(problem)")
            await #expect(throws: FileWriteError.self) { try await stub.download(try request(), to: url) }
        }
        #expect(stub.requests.isEmpty && reports.all.isEmpty)
        let response = try await stub.send(try request())
        await #expect(throws: FileWriteError.self) { try await response.body.write(to: web) }
        #expect(stub.openBodyCount == 0)
        #expect(try folder.read("a.zip") == Data("s3cret".utf8))
    }

    @Test func anErrorPageIsNotWritten() async throws {
        try folder.write("old", to: "a.zip")
        let (client, stub) = client(Stub().responds(.stream(streamed, status: .notFound)))
        let error = await #expect(throws: StatusError.self) { try await client.download(archive, to: target, progress: reports.record) }
        #expect(error?.bodyPrefix == Data("onetwothree".utf8))
        #expect(try folder.read("a.zip") == Data("old".utf8))
        #expect(try names == ["a.zip"])
        #expect(reports.all.isEmpty && stub.openBodyCount == 0)
    }

    @Test func aStackDownloadsAndJudgesTheStatusByTheRequestsRule() async throws {
        let stub = StubTransport(Stub().responds(.status(.notFound, text: "no"), .status(.notFound, text: "no"), .status(.ok, text: "yes")))
        var request = try request()
        await #expect(throws: StatusError.self) { try await stub.download(request, to: target) }
        #expect(try names == [])
        request.options.validateStatus = .off
        #expect(try await HTTPStack(stub).download(request, to: target).status == .notFound)
        #expect(try folder.read("a.zip") == Data("no".utf8))
        request.options.validateStatus = .use(.statuses([200]))
        let file = try await stub.validateStatus(.statuses([404])).download(request, to: target)
        #expect(file.bytes == 3 && file.request.id == request.id)
    }

    @Test func aRedirectIsFollowedAndACompressedBodyHasNoTotal() async throws {
        let (client, _) = client(
            Stub(.get, "/archive").responds(.redirect(to: "/b")),
            Stub(.get, "/b").responds(.stream(streamed, headers: [.contentLength: "11"]))
        ) {
            $0.transformResponse("double") { response in
                if response.status == .ok { response.body = response.body.transformed(by: DoublingTransform()) }
            }.redirect()
        }
        let file = try await client.download(archive, to: target, progress: reports.record)
        #expect(file.bytes == 22 && file.request.head.path == "/b")
        #expect(reports.all.first == TransferProgress(bytes: 0, total: nil))
        #expect(reports.all.last == TransferProgress(bytes: 22, total: 22))
    }

    @Test func aFileThatCannotBeWrittenFailsTheCallAndIsSeenByItsObservers() async throws {
        let profile = CallProfile()
        let (client, stub) = client(Stub().responds(.stream(streamed))) { $0.profile() }
        let target = URL(fileURLWithPath: folder.file("missing/a.zip"))
        await #expect(throws: FileWriteError.self) {
            try await client.download(archive.with(\.profile, .use(profile)), to: target)
        }
        #expect(profile.result == "FileWriteError")
        #expect(stub.openBodyCount == 0)
    }

    @Test func anUploadReportsEachAttempt() async throws {
        let (client, stub) = client(Stub(.put, "/photos/1").responds(.status(.serviceUnavailable), .status(.ok, text: "7"))) {
            $0.retry(RetryPolicy(backoff: .immediate))
        }
        let photo = Endpoint<Int>.put("/photos/1", body: .data(Data(count: 5), contentType: "image/png"))
        #expect(try await client.upload(photo, progress: reports.record) == 7)
        let attempt = [TransferProgress(bytes: 0, total: 5), TransferProgress(bytes: 5, total: 5)]
        #expect(reports.all == attempt + attempt)
        #expect(stub.requests.map(\.body) == [Data(count: 5), Data(count: 5)])
        #expect(stub.requests.last?.request.headers[.contentType] == "image/png")
    }

    @Test func aFileIsUploadedWithProgress() async throws {
        let path = try folder.write(Data(count: 300_000), to: "photo.jpg")
        let (client, stub) = client(Stub(.post, "/photos").responds(.status(.created)))
        let photo = Endpoint<Void>.post("/photos", body: .file(URL(fileURLWithPath: path), contentType: "image/jpeg"))
        try await client.upload(photo, progress: reports.record)
        #expect(reports.all.first == TransferProgress(bytes: 0, total: 300_000))
        #expect(reports.all.last == TransferProgress(bytes: 300_000, total: 300_000))
        #expect(stub.requests.first?.body.count == 300_000)
    }

    @Test func aPathIsDownloadedAndUploadedLikeAnEndpoint() async throws {
        let (client, stub) = client(
            Stub(.get, "/archives/7").query("v", "2").responds(.stream(streamed)),
            Stub(.put, "/photos/1").responds(.status(.ok, text: "7"), .status(.noContent)),
            Stub(.post, "/photos").responds(.status(.ok, text: "8")))
        let file = try await client.download(
            "/archives/\(7, "id")", to: target, query: ["v": 2], headers: [.eTag: "x"], timeout: .seconds(900), progress: reports.record)
        #expect(file.bytes == 11 && reports.all.last?.bytes == 11)
        let sent = try #require(stub.requests.last?.request)
        #expect(sent.headers[.eTag] == "x" && sent.options.timeout == .use(.seconds(900)) && sent.options.urlTemplate == "/archives/{id}")
        let bytes = EndpointBody.data(Data(count: 5), contentType: "image/png")
        let number: Int = try await client.upload("/photos/1", method: .put, body: bytes, progress: reports.record)
        try await client.upload("/photos/1", method: .put, query: ["a": 1], body: bytes, timeout: .seconds(800)) { _ in }
        #expect(
            stub.requests.last?.request.options.timeout == .use(.seconds(800)) && stub.requests.last?.request.head.path == "/photos/1?a=1")
        #expect(try await client.upload("/photos", body: bytes, as: Int.self) { _ in } == 8)
        #expect(number == 7 && reports.all.last == TransferProgress(bytes: 5, total: 5))
        #expect(stub.requests.last?.headers[.contentType] == "image/png" && stub.requests.last?.body.count == 5)
    }

    /// The closure changes the state of the main actor without a task and without a sequence.
    @Test @MainActor func progressKeepsTheActorOfItsCaller() async throws {
        let (client, _) = client(
            Stub(.post).responds(.json(8)), Stub(.get).responds(.stream(streamed, headers: [.contentLength: "11"]), repeatingLast: true))
        let bar = ProgressBar()
        let file = try await client.download(archive, to: target) { bar.fraction = $0.fraction ?? 0 }
        #expect(file.bytes == 11 && bar.fraction == 1)

        bar.fraction = 0
        let photo = EndpointBody.data(Data(count: 5), contentType: "image/png")
        let number: Int = try await client.upload("/photos", body: photo) { bar.fraction = $0.fraction ?? 0 }
        #expect(number == 8 && bar.fraction == 1)

        bar.fraction = 0
        _ = try await client.stack.download(Request(.get, url: "https://a.example/archive"), to: target) { bar.fraction = $0.fraction ?? 0 }
        #expect(bar.fraction == 1)
    }

    @Test(.timeLimit(.minutes(5))) func cancellingEndsTheReports() async throws {
        let (client, stub) = client(Stub().responds(.never))
        let (archive, url) = (archive, target)
        let call = Task { try await client.download(archive, to: url) { _ in } }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(stub.openBodyCount == 0 && !FileManager.default.fileExists(atPath: url.path))
    }
}
