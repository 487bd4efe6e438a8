import Errand
import ErrandMockServer
import Foundation
import Testing

@testable import ErrandCommand

/// The command `errand download`, with servers that break off.
@Suite(.timeLimit(.minutes(5)), .serialized) struct DownloadCommandTests {
    private func inFolder(_ body: (Folder) async throws -> Void) async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: url) }
        try await body(Folder(url: url))
    }

    /// The folder of a test.
    private struct Folder {
        let url: URL
        /// The names of its files.
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

        func path(_ name: String) -> String { url.appendingPathComponent(name).path }
        func data(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }
        func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: url.appendingPathComponent(name)) }

        func run(_ arguments: String...) async throws -> CommandProcess.Outcome {
            try await CommandProcess(["download"] + arguments, in: url).outcome()
        }
    }

    private func withServer(
        _ server: @autoclosure () throws -> FileServer = try FileServer(), _ body: (FileServer, Folder) async throws -> Void
    ) async throws {
        let server = try server()
        defer { server.stop() }
        try await inFolder { try await body(server, $0) }
    }

    // MARK: - Whole downloads

    @Test func aFileIsDownloaded() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/x/a.bin?y=1")
            #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.errors)")
            #expect(folder.names == ["a.bin"])
            #expect(try folder.data("a.bin") == server.content)
            let lines = outcome.errors.split(separator: "\n")
            #expect(lines.first == "a.bin: begins, 300.0 kB" && lines.last?.hasPrefix("a.bin: 300.0 kB in ") == true, "\(outcome.errors)")
            #expect(!outcome.errors.contains("\u{1B}"))
            #expect(server.requests[0].lowercased().contains("accept-encoding: identity\r\n"))
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path("a.bin"))[.posixPermissions] as? Int
            #expect(mode == Int(ResponseOutput.permissions))
        }
    }

    @Test func nothingIsShownWithSilent() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            #expect(try await folder.run("-s", "\(server.url)/a").errors.isEmpty)
            let missing = try await folder.run("-s", "http://127.0.0.1:1/b")
            #expect(missing.status == 6 && missing.errors.isEmpty)
            #expect(try await folder.run("-sS", "http://127.0.0.1:1/b").errors.contains("cannot connect"))
            #expect(folder.names == ["a"])
        }
    }

    @Test func severalFilesAreDownloadedAtTheSameTime() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            let names = ["a", "b", "c", "d", "e"]
            try FileManager.default.createDirectory(atPath: folder.path("all"), withIntermediateDirectories: false)
            let outcome = try await CommandProcess(
                ["download", "--output-dir", "all"] + names.map { "\(server.url)/\($0)" }, in: folder.url
            ).outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
            for name in names { #expect(try folder.data("all/\(name)") == server.content) }
            #expect(folder.names == ["all"] && server.requests.count == 5)
        }
    }

    @Test(arguments: [
        ("attachment; filename=\"report.pdf\"", "report.pdf"), ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename*=UTF-8''%e2%82%ac.txt", "€.txt"), ("attachment", "a.bin"), ("inline; filename=\".bashrc\"", "bashrc"),
    ]) func theResponseNamesTheFile(disposition: String, name: String) async throws {
        try await withServer(try FileServer(fields: ["Content-Disposition: \(disposition)"])) {
            (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a.bin")
            #expect(outcome.status == 0 && folder.names == [name], "\(outcome.errors) \(folder.names)")
            #expect(outcome.errors.contains("\(name): 300.0 kB in"), "\(outcome.errors)")
        }
    }

    @Test func anExistingFileWithTheNameOfTheResponseStays() async throws {
        try await withServer(try FileServer(fields: ["Content-Disposition: attachment; filename=b"])) {
            (server: FileServer, folder: Folder) async throws in
            try folder.write("mine", to: "b")
            let outcome = try await folder.run("\(server.url)/a")
            #expect(outcome.status == 23 && outcome.errors.contains("errand: 'b' exists. --force replaces the file"), "\(outcome.errors)")
            #expect(folder.names == ["b"])
            #expect(try folder.data("b") == Data("mine".utf8))
            let twice = try await folder.run("--force", "\(server.url)/a", "\(server.url)/c")
            #expect(twice.status == 23 && twice.errors.contains("another URL of this command has the same file 'b'"), "\(twice.errors)")
            #expect(try folder.data("b") == server.content)
        }
    }

    @Test func theOptionNamesTheFile() async throws {
        try await withServer(try FileServer(fields: ["Content-Disposition: attachment; filename=b"])) {
            (server: FileServer, folder: Folder) async throws in
            #expect(try await folder.run("-o", "mine", "\(server.url)/a").status == 0)
            #expect(folder.names == ["mine"])
        }
    }

    @Test func anExistingFileIsReplacedOnlyWithForce() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            try folder.write("mine", to: "a")
            let refused = try await folder.run("\(server.url)/a", "\(server.url)/b")
            #expect(refused.status == 23 && refused.errors.contains("'a' exists. --force replaces the file"), "\(refused.errors)")
            #expect(server.requests.isEmpty)
            #expect(try folder.data("a") == Data("mine".utf8))
            let skipped = try await folder.run("-C", "-", "\(server.url)/a", "\(server.url)/b")
            #expect(skipped.status == 0 && skipped.errors.contains("'a' exists, and nothing was downloaded"), "\(skipped.errors)")
            #expect(try folder.data("a") == Data("mine".utf8))
            #expect(try folder.data("b") == server.content)
            #expect(try await folder.run("--force", "\(server.url)/a").status == 0)
            #expect(try folder.data("a") == server.content)
        }
    }

    // MARK: - Failures

    @Test(arguments: [
        ("404 Not Found", 4), ("503 Service Unavailable", 5), ("302 Found\r\nLocation: /b", 6), ("401 Unauthorized", 4),
    ]) func anErrorPageIsNoFile(status: String, code: Int32) async throws {
        try await withServer(try FileServer(endings: [.status(status)])) { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a?token=s3cret")
            #expect(outcome.status == code && folder.names.isEmpty, "\(outcome.errors)")
            #expect(outcome.errors.hasPrefix("errand: GET \(server.url)/a?token=REDACTED: status \(status.prefix(3))"), "\(outcome.errors)")
            #expect(server.requests.count == 1 && !outcome.errors.contains("s3cret") && !outcome.errors.contains("to continue"))
            if code == 6 { #expect(outcome.errors.contains("Follow the redirect with -L")) }
            if status.hasPrefix("401") { #expect(outcome.errors.contains("-u USER:PASSWORD")) }
        }
    }

    @Test func aTemporaryStatusIsRepeatedWithRetry() async throws {
        try await withServer(try FileServer(endings: [.status("503 Busy"), .status("503 Busy")])) {
            (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("--retry", "2", "--retry-delay", "0.2", "\(server.url)/a")
            #expect(outcome.status == 0 && server.requests.count == 3, "\(outcome.errors)")
            #expect(outcome.errors.contains("a: status 503 Busy; continues in 0.2 s"), "\(outcome.errors)")
        }
        try await withServer(try FileServer(endings: Array(repeating: .status("503 Busy"), count: 5))) {
            (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("--retry", "2", "--retry-delay", "0.2", "\(server.url)/a")
            #expect(outcome.status == 5 && server.requests.count == 3 && folder.names.isEmpty, "\(outcome.errors)")
        }
    }

    /// The exit status is that of the first failure in the order of the URLs, and the other files are complete.
    @Test func oneFailureDoesNotEndTheOtherDownloads() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("http://127.0.0.1:1/a", "\(server.url)/b", "\(server.url)/c")
            #expect(outcome.status == 6 && folder.names == ["b", "c"], "\(outcome.errors)")
        }
    }

    // MARK: - Continuing

    @Test func aLostConnectionIsContinued() async throws {
        try await withServer(try FileServer(endings: [.closed(after: 100_000), .closed(after: 50_000)])) {
            (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(folder.names == ["a"])
            #expect(try folder.data("a") == server.content)
            #expect(server.ranges == ["", "bytes=100000-", "bytes=150000-"])
            #expect(server.requests[1].contains("\r\nIf-Range: \"1\"\r\n"))
            #expect(outcome.errors.contains(#/\na: connection lost.*; continues in 0\.[0-9]+ s\n/#), "\(outcome.errors)")
        }
    }

    @Test func theNextRunContinues() async throws {
        let endings: [FileServer.Ending] = [.closed(after: 100_000), .status("403 Forbidden")]
        try await withServer(try FileServer(endings: endings)) { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a?token=s3cret", "-H", "X-A: b")
            #expect(outcome.status == 4 && folder.names == ["a.errand-part", "a.errand-part.json"], "\(outcome.errors)")
            #expect(outcome.errors.contains("errand: 'a.errand-part' has 100.0 kB of 300.0 kB\n"), "\(outcome.errors)")
            let command = "errand download -C - '\(server.url)/a?token=REDACTED' -H 'X-A: b'"
            #expect(
                outcome.errors.contains("errand: to continue, run: \(command)   (put the secrets in place of REDACTED)\n"),
                "\(outcome.errors)")
            #expect(
                outcome.errors.hasSuffix("errand: to discard the bytes, run: rm a.errand-part a.errand-part.json\n"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("s3cret"))
            let refused = try await folder.run("\(server.url)/a")
            #expect(
                refused.status == 23
                    && refused.errors
                        == "errand: 'a.errand-part' has 100.0 kB of an earlier download. -C - continues the download, and --force discards the bytes "
                        + "and starts again\n",
                "\(refused.errors)")
            #expect(server.requests.count == 2)
            let next = try await folder.run("-C", "-", "\(server.url)/a")
            #expect(next.status == 0 && next.errors.hasPrefix("a: continues at 100.0 kB of 300.0 kB\n"), "\(next.errors)")
            #expect(folder.names == ["a"])
            #expect(try folder.data("a") == server.content)
            #expect(server.ranges.last == "bytes=100000-")
        }
    }

    @Test func forceDiscardsAPartialFile() async throws {
        let endings: [FileServer.Ending] = [.closed(after: 100_000), .status("403 Forbidden")]
        try await withServer(try FileServer(endings: endings)) { (server: FileServer, folder: Folder) async throws in
            #expect(try await folder.run("\(server.url)/a").status == 4)
            #expect(try await folder.run("--force", "\(server.url)/a").status == 0)
            #expect(server.ranges.last == "")
            #expect(folder.names == ["a"])
            #expect(try folder.data("a") == server.content)
        }
    }

    @Test func aServerThatCannotContinueIsNamed() async throws {
        let endings: [FileServer.Ending] = [.closed(after: 100_000), .status("403 Forbidden")]
        try await withServer(try FileServer(endings: endings, validator: nil)) { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a")
            #expect(outcome.errors.contains("the next run starts from the first byte"), "\(outcome.errors)")
            #expect(try await folder.run("--continue", "\(server.url)/a").status == 0)
            #expect(server.ranges.last == "")
            #expect(try folder.data("a") == server.content)
        }
    }

    @Test func theMaximumTimeEndsADownload() async throws {
        try await withServer(try FileServer(endings: [.silent(after: 100_000)])) { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("-m", "2", "\(server.url)/a")
            #expect(outcome.status == 6 && outcome.errors.contains("errand: --max-time 2 s passed"), "\(outcome.errors)")
            #expect(outcome.errors.contains("to continue, run: errand download -C - -m 2 \(server.url)/a\n"), "\(outcome.errors)")
            #expect(try await folder.run("-C", "-", "-m", "20", "\(server.url)/a").status == 0)
            #expect(server.ranges == ["", "bytes=100000-"])
            #expect(try folder.data("a") == server.content)
        }
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func aSignalLeavesAStateThatContinues(signal: Int32, code: Int32) async throws {
        try await withServer(try FileServer(bytes: 900_000, endings: [.silent(after: 600_000)])) {
            (server: FileServer, folder: Folder) async throws in
            let process = try CommandProcess(["download", "\(server.url)/a"], in: folder.url)
            await process.waitForError(containing: "a: begins")
            // The command writes 256 KiB at once.
            while FolderSize.bytes(of: folder.path("a.errand-part")) < 524_288 { try await Task.sleep(for: .milliseconds(20)) }
            kill(process.process.processIdentifier, signal)
            let outcome = try await process.outcome()
            #expect(outcome.status == code, "\(outcome.errors)")
            #expect(outcome.errors.contains("errand: to continue, run: errand download -C - \(server.url)/a\n"), "\(outcome.errors)")
            #expect(folder.names == ["a.errand-part", "a.errand-part.json"])
            #expect(try await folder.run("-C", "-", "\(server.url)/a").status == 0)
            let range = server.ranges.last ?? ""
            #expect(["bytes=524288-", "bytes=600000-"].contains(range) && folder.names == ["a"], "\(range)")
            #expect(try folder.data("a") == server.content)
        }
    }

    @Test func aKilledCommandIsContinued() async throws {
        try await withServer(try FileServer(bytes: 2_000_000, endings: [.silent(after: 1_500_000)])) {
            (server: FileServer, folder: Folder) async throws in
            let process = try CommandProcess(["download", "\(server.url)/a"], in: folder.url)
            await process.waitForError(containing: "a: begins")
            func journal() -> String { (try? String(contentsOfFile: folder.path("a.errand-part.json"), encoding: .utf8)) ?? "" }
            while !journal().contains(#/"bytes"\s*:\s*[1-9]/#) { try await Task.sleep(for: .milliseconds(20)) }
            kill(process.process.processIdentifier, SIGKILL)
            #expect(try await process.outcome().status == 128 + SIGKILL)
            #expect(try await folder.run("-C", "-", "\(server.url)/a").status == 0)
            #expect(server.ranges.last?.isEmpty == false)
            #expect(folder.names == ["a"])
            #expect(try folder.data("a") == server.content)
        }
    }

    // MARK: - A terminal

    @Test(
        .enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"),
        arguments: [
            ("TERM=xterm", true), ("TERM=dumb", false), ("TERM=xterm NO_COLOR=1", false),
        ]) func aTerminalShowsBars(environment: String, hasBars: Bool) async throws
    {
        try await withServer(try FileServer(endings: [.closed(after: 100_000)])) { (server: FileServer, folder: Folder) async throws in
            let outcome = try await CommandProcess.onATerminal(
                "download --output-dir \(folder.url.path) \(server.url)/a", environment: environment)
            #expect(outcome.status == 0, "\(outcome.text)")
            #expect(outcome.text.contains("\u{1B}[") == hasBars && outcome.text.contains("a: begins") != hasBars, "\(outcome.text)")
            #expect(outcome.text.contains("/a: 300.0 kB in"), "\(outcome.text)")
        }
    }

    // MARK: - Arguments

    @Test(
        arguments: [
            (["-d", "a=b"], "--data has no meaning for downloads"), (["--compressed"], "--compressed has no meaning"),
            (["-r", "0-9"], "-C - continues a download"), (["-O"], "--remote-name has no meaning"),
            (["-C", "5"], "--continue-at must be '-'"),
            (["-o", "-"], "'errand get URL' writes to standard output"), (["-o", "/dev/null"], "--output must be a file"),
            (["-o", "x", "http://127.0.0.1:1/b"], "there are 2 URLs"), (["-o", "x", "--output-dir", "y"], "do not go together"),
            (["--cache", "x"], "--cache has no meaning"), (["-I"], "'errand head'"), (["https://u:s3cret@a.example/"], "-u USER:PASSWORD"),
        ] as [([String], String)]) func anOptionWithoutMeaningIsRefused(words: [String], text: String) async throws
    {
        try await inFolder { (folder: Folder) async throws in
            let outcome = try await CommandProcess(["download", "http://127.0.0.1:1/a"] + words, in: folder.url).outcome()
            #expect(outcome.status == 64 && outcome.errors.contains(text), "\(outcome.errors)")
            #expect(outcome.errors.contains("Usage: errand download ") && !outcome.errors.contains("s3cret") && folder.names.isEmpty)
        }
    }

    @Test func twoURLsWithOneNameAreRefused() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run("\(server.url)/a", "\(server.url)/x/a")
            #expect(
                outcome.status == 23 && outcome.errors.contains("another URL of this command has the same file 'a'"), "\(outcome.errors)")
            #expect(server.requests.isEmpty)
        }
    }

    @Test func theOptionsOfOtherRequestsApply() async throws {
        try await withServer { (server: FileServer, folder: Folder) async throws in
            let outcome = try await folder.run(
                "\(server.url)/a", "-u", "joe:pw", "-H", "X-A: b", "-b", "id=1", "-A", "me", "-q", "page=2", "--http1.1", "-v")
            #expect(outcome.status == 0, "\(outcome.errors)")
            let request = try #require(server.requests.first)
            #expect(request.hasPrefix("GET /a?page=2 HTTP/1.1\r\n"), "\(request)")
            for line in ["Authorization: Basic am9lOnB3", "X-A: b", "Cookie: id=1", "User-Agent: me"] {
                #expect(request.contains("\r\n\(line)\r\n"), "\(line): \(request)")
            }
            #expect(outcome.errors.contains("> GET /a?page=2 HTTP/1.1") && !outcome.errors.contains("am9lOnB3"), "\(outcome.errors)")
        }
        try await inFolder { (folder: Folder) async throws in
            try await withDemoServer { (url: String) async throws in
                let outcome = try await CommandProcess.run(
                    "download", "-L", "\(url)/redirect/1", "\(url)/download?bytes=70000", in: folder.url)
                #expect(outcome.status == 0 && folder.names.count == 2, "\(outcome.errors)")
            }
        }
    }
}

/// The length of a file.
enum FolderSize {
    static func bytes(of path: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue ?? 0
    }
}
