import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

/// What people write who know curl or httpie, and what the command says about it.
@Suite(.timeLimit(.minutes(5)), .serialized) struct HabitTests {
    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    // MARK: - Unknown options

    @Test(
        arguments: [
            ("--hlep", "--help"), ("--verbos", "--verbose"), ("--outptu", "--output"), ("--jsn", "--json"), ("--insecur", "--insecure"),
            ("--reqest", "--request"), ("--locaton", "--location"), ("--hedaer", "--header"), ("--foo", nil), ("--no-such-option", nil),
            ("--xy", nil), ("--é", nil), ("-é", nil), ("--colour", "--color"),
        ] as [(String, String?)]) func onlyANearOptionIsSuggested(option: String, near: String?)
    {
        let message = UnknownOption.message(for: option)
        #expect(message == "Unknown option '\(option)'" + (near.map { ". Did you mean '\($0)'?" } ?? ""))
    }

    @Test(arguments: [
        ("--metod", "-X METHOD"), ("--follow", "-L"), ("--url", "without an option"), ("--next", "one request"), ("--xml", "@FILE"),
        ("--raw", "--data-raw"), ("--pretty", "--color"), ("--print", "-v"), ("--body", "-d TEXT"), ("--bearer", "--oauth2-bearer"),
        ("-J", "errand download URL"), ("-4", "--resolve"), ("-K", "@FILE"), ("-Z", "errand download"), ("-z", "If-Modified-Since"),
        ("--tlsv1.2", "TLS 1.2"),
        ("--retry-max-time", "-m SECONDS"), ("--retry-connrefused", "--retry COUNT"), ("--limit-rate", "not limited"),
        ("--create-dirs", "mkdir -p"), ("--output-dir", "errand download"), ("--continue", "errand download"), ("-a", "-u USER:PASSWORD"),
        ("--download", "errand download URL"),
        ("--offline", "--curl"), ("--check-status", "default"), ("--verify=no", "-k"), ("--session=x", "-b FILE -c FILE"),
        ("-sJ", "-O"), ("-p", "-v"),
    ]) func anOptionOfAnotherCommandHasItsAnswer(option: String, answer: String) async throws {
        for words in [[option, "http://127.0.0.1:1/"], ["get", "http://127.0.0.1:1/", option]] {
            let outcome = try await CommandProcess(words).outcome()
            let line = outcome.errors.split(separator: "\n").first ?? ""
            #expect(outcome.status == 64 && line.hasPrefix("Error: Unknown option '-") && line.contains(answer), "\(outcome.errors)")
        }
    }

    /// The table must have only options that the command does not have. For an option of its own, the command never shows the text of the
    /// table.
    @Test func noAnswerIsForAnOptionOfTheCommand() {
        let names = UnknownOption.answers.flatMap(\.names)
        #expect(Set(names).count == names.count)
        for name in names where name != "-p" {
            let letters = OptionTable.shortFlags.union(OptionTable.shortOptionsWithValues)
            let isKnown = name.hasPrefix("--") ? OptionTable.isLongName(String(name.dropFirst(2))) : letters.contains(name.last ?? "-")
            #expect(!isKnown, "\(name)")
        }
        for answer in UnknownOption.answers {
            let options = answer.text.matches(of: #/--?[A-Za-z0-9][A-Za-z0-9-]*(?:\.[0-9]+)?/#)
            for match in options where !answer.names.contains(String(match.0)) {
                let name = match.0.drop { $0 == "-" }
                let isLong = match.0.hasPrefix("--")
                let letters = OptionTable.shortFlags.union(OptionTable.shortOptionsWithValues)
                let isCommandOfTheShell = answer.text.contains("mkdir \(match.0)") || name == "Modified-Since" || name == "Type"
                let isKnown = isLong ? OptionTable.isLongName(String(name)) : name.count == 1 && letters.contains(name.first ?? "-")
                #expect(isKnown || isCommandOfTheShell || answer.text.contains("as \(match.0)"), "\(answer)")
            }
        }
    }

    @Test(arguments: [
        "-d --hlep URL", "--data=--hlep URL", "-H --hlep:x URL", "URL -- --hlep", "--help --hlep", "help --hlep", "-sSvL URL",
        "-ofile URL", "---completion x", "--generate-completion-script zsh", "- URL",
    ]) func aValueIsNotAnUnknownOption(words: String) throws {
        #expect(UnknownOption.problem(in: try ArgumentRewriter.rewritten(Self.words(words))) == nil)
    }

    @Test(arguments: [["get", "--hlep"], ["--help-all"], ["get", "-d", "x", "--hlep"], ["post", "URL", "URL", "--hlep"]])
    func anUnknownOptionIsReportedFirst(words: [String]) async throws {
        let outcome = try await CommandProcess(words).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains("Unknown option '--h"), "\(outcome.errors)")
    }

    @Test func optionsThatChangeNothingAreAccepted() async throws {
        try await withRawServer { (server: RawServer) async throws in
            for words in [["-N"], ["--no-buffer"], ["-g"], ["--globoff", "--path-as-is"], ["-sNg"], ["get", "-g"]] {
                #expect(try await CommandProcess(words + [server.url + "/a/../b"]).outcome().status == 0, "\(words)")
                #expect(server.lastHead.first == "GET /a/../b HTTP/1.1")
            }
        }
    }

    @Test(arguments: [["-XPOST", "-d", "a=b"], ["-H", "X: y"], ["-G", "-d", "q=a b"], ["-r", "5-"]])
    func aLineOfCurlOptionRunsWithThisCommand(words: [String]) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let line = try await CommandProcess(words + [server.url + "/x", "--curl"]).outcome().text
            let own = line.replacing("curl ", with: "\(CommandProcess.path.path) ", maxReplacements: 1)
            let outcome = try await CommandProcess(["-c", own], running: ["/bin/sh"]).outcome()
            #expect(outcome.status == 0 && server.requests.count == 1, "\(line)\(outcome.errors)")
        }
    }

    // MARK: - URLs in other places

    @Test(arguments: [
        ("--json URL/post a=1", "--json took the URL as its value"), ("-j URL a=1", "--json-field took the URL"),
        ("--form URL a=1", "For a URL-encoded form, write -d a=1"), ("-d URL a=1", "--data took the URL"), ("a=1 b=2", "'a=…' is an item"),
        ("http://a=b/", "no host has an equals sign"), ("-d URL", "-d took the URL"), ("-X URL", "-X took the URL"),
        ("-F URL", "-F took the URL"), ("post -o URL", "-o took the URL"), ("--json URL", "--json took the URL"),
    ]) func aURLAsTheValueOfAnOptionIsNamed(words: String, problem: String) async throws {
        let words = Self.words(words.replacing("URL", with: "http://127.0.0.1:1/?token=s3cret"))
        let outcome = try await CommandProcess(words).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains(problem) && !outcome.errors.contains("s3cret"), "\(outcome.errors)")
    }

    @Test(arguments: ["", " "]) func anEmptyURLIsNamed(url: String) async throws {
        let outcome = try await CommandProcess.run(url)
        #expect(outcome.status == 64 && outcome.errors.hasPrefix("Error: the URL is empty\n"), "\(outcome.errors)")
    }

    @Test func aURLInTwoPiecesNeedsQuotationMarks() async throws {
        let outcome = try await CommandProcess.run("http://127.0.0.1:1/?q=a", "b")
        #expect(outcome.errors.contains("argument 1 after the URL, of 1 character, has no '='"), "\(outcome.errors)")
        #expect(outcome.errors.contains("quote the URL"))
    }

    // MARK: - Ranges

    private static let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole"

    @Test(arguments: [["-r", "3-"], ["-r", "0-99"], ["-r", "-5"], ["-H", "Range: bytes=3-"], ["-r", "3-", "-o", "-"]])
    func theWholeBodyDoesNotTakeThePlaceOfAPart(words: [String]) async throws {
        try await withRawServer(response: Self.whole) { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words + [server.url]).outcome()
            #expect(outcome.status == 6 && outcome.output.isEmpty && outcome.errors.contains("ignored the range"), "\(outcome.errors)")
        }
    }

    @Test func aWholeBodyIsWrittenWhereItDoesNoHarm() async throws {
        try await inFolder { (folder: URL) async throws in
            try await withRawServer(response: Self.whole) { (server: RawServer) async throws in
                for words in [["-r", "0-"], ["-r", "0"], ["-r", "3-", "-H", "If-Range: \"x\""]] {
                    let outcome = try await CommandProcess(words + [server.url]).outcome()
                    #expect(outcome.status == 0 && outcome.text == "whole" && outcome.errors.isEmpty, "\(words)")
                }
                let file = try await CommandProcess.run("-r", "3-", server.url, "-o", "x", in: folder)
                #expect(file.status == 0 && file.errors.hasPrefix("errand: warning: the server has ignored the range"))
            }
        }
    }

    @Test func anotherCommandContinuesADownload() async throws {
        let outcome = try await CommandProcess.run("-C", "-", "-o", "x", "http://127.0.0.1:1/")
        #expect(outcome.status == 64 && outcome.errors.contains("'errand download -C - URL' continues a download"), "\(outcome.errors)")
    }

    // MARK: - Standard input

    @Test(arguments: [([], true), (["get"], false), (["-X", "GET"], false), (["-d", "@-"], false), (["-s"], false), (["-I"], false)])
    func aPipeThatIsNotSentIsNamed(words: [String], isNamed: Bool) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words + [server.url], input: Data(#"{"a":1}"#.utf8)).outcome()
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("the data of standard input was not sent") == isNamed, "\(outcome.errors)")
        }
    }

    /// The command must not read the list.
    @Test func aLoopKeepsItsInput() async throws {
        try await inFolder { (folder: URL) async throws in
            try await withRawServer { (server: RawServer) async throws in
                let list = (1...3).map { "\(server.url)/\($0)\n" }.joined()
                try Data(list.utf8).write(to: folder.appendingPathComponent("list"))
                let loop = "while read url; do \(CommandProcess.path.path) $url; done < list"
                let outcome = try await CommandProcess(["-c", loop], running: ["/bin/sh"], in: folder).outcome()
                #expect(server.requests.count == 3 && outcome.errors.isEmpty, "\(outcome.errors)")
            }
        }
    }

    // MARK: - Files and times

    @Test func anErrorPageInAFileIsNamed() async throws {
        try await inFolder { (folder: URL) async throws in
            try await withDemoServer { (url: String) async throws in
                let outcome = try await CommandProcess.run("\(url)/notes/99", "-o", "keep.txt", in: folder)
                #expect(outcome.status == 4)
                let line = "errand: GET \(url)/notes/99: 404 Not Found. 'keep.txt' has the body"
                #expect(outcome.errors.hasPrefix(line), "\(outcome.errors)")
                #expect(try await CommandProcess.run("-s", "\(url)/notes/99", "-o", "keep.txt", in: folder).errors.isEmpty)
                #expect(try await CommandProcess.run("--no-fail", "\(url)/notes/99", "-o", "keep.txt", in: folder).errors.isEmpty)
                #expect(try await CommandProcess.run("\(url)/notes", "-o", "keep.txt", in: folder).errors.isEmpty)
            }
        }
    }

    @Test func anIncompleteFileIsNotKept() async throws {
        try await inFolder { (folder: URL) async throws in
            let response = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"
            try await withRawServer(response: response) { (server: RawServer) async throws in
                let outcome = try await CommandProcess.run("get", server.url, "-o", "x", in: folder)
                #expect(outcome.status == 6 && outcome.errors.contains("nothing of it was kept in 'x'"), "\(outcome.errors)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
                #expect(try await !CommandProcess.run("get", server.url, in: folder).errors.contains("kept"))
            }
        }
    }

    @Test func theStepsOfTheLastExchangeAreWritten() async throws {
        try await withDemoServer { (url: String) async throws in
            let format = "%{time_namelookup} %{time_connect} %{time_appconnect} %{time_starttransfer} %{size_upload} %{remote_ip}\\n"
            let outcome = try await CommandProcess.run("put", "\(url)/upload", "-d", "abc", "-o", "/dev/null", "-w", format)
            let values = outcome.text.split(whereSeparator: \.isWhitespace).map(String.init)
            #expect(outcome.errors.isEmpty && values.count == 6 && values.suffix(2) == ["3", "127.0.0.1"], "\(outcome.text)")
            let times = values.prefix(4).compactMap(Double.init)
            #expect(times.count == 4 && times[1] > 0 && times[2] == 0 && times[3] >= times[1], "\(times)")
        }
    }

    @Test func theTimesAroundTheRequestAreWritten() async throws {
        try await withDemoServer { (url: String) async throws in
            let times = " %{time_connect} %{time_pretransfer} %{time_posttransfer} %{time_starttransfer} %{time_redirect}"
            let format = times + " %{num_headers} %{speed_upload}"
            let outcome = try await CommandProcess.run("get", "-L", "\(url)/redirect/1", "-w", format)
            let values = outcome.text.split(separator: " ").dropFirst().compactMap { Double($0) }
            #expect(outcome.errors.isEmpty && values.count == 7, "\(outcome.text)")
            guard values.count == 7 else { return }
            // The second exchange uses the connection of the first one.
            #expect(values[4] > 0 && values[1] >= values[4] && values[2] >= values[1] && values[3] >= values[1], "\(values)")
            #expect(values[5] >= 2 && values[6] == 0)
            let direct = try await CommandProcess.run("get", "\(url)/redirect/0", "-w", " %{time_redirect}")
            #expect(direct.text == "arrived 0.000000")
        }
    }

    @Test func eachWaitForARetryIsNamed() async throws {
        let response = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run(server.url, "--retry", "2")
            #expect(outcome.status == 5 && server.requests.count == 3)
            #expect(outcome.errors.matches(of: #/errand: 503, again after [0-9.]+ s\n/#).count == 2, "\(outcome.errors)")
            #expect(try await CommandProcess.run("-s", server.url, "--retry", "1").errors.isEmpty)
        }
    }

    // MARK: - Reasons

    @Test(arguments: [["-d", "@/no/such"], ["--json", "@/no/such", "--json", "x"], ["-H", "@/no/such"], ["-w", "@/no/such"]])
    func anUnreadableFileHasItsReason(words: [String]) async throws {
        let outcome = try await CommandProcess(words + ["http://127.0.0.1:1/"]).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains("'/no/such': no such file or folder (errno 2)"), "\(outcome.errors)")
    }

    @Test func noWordOfTheLibraryIsShown() async throws {
        let credentials = try await CommandProcess.run("http://joe:zwiebel79@127.0.0.1:1/")
        #expect(credentials.errors.contains("Use -u USER:PASSWORD") && !credentials.errors.contains("RFC"))
        let roots = try await CommandProcess.run("--cacert", "nofile.pem", "https://127.0.0.1:1/")
        #expect(roots.status == 64 && roots.errors.contains("--cacert: "), "\(roots.errors)")
        #expect(!roots.errors.contains("TLS setting"))
        try await withDemoServer { (url: String) async throws in
            let late = try await CommandProcess.run("\(url)/slow", "-m", "0.2")
            #expect(late.status == 6 && late.errors.contains("--max-time 0.2 s passed"), "\(late.errors)")
            #expect(!late.errors.contains(".timeout"))
        }
    }

    @Test(arguments: [("http://a.example:4433/", true), ("http://a.example/", false), ("https://a.example:4433/", false)])
    func aConnectionThatIsClosedMayWantTLS(url: String, isAsked: Bool) throws {
        let error = TransportError(.connectionLost, phase: .response, request: try Request(.get, url: url), delivery: .unknown)
        let line = FailureAdvice(try RequestArguments.parse([url])).line(for: error)
        #expect(line.contains("--retry 3") && line.hasSuffix("want https:// on this port?") == isAsked, "\(line)")
    }

    @Test func aLoopOfRedirectsHasOneReason() async throws {
        try await withRawServer(response: "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n") {
            (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("-L", server.url)
            #expect(outcome.status == 6 && outcome.errors.contains("no response sets a cookie"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("-b"))
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func aCompressedBodyOnATerminalHasItsOption() async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\ngzip"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.onATerminal("get \(server.url)")
            #expect(outcome.status == 23 && outcome.text.contains("--compressed"), "\(outcome.text)")
        }
    }
}
