import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

@Suite(.timeLimit(.minutes(5)), .serialized) struct CommandTests {
    private func temporary(_ name: String) -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)-\(name)")
    }

    // MARK: - Exit status

    @Test(arguments: [(200, 0), (204, 0), (304, 0), (404, 4), (418, 4), (500, 5), (503, 5)])
    func theExitStatusFollowsTheClassOfTheStatus(code: Int, expected: Int32) async throws {
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("get", "\(url)/status/\(code)").status == expected)
        }
    }

    /// As curl does it.
    @Test(arguments: [200, 404, 503]) func everyStatusIsASuccessOnDemand(code: Int) async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "--no-fail", "\(url)/status/\(code)", "-w", "%{http_code}")
            #expect(outcome.status == 0 && outcome.text.hasSuffix("\(code)"))
        }
        #expect(try await CommandProcess.run("get", "--no-fail", "http://127.0.0.1:1/").status == 6)
        #expect(try await CommandProcess.run("get", "--no-fail", "-f", "http://127.0.0.1:1/").status == 64)
    }

    @Test func aRefusedConnectionIsOneLineAndStatusSix() async throws {
        let outcome = try await CommandProcess.run("get", "http://127.0.0.1:1/?token=s3cret")
        #expect(outcome.status == 6)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("errand: GET http://127.0.0.1:1/?token=REDACTED: cannot connect"))
        #expect(outcome.errors.hasSuffix("(not sent). Is a server listening on this port?\n"))
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        ["get"], ["get", "ftp://a.example/"], ["get", "http://"], ["get", "http://user:pw@127.0.0.1/"], ["get", "http://127.0.0.1:99999/"],
        ["get", "--no-such-flag", "http://127.0.0.1/"], ["post", "http://127.0.0.1/", "-d", "a", "-F", "b=c"],
        ["put", "http://127.0.0.1/", "-T", "/no/such/file"], ["get", "http://127.0.0.1/", "-H", "no colon"],
        ["get", "http://127.0.0.1/", "--cert", "x"], ["-X", "B AD", "http://127.0.0.1/"], ["get", "http://127.0.0.1/", "--max-time", "-1"],
        ["get", "http://127.0.0.1/", "-H", "X: a\r\nEvil: b"], ["get", "http://127.0.0.1/", "--wait-for-network", "0"],
        ["get", "http://127.0.0.1/", "--wait-for-network", "inf"],
        ["get", "http://127.0.0.1/", "--wait-for-network", "5", "--unix-socket", "/s"],
        ["events", "http://127.0.0.1/", "--silence", "inf"], ["events", "http://127.0.0.1/", "--silence", "1e30"],
        ["events", "http://127.0.0.1/", "--count", "0"], ["events", "http://127.0.0.1/", "--max-reconnects", "-1"],
        ["events", "http://127.0.0.1/", "-o", "x"], ["events", "http://127.0.0.1/", "-I"], ["events", "http://127.0.0.1/", "--retry", "2"],
        ["events", "http://127.0.0.1/", "--last-event-id", "a\r\nX-Evil: 1"],
    ]) func invalidArgumentsAreAUsageError(arguments: [String]) async throws {
        let outcome = try await CommandProcess(arguments).outcome()
        #expect(outcome.status == 64)
        #expect(outcome.output.isEmpty)
        #expect(!outcome.errors.isEmpty && !outcome.errors.contains("user:pw"))
    }

    @Test func aTimeoutNamesItsPhase() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "\(url)/slow", "--max-time", "0.3")
            #expect(outcome.status == 6)
            #expect(outcome.errors.contains("timed out") && outcome.errors.contains("response"))
            #expect(outcome.errors.contains(/after \d+ ms/))
            #expect(outcome.errors.contains("(may have been sent)"))
            #expect(outcome.errors.contains("--max-time"))
        }
    }

    @Test func eventsAreReadOverSeveralConnections() async throws {
        try await withDemoServer { (url: String) async throws in
            let all = try await CommandProcess.run("events", "\(url)/events?count=2&each=1")
            #expect(all.status == 0)
            #expect(all.text == (1...2).map { "id: \($0)\nevent: tick\ndata: {\"number\":\($0)}\n\n" }.joined())
            #expect(all.errors.contains("the server has ended the stream; waiting for"))
            // Once.
            #expect(all.errors.components(separatedBy: "Ctrl-C ends the command; with --max-reconnects 0").count == 2, "\(all.errors)")
            #expect(all.errors.components(separatedBy: "then it connects again").count > 2, "\(all.errors)")
            let one = try await CommandProcess.run(
                "events", "\(url)/events", "--count", "1", "--data-only", "--last-event-id", "3", "--max-reconnects", "0")
            #expect(one.status == 0 && one.text == "{\"number\":4}\n" && one.errors.isEmpty)
            let refused = try await CommandProcess.run("events", "\(url)/status/404")
            #expect(refused.status == 4 && refused.errors.contains("404"))
            let other = try await CommandProcess.run("events", "\(url)/lines")
            #expect(other.status == 6 && other.errors.contains("not an event stream"))
        }
    }

    @Test func anEventStreamEndsAfterTheMaximumTime() async throws {
        try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n") {
            (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("events", server.url, "--max-time", "1")
            #expect(outcome.status == 6 && outcome.text == "data: a\n\n", "\(outcome)")
            #expect(
                outcome.errors.contains("the deadline of the request passed") || outcome.errors.contains("timed out"), "\(outcome.errors)")
            #expect(server.lastHead.contains("Accept: text/event-stream"))
            _ = try await CommandProcess.run("events", server.url, "--count", "1", "-H", "Accept: text/plain", "--json", "{}")
            #expect(server.lastHead.contains("Accept: text/plain"))
        }
    }

    @Test func controlCharactersOfAnEventDoNotReachATerminal() {
        let event = ServerSentEvent(data: "a\tb\n\u{202E}", type: "e\u{1B}[2J", lastEventID: "\u{9B}1")
        let options = EventOptions.parseOrExit([])
        #expect(options.text(of: event, isForTerminal: true) == "id: \u{FFFD}1\nevent: e\u{FFFD}[2J\ndata: a\tb\ndata: \u{FFFD}\n\n")
        #expect(options.text(of: event, isForTerminal: false).contains("\u{1B}"))
    }

    @Test func aProfileShowsTheTimesOfTheLayers() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "-L", "--retry", "1", "--profile", "\(url)/redirect/1?token=s3cret")
            #expect(outcome.status == 0 && !outcome.output.isEmpty)
            let lines = outcome.errors.split(separator: "\n").map(String.init)
            #expect(lines.first?.hasPrefix("retry(") == true && lines.dropFirst().first?.hasPrefix("  redirect(") == true, "\(lines)")
            #expect(lines.count { $0.hasPrefix("    NIOTransport") } == 2)
            #expect(lines.contains { $0.hasSuffix(", HTTP/1.1, new connection 1") })
            #expect(lines.contains { $0.hasSuffix(", HTTP/1.1, kept connection 1") })
            #expect(lines.count { $0.hasPrefix("      receive ") } == 2)
            #expect(lines.last?.hasPrefix("2 requests, 1 redirect, ") == true)
            #expect(!outcome.errors.contains("s3cret"))
        }
    }

    @Test func aProfileShowsTheFailure() async throws {
        let outcome = try await CommandProcess.run("get", "--profile", "http://127.0.0.1:1/")
        #expect(outcome.status == 6)
        #expect(outcome.errors.contains("NIOTransport") && outcome.errors.contains("cannot connect"))
    }

    @Test func anArchiveHoldsTheExchangeAndNoSecret() async throws {
        try await withDemoServer { (url: String) async throws in
            let file = temporary("archive.har")
            defer { try? FileManager.default.removeItem(at: file) }
            let outcome = try await CommandProcess.run(
                "get", "\(url)/notes?token=s3cret", "-u", "joe:s3cret", "-b", "id=s3cret", "--har", file.path)
            #expect(outcome.status == 0)
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains("Buy tea") && !text.contains("s3cret") && !text.contains("am9lOnMzY3JldA"))
            struct Archive: Decodable {
                struct Log: Decodable {
                    struct Entry: Decodable {
                        struct Request: Decodable { let url: String }
                        struct Response: Decodable { let status: Int }
                        let request: Request
                        let response: Response
                    }
                    let version: String
                    let entries: [Entry]
                }
                let log: Log
            }
            let log = try JSONDecoder().decode(Archive.self, from: Data(text.utf8)).log
            #expect(log.version == "1.2" && log.entries.map(\.response.status) == [200])
            #expect(log.entries.first?.request.url == "\(url)/notes?token=REDACTED")
        }
    }

    @Test func theCurlTextIsShownWithoutSending() async throws {
        let outcome = try await CommandProcess.run(
            "post", "http://127.0.0.1:1/a?token=s3cret", "-u", "joe:s3cret", "--json", #"{"it's":1}"#, "--curl")
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        let text = String(decoding: outcome.output, as: UTF8.self)
        #expect(text.hasPrefix("curl ") && text.contains("REDACTED") && !text.contains("s3cret"))
    }

    @Test func theErrorWithoutANetworkNamesTheNetwork() async throws {
        let launcher = ["unshare", "-r", "-n"]
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = launcher + ["true"]
        probe.standardError = FileHandle.nullDevice
        try probe.run()
        probe.waitUntilExit()
        guard probe.terminationStatus == 0 else { return }  // no network namespaces here
        for url in ["http://127.0.0.1:80/", "http://nowhere.invalid/"] {
            let outcome = try await CommandProcess.run("get", url, through: launcher)
            #expect(outcome.status == 6)
            #expect(outcome.errors.contains("cannot") || outcome.errors.contains("not connected"))
        }
    }

    // MARK: - The wait for a network

    /// Runs a command in a network namespace without a network.
    private static let withoutNetwork = ["unshare", "-r", "-n"]
    /// The reason why there are no network namespaces; `nil` if there are some.
    private static let missingNamespaces: String? = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = withoutNetwork + ["/bin/sh", "-c", "ip link add v0 type veth peer name v1"]
        (probe.standardOutput, probe.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do {
            try probe.run()
        } catch {
            return "no network namespace: \(error)"
        }
        probe.waitUntilExit()
        return probe.terminationStatus == 0 ? nil : "no network namespace: unshare or ip has ended with \(probe.terminationStatus)"
    }()
    private static let waitLine = "errand: this machine has no network; waiting for a network, for at most "

    @Test(.enabled(if: missingNamespaces == nil, Comment(rawValue: missingNamespaces ?? "")))
    func aRequestIsSentAnywayAfterTheWait() async throws {
        let words = ["get", "http://192.0.2.1/", "--wait-for-network", "0.2"]
        let outcome = try await CommandProcess(words, through: Self.withoutNetwork).outcome()
        let lines = outcome.errors.split(separator: "\n").map(String.init)
        #expect(outcome.status == 6 && lines.count == 2 && lines.first == Self.waitLine + "0.2 s", "\(lines)")
        #expect(lines.last?.contains("not connected") == true && lines.last?.hasSuffix("connected to a network?") == true, "\(lines)")
        let silent = try await CommandProcess(words + ["-s"], through: Self.withoutNetwork).outcome()
        #expect(silent.status == 6 && silent.errors.isEmpty)
    }

    /// The script gives the namespace a network as soon as the command waits. Nothing listens at the address.
    @Test(.enabled(if: missingNamespaces == nil, Comment(rawValue: missingNamespaces ?? "")))
    func theWaitEndsWhenTheNetworkReturns() async throws {
        let script = """
            folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT; mkfifo "$folder/errors"
            "$@" 2>"$folder/errors" & command=$!
            exec 3<"$folder/errors"
            read -r line <&3; echo "$line" >&2
            ip link add v0 type veth peer name v1
            for name in lo v0 v1; do ip link set $name up; done
            ip address add 10.9.0.1/24 dev v0
            ip route add default via 10.9.0.2
            cat <&3 >&2
            wait $command
            """
        // If the wait did not end, the time for everything would end.
        let outcome = try await CommandProcess(
            ["get", "http://10.9.0.1:9/", "--wait-for-network", "600", "--max-time", "60"],
            through: Self.withoutNetwork + ["/bin/sh", "-c", script, "sh"]
        ).outcome()
        #expect(outcome.status == 6 && outcome.errors.hasPrefix(Self.waitLine + "600 s\n"), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("Is a server listening on this port?\n"), "\(outcome.errors)")
    }

    @Test func aRequestToThisMachineDoesNotWait() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "\(url)/ip", "--wait-for-network", "60", "--retry", "1")
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        }
    }

    // MARK: - Pipes, standard input, interrupts

    @Test func aPipeGetsTheBytesUnchanged() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "\(url)/download?bytes=300000")
            #expect(outcome.status == 0)
            #expect(outcome.output == Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
            #expect(outcome.errors.isEmpty)
        }
    }

    @Test func aClosedOutputEndsTheCommandQuietly() async throws {
        try await withDemoServer { (url: String) async throws in
            let pipe = Pipe()
            let command = try CommandProcess(["get", "\(url)/download?bytes=500000000"], output: pipe.fileHandleForWriting)
            try pipe.fileHandleForWriting.close()
            _ = try pipe.fileHandleForReading.read(upToCount: 1000)
            try pipe.fileHandleForReading.close()
            let outcome = try await command.outcome()
            #expect(outcome.status == 141)
            #expect(outcome.errors.isEmpty)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func anInterruptEndsTheCommandAndLeavesNothing(signal: Int32) async throws {
        let folder = temporary("download")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withDemoServer { (url: String) async throws in
            let command = try CommandProcess(["get", "-v", "\(url)/slow", "-o", folder.appendingPathComponent("x").path])
            await command.waitForError(containing: ">\n")
            kill(command.process.processIdentifier, signal)
            #expect(try await command.outcome().status == 128 + signal)
            #expect(command.process.terminationReason == .exit)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    /// In the middle of a body: the part of a file is removed, and the exchanges are written.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func anInterruptWithinABodyCleansUp(signal: Int32) async throws {
        let folder = temporary("interrupted")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        @Sendable func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        try await withDemoServer { (url: String) async throws in
            let (body, har) = (folder.appendingPathComponent("x").path, folder.appendingPathComponent("x.har").path)
            let command = try CommandProcess(["get", "\(url)/events?count=100000", "-o", body, "--har", har])
            while try !files().contains(where: { $0.hasSuffix(".part") }) { try await Task.sleep(for: .milliseconds(10)) }
            kill(command.process.processIdentifier, signal)
            #expect(try await command.outcome().status == 128 + signal)
            #expect(command.process.terminationReason == .exit)
            #expect(try files() == ["x.har"])
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/nohup"), "there is no /usr/bin/nohup here"))
    func aHangupThatIsIgnoredStaysIgnored() async throws {
        try await withDemoServer { (url: String) async throws in
            let command = try CommandProcess(["get", "-v", "-m", "2", "\(url)/slow"], through: ["/usr/bin/nohup"])
            await command.waitForError(containing: ">\n")
            kill(command.process.processIdentifier, SIGHUP)
            #expect(try await command.outcome().status == 6)
        }
    }

    @Test func standardInputIsStreamed() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("put", "\(url)/upload", "-T", "-", input: Data(count: 3_000_000))
            #expect(outcome.text == "3000000")
            let data = try await CommandProcess.run("put", "\(url)/upload", "--data-binary", "@-", input: Data("a\nb\n".utf8))
            #expect(data.text == "4")
        }
    }

    // MARK: - Requests

    @Test func fieldsAreSentAsJSON() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("post", "\(url)/notes", "-j", "text=Pour tea")
            #expect(outcome.text.contains(#""text":"Pour tea""#))
            #expect(try await CommandProcess.run("--json", #"{"text":"x"}"#, "\(url)/notes").status == 0)
        }
    }

    @Test func aFileGoesUp() async throws {
        let file = temporary("upload")
        try Data(count: 2_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("-T", file.path, "\(url)/upload").text == "2000000")
        }
    }

    @Test func fieldsQueriesAndCredentialsAreSent() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run(
                "get", "-v", "\(url)/notes?token=s3cret", "-q", "page=1", "-H", "X-Test: one", "-u", "joe:s3cret", "-b", "id=s3cret")
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("> GET /v1/notes?token=REDACTED&page=1 HTTP/1.1\n> Host: "))
            #expect(outcome.errors.contains("> X-Test: one"))
            #expect(outcome.errors.contains("> Authorization: <redacted>"))
            #expect(!outcome.errors.contains("s3cret"))
        }
    }

    // MARK: - Output

    @Test func aDownloadAppearsWhenItIsWhole() async throws {
        let file = temporary("whole")
        defer { try? FileManager.default.removeItem(at: file) }
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "\(url)/download?bytes=100000", "-o", file.path)
            #expect(outcome.status == 0)
            #expect(outcome.output.isEmpty && outcome.errors.isEmpty)
            #expect(try Data(contentsOf: file).count == 100_000)
        }
    }

    @Test(arguments: [["-#"], ["--progress-bar"], ["-#o", "/dev/null"], ["-s#"]]) func progressIsShownOnDemand(words: [String]) async throws
    {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess(words + ["\(url)/zeros?bytes=2000000"]).outcome()
            #expect(outcome.status == 0)
            #expect(outcome.output.count == (words == ["-#o", "/dev/null"] ? 0 : 2_000_000))
            #expect(outcome.errors.contains("[==============================] 100 %  2.0 MB") == (words != ["-s#"]), "\(outcome.errors)")
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func aTerminalGetsColorAndProgress() async throws {
        let file = temporary("progress")
        defer { try? FileManager.default.removeItem(at: file) }
        try await withDemoServer { (url: String) async throws in
            let json = try await CommandProcess.onATerminal("get \(url)/notes")
            #expect(json.status == 0)
            #expect(json.text.contains("\u{1b}[94m\"text\"\u{1b}[0m: \u{1b}[32m\"Buy tea\"\u{1b}[0m"))
            let download = try await CommandProcess.onATerminal("get '\(url)/zeros?bytes=20000000' -o \(file.path)")
            #expect(download.text.contains("[==============================] 100 %  20.0 MB"))
            let silent = try await CommandProcess.onATerminal("get -s '\(url)/zeros?bytes=20000000' -o \(file.path)")
            #expect(silent.output.isEmpty)
        }
    }

    /// Runs the command, and returns its standard output and its peak of resident memory, in bytes; `nil` on other systems than Linux.
    ///
    /// A child of this process begins with the memory of this process, which other tests fill. A child of a small program does not.
    private func outputAndPeak(_ arguments: String...) async throws -> (text: String, peak: Int?) {
        #if canImport(Glibc)
        let code = """
            import resource, subprocess, sys
            status = subprocess.run(sys.argv[1:]).returncode
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)
            sys.exit(status)
            """
        let outcome = try await CommandProcess(arguments, through: ["python3", "-c", code]).outcome()
        #expect(outcome.status == 0)
        return (outcome.text, outcome.errors.split(whereSeparator: \.isNewline).last.flatMap { Int($0) })
        #else
        return (try await CommandProcess(arguments).outcome().text, nil)
        #endif
    }

    @Test func aGibibyteGoesBothWaysWithinAHundredMegabytes() async throws {
        let file = temporary("gibibyte")
        let size = 1024 * 1024 * 1024
        defer { try? FileManager.default.removeItem(at: file) }
        try await withDemoServer { (url: String) async throws in
            let download = try await outputAndPeak("get", "\(url)/zeros?bytes=\(size)", "-o", file.path)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.size] as? Int == size)
            let upload = try await outputAndPeak("put", "\(url)/upload", "-T", file.path)
            #expect(upload.text == "\(size)")
            for peak in [download.peak, upload.peak].compactMap({ $0 }) { #expect(peak < 100_000_000) }
        }
    }

    @Test func headsAreShownOnDemand() async throws {
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("-I", "\(url)/cached").text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            let included = try await CommandProcess.run("get", "-i", "\(url)/cached")
            #expect(included.text.contains("ETag: \"1\"\r\n") && included.text.hasSuffix("\r\n\r\nthe same for a minute\n"))
        }
    }

    @Test func theHeadOfEachRedirectIsShown() async throws {
        try await withDemoServer { (url: String) async throws in
            for words in [["-IL"], ["head", "-L"], ["-iL"], ["get", "-L", "-D", "-"]] {
                let outcome = try await CommandProcess(words + ["\(url)/redirect/2"]).outcome()
                let lines = outcome.text.components(separatedBy: "\r\n").filter { $0.hasPrefix("HTTP/1.1 ") }
                #expect(outcome.status == 0 && lines == ["HTTP/1.1 302 Found", "HTTP/1.1 302 Found", "HTTP/1.1 200 OK"], "\(outcome.text)")
                #expect(outcome.text.hasSuffix("arrived") == (words != ["-IL"] && words != ["head", "-L"]), "\(words)")
            }
            let single = try await CommandProcess.run("-I", "\(url)/redirect/2")
            #expect(single.text.hasPrefix("HTTP/1.1 302 Found\r\n") && !single.text.contains("200 OK"))
        }
    }

    /// The demo server is busy twice. The heads of the attempts before are not shown.
    @Test func theHeadsOfEarlierAttemptsAreNotShown() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("-sIL", "\(url)/busy", "--retry", "3", "--retry-delay", "0")
            #expect(outcome.text.hasPrefix("HTTP/1.1 200 OK\r\n") && !outcome.text.contains("503"), "\(outcome.text)")
        }
    }

    @Test func redirectsAreFollowedOnDemand() async throws {
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("get", "\(url)/redirect/2", "-w", "%{http_code}").text == "302")
            let followed = try await CommandProcess.run("get", "-L", "\(url)/redirect/2", "-w", " %{http_code} %{num_redirects}\\n")
            #expect(followed.text == "arrived 200 2\n")
            let tooMany = try await CommandProcess.run("get", "-L", "--max-redirs", "1", "\(url)/redirect/2")
            #expect(tooMany.status == 6)
            #expect(tooMany.errors.contains("more than 1") && tooMany.errors.contains("--max-redirs"))
        }
    }

    @Test func aRedirectLoopIsNamed() async throws {
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"
        try await withRawServer(response: redirect) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", "-L", "\(server.url)/again")
            #expect(outcome.status == 6 && server.requests.count == 2)
            #expect(outcome.errors.contains("it is part of a loop"), "\(outcome.errors)")
            #expect(outcome.errors.contains("Show the targets with -v") && !outcome.errors.contains("-b ''"), "\(outcome.errors)")
        }
    }

    // MARK: - Failures in --write-out

    /// As curl has it.
    @Test func writeOutShowsAFailure() async throws {
        let format = "[%{http_code} %{http_version} %{size_download} %{num_redirects} %{num_connects} %{content_type}]"
        let dead = try RawServer()
        dead.stop()
        let refused = try await CommandProcess.run("get", "-s", "-o", "/dev/null", "-w", format, dead.url)
        #expect(refused.status == 6 && refused.text == "[000 0 0 0 0 ]", "\(refused)")
        let url = try await CommandProcess.run("get", "-s", "-w", "%{url_effective} %{method} %{http_code}", dead.url + "/x?a=b")
        #expect(url.text == dead.url + "/x?a=b GET 000")
        let broken = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 100\r\n\r\nhello"
        try await withRawServer(response: broken) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", "-s", "-w", format, server.url)
            #expect(outcome.status == 6 && outcome.text == "hello[200 1.1 5 0 1 a/b]", "\(outcome)")
            let file = try await CommandProcess.run("get", "-s", "-o", "/dev/null", "-w", format, server.url)
            #expect(file.text == "[200 1.1 5 0 1 a/b]", "\(file)")
            let unwritten = try await CommandProcess.run("get", "-s", "-o", "/no/such/x", "-w", "%{http_code}", server.url)
            #expect(unwritten.status == 23 && unwritten.text == "200")
        }
        let redirect = "HTTP/1.1 302 Found\r\nLocation: \(dead.url)/q\r\nContent-Length: 0\r\n\r\n"
        try await withRawServer(response: redirect) { (server: RawServer) async throws in
            let lost = try await CommandProcess.run("get", "-s", "-L", "-w", "%{http_code} %{num_redirects} %{url_effective}", server.url)
            #expect(lost.status == 6 && lost.text == "302 1 \(dead.url)/q", "\(lost)")
            let tooMany = try await CommandProcess.run(
                "get", "-s", "-L", "--max-redirs", "0", "-w", "%{http_code} %{redirect_url}", server.url)
            #expect(tooMany.status == 6 && tooMany.text == "302 \(dead.url)/q", "\(tooMany)")
        }
    }

    /// An attempt begins without the response of the one before it.
    @Test func writeOutShowsTheLastAttempt() async throws {
        try await withRawServer(response: "nonsense\r\n\r\n") { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", "-s", "--retry", "1", "-w", "%{http_code}", server.url)
            #expect(outcome.status == 6 && outcome.text == "000", "\(outcome)")
        }
    }

    @Test func writeOutReadsAFileAndShowsFields() async throws {
        let file = temporary("format")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("%{http_code}\r\n %header{X-a}\\n".utf8).write(to: file)
        let response = "HTTP/1.1 200 OK\r\nX-A: one\r\nX-A: two\r\nContent-Length: 0\r\n\r\n"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            #expect(try await CommandProcess.run("get", server.url, "-w", "@\(file.path)").text == "200 one\n")
            let input = try await CommandProcess.run("get", server.url, "-w", "@-", input: Data("%{http_code}".utf8))
            #expect(input.text == "200")
            #expect(try await CommandProcess.run("get", server.url, "-w", "@/no/such/file").status == 64)
        }
    }

    @Test func theLimitsOfAHeadCanBeChanged() async throws {
        let fields = (0..<600).map { "X-\($0): \($0)\r\n" }.joined()
        try await withRawServer(response: "HTTP/1.1 204 No Content\r\n\(fields)\r\n") { (server: RawServer) async throws in
            let refused = try await CommandProcess.run("get", server.url)
            #expect(refused.status == 6 && refused.errors.contains("--max-header-count"), "\(refused.errors)")
            #expect(try await CommandProcess.run("get", server.url, "--max-header-count", "600").status == 0)
            let long = try await CommandProcess.run("get", server.url, "--max-header-count", "600", "--max-header-bytes", "1000")
            #expect(long.status == 6 && long.errors.contains("Allow a longer header section with --max-header-bytes"), "\(long.errors)")
            #expect(try await CommandProcess.run("get", server.url, "--max-header-count", "0").status == 64)
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func controlCharactersDoNotReachATerminal() async throws {
        let odd = "\u{9B}31m\u{202E}"
        let response =
            "HTTP/1.1 200 O\u{9B}K\r\nX-A: \(odd)\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[\"\u{9B}\u{202E}\"]"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            for words in ["-i", "-I", "-D -", "-v", "-D - -o /dev/null -w '%header{x-a}'", "--color never"] {
                let outcome = try await CommandProcess.onATerminal("\(words) \(server.url)")
                let scalars = outcome.text.unicodeScalars
                #expect(!outcome.text.isEmpty && !scalars.contains { $0 == "\u{9B}" || $0 == "\u{202E}" }, "\(words)")
            }
            // A pipe gets what came.
            #expect(try await CommandProcess.run("get", "-i", server.url).text.unicodeScalars.contains("\u{9B}"))
        }
    }

    @Test func aBusyServerIsAskedAgain() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "-v", "--retry", "3", "\(url)/busy", "-w", "%{http_code}")
            #expect(outcome.text == "200")
            #expect(outcome.errors.components(separatedBy: "< HTTP/1.1 503").count == 3)
            #expect(outcome.errors.contains("* attempt 2 after 503\n") && outcome.errors.contains("* attempt 3 after 503\n"))
        }
    }

    @Test func compressedBodiesAreDecodedOnDemand() async throws {
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("get", "--compressed", "\(url)/gzip").text == "compressed, as it should be\n")
        }
    }

    @Test func bodiesOfRequestsAreCompressedOnDemand() async throws {
        let text = String(repeating: "long ", count: 100)
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("post", "--compress-body", "--data-raw", text, server.url)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(server.lastHead.contains("Content-Encoding: gzip"), "\(server.lastHead)")
        }
    }

    @Test func theCommandGeneratesShellCompletions() async throws {
        for shell in ["bash", "zsh", "fish"] {
            let outcome = try await CommandProcess.run("--generate-completion-script", shell)
            #expect(outcome.status == 0)
            #expect(outcome.text.contains("errand"))
        }
    }

    @Test func theTourSucceeds() async throws {
        let outcome = try await CommandProcess.run("tour")
        #expect(outcome.status == 0)
        #expect(outcome.text.contains("every step had the expected result"))
    }
}
