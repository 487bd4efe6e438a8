import Foundation
import Testing

@testable import ErrandCommand

/// The command `errand upload`.
@Suite(.timeLimit(.minutes(5)), .serialized) struct UploadCommandTests {
    private static let content = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) })

    /// Runs `body` in a folder with the file `a.bin`.
    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.content.write(to: folder.appendingPathComponent("a.bin"))
        try await body(folder)
    }

    private func names(_ folder: URL) -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted() }

    private func withTus(cutAfter limit: Int? = nil, _ body: (TusServer, URL) async throws -> Void) async throws {
        let server = try TusServer(cutAfter: limit)
        defer { server.stop() }
        try await inFolder { try await body(server, $0) }
    }

    @Test func aFileIsUploadedByTus() async throws {
        try await withTus { (server: TusServer, folder: URL) async throws in
            let outcome = try await CommandProcess.run("upload", "--tus", "a.bin", server.url, "-H", "X-A: b", in: folder)
            #expect(outcome.status == 0 && outcome.text == "\(server.url)1\n", "\(outcome)")
            #expect(outcome.errors.contains("a.bin: 900.0 kB in "), "\(outcome.errors)")
            #expect(server.content == Self.content && names(folder) == ["a.bin"])
            let head = server.requests.first ?? ""
            #expect(head.contains("\r\nUpload-Metadata: filename YS5iaW4=,filetype ") && head.contains("\r\nX-A: b"), "\(head)")
        }
    }

    @Test func aLostConnectionIsContinued() async throws {
        try await withTus(cutAfter: 300_000) { (server: TusServer, folder: URL) async throws in
            let outcome = try await CommandProcess.run("upload", "--tus", "a.bin", server.url, in: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(server.content == Self.content && server.requests.contains { $0.contains("\r\nUpload-Offset: 300000") })
        }
    }

    @Test func theNextRunContinues() async throws {
        try await withTus(cutAfter: 300_000) { (server: TusServer, folder: URL) async throws in
            let words = ["upload", "--tus", "a.bin", server.url + "?token=s3cret", "--retry", "0"]
            let first = try await CommandProcess(words, in: folder).outcome()
            #expect(first.status == 6 && names(folder).count == 2, "\(first.errors)")
            #expect(
                first.errors.contains("errand: to continue, run: errand upload --tus a.bin '\(server.url)?token=REDACTED' --retry 0"),
                "\(first.errors)")
            #expect(!first.errors.contains("s3cret"))
            let next = try await CommandProcess(words, in: folder).outcome()
            #expect(next.status == 0 && server.content == Self.content && names(folder) == ["a.bin"], "\(next.errors)")
            #expect(server.requests.count { $0.hasPrefix("POST") } == 1)
        }
    }

    /// A server without uploads that resume gets a normal request.
    @Test func theDraftSendsTheFileAsTheBody() async throws {
        try await inFolder { (folder: URL) async throws in
            try Data("hello".utf8).write(to: folder.appendingPathComponent("b"))
            try await withRawServer(response: "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ndone") { (server: RawServer) async throws in
                let outcome = try await CommandProcess.run("upload", "b", server.url + "/x", "-X", "PUT", in: folder)
                #expect(outcome.status == 0 && outcome.text == "done", "\(outcome.errors)")
                #expect(server.lastHead.first == "PUT /x HTTP/1.1" && server.lastHead.contains("Upload-Complete: ?1"), "\(server.lastHead)")
                #expect(server.requests.last?.hasSuffix("\r\n\r\nhello") == true)
            }
        }
    }

    @Test(arguments: [
        (["-F", "a=b"], "A multipart form can't continue where it stopped"),
        (["-d", "a"], "--data has no meaning for uploads that resume"),
        (["--tus", "--resumable"], "do not go together"), (["--tus", "-X", "PUT"], "tus sends POST"),
        (["-X", "GET"], "--request must be POST, PUT or PATCH"), (["-C", "9"], "--continue-at must be '-'"),
    ]) func anOptionWithoutMeaningIsRefused(words: [String], text: String) async throws {
        try await inFolder { (folder: URL) async throws in
            let outcome = try await CommandProcess(["upload", "a.bin", "http://127.0.0.1:1/"] + words, in: folder).outcome()
            #expect(outcome.status == 64 && outcome.errors.contains(text), "\(outcome.errors)")
            #expect(outcome.errors.contains("Usage: errand upload "))
        }
    }

    @Test func onlyAFileIsUploaded() async throws {
        for (file, text) in [
            ("none", "there is no file 'none'"), ("-", "only a file"), ("/dev/null", "only a file"),
            ("http://a.example", "the file comes before"),
        ] {
            let outcome = try await CommandProcess.run("upload", file, "http://127.0.0.1:1/")
            #expect(outcome.status == 64 && outcome.errors.contains(text), "\(outcome.errors)")
        }
    }
}
