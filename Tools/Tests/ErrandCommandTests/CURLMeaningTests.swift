import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

/// Options with curl's names send what curl sends, or are refused.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CURLMeaningTests {
    private static let hasCURL = ["/usr/bin/curl", "/usr/local/bin/curl"].contains { FileManager.default.isExecutableFile(atPath: $0) }

    private static let files: [(String, Data)] = [
        ("v.txt", Data("a b&c\r\nd\n".utf8)), ("latin", Data([0xE4, 0x3D, 0xFF, 0x78, 0x0D, 0x0A, 0x00])),
        ("lines", Data("x=1\ny=2\n".utf8)),
        ("jar", Data("127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t1\na.example\tFALSE\t/\tFALSE\t0\tsid\t2\n".utf8)),
        ("j=ar", Data("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t3\n".utf8)),
        ("fields", Data("X-From: file\r\n\nX-Two;\n".utf8)), ("x.json", Data("{\"a\":\n1}\n".utf8)),
    ]

    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, data) in Self.files { try data.write(to: folder.appendingPathComponent(name)) }
        try await body(folder)
    }

    /// The request line, the fields in order of their names, and the body; `nil` if nothing was sent.
    private func sent(_ arguments: [String], byCURL: Bool, in folder: URL, input: Data?) async throws -> [String]? {
        let server = try RawServer()
        defer { server.stop() }
        let url = arguments.contains { $0.contains("URL") } ? [] : ["URL/"]
        let words = (arguments + url).map { $0.replacing("URL", with: server.url) }
        let program = byCURL ? ["curl", "-q", "-s", "--max-time", "20"] : [CommandProcess.path.path]
        _ = try await CommandProcess(words, input: input, running: program, in: folder).outcome()
        guard let request = server.requests.last, let end = request.range(of: "\r\n\r\n") else { return nil }
        // The boundaries differ, and their lengths may differ.
        let boundary = request.range(of: "boundary=").map { request[$0.upperBound...].prefix { $0 != "\r\n" } }
        if let boundary { return multipart(String(request), boundary: String(boundary)) }
        let lines = request[..<end.lowerBound].components(separatedBy: "\r\n")
        let fields = lines.dropFirst().map { line -> String in
            let (name, value) = line.cut(atOctet: UInt8(ascii: ":"))
            let text = value?.withoutOuterBlanks ?? ""
            return name.lowercased() + ":" + (text.hasPrefix("curl/") || text.hasPrefix("errand/") ? "own" : text)
        }
        let others = fields.filter { !$0.hasPrefix("host:") && !$0.hasPrefix("expect:") }
        return [lines[0]] + others.sorted() + [String(request[end.upperBound...])]
    }

    /// The type and the body of a form, without its boundary.
    private func multipart(_ request: String, boundary: String) -> [String] {
        let shown = request.replacing(boundary, with: "BOUNDARY")
        let type = shown.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("content-type:") }.map { $0.lowercased() }
        return type.prefix(1) + [shown.range(of: "\r\n\r\n").map { String(shown[$0.upperBound...]) } ?? ""]
    }

    @Test(
        .enabled(if: hasCURL, "curl is not on this machine"),
        arguments: [
            ["--data-urlencode", "name@v.txt"], ["--data-urlencode", "@v.txt"], ["--data-urlencode", "=a=b&c"],
            ["--data-urlencode", "a=1", "-d", "b=2"], ["--data-urlencode", "name=a b=c"], ["--data-urlencode", "a b"],
            ["--data-urlencode", "n m=x"], ["--data-urlencode", "~-._*+/ü"], ["--data-urlencode", "a=b@c"], ["--data-urlencode", "a@b=c"],
            ["--data-urlencode", ""], ["--data-urlencode", "="], ["--data-urlencode", "@latin"],
            ["-d", "b=2", "--data-binary", "@lines", "--data-raw", "@c", "-d", "c=3"], ["-d", "a=1", "--data-binary", "@latin"],
            ["--data-binary", "@latin"], ["--data-binary", "a", "--data-binary", "b"], ["-d", "@lines"], ["-d", "@latin"], ["-d", ""],
            ["-d", "", "-d", ""], ["--data-ascii", "x=1"], ["--data-raw", "@lines"], ["-G", "-d", "a=b", "-d", "c=d"],
            ["-G", "-d", "@lines"],
            ["-G", "-d", "", "URL/x"], ["-G", "--data-urlencode", "a=b c", "URL/x?y=1"],
            ["-G", "--data-urlencode", "a=x y&", "--data-raw", "@x"],
            ["-A", ""], ["-A", "x y"], ["-A", "x", "-H", "User-Agent: y"], ["-H", "X-Empty;"], ["-H", "X-Empty;", "-H", "X-Empty: 1"],
            ["-H", "User-Agent;"], ["-H", "User-Agent:"], ["-H", "Accept:"], ["-H", "X:"], ["-H", "X: "], ["-H", "X-A: 1", "-H", "X-A: 2"],
            ["-H", "Content-Type:", "-d", "a"], ["-H", "Content-Type;", "-d", "a"], ["-H", "@fields"], ["-e", "http://r.example/"],
            ["-e", ""], ["-b", "a=b; c=d"], ["-F", "a=x; type=text/q"], ["-b", "a=b", "-H", "Cookie: c=d"], ["-b", "jar"], ["-bjar"],
            ["-b", "@j=ar"], ["-b", "jar", "-b", "a=b"], ["-b", "a=b", "-c", "new"], ["-b", ""], ["-b", "none"],
            ["-b", "jar", "-b", "a=b", "-H", "Cookie:"], ["-r", "0-99"], ["-r", "5-"],
            ["-r", "5"], ["-r", "-5"], ["-r-5"], ["--range", "-5"],
            ["-r", "0-0,-1"], ["-u", "u:p:q"], ["-u", ":p"], ["-u", "u:"], ["-u", "u:p", "-H", "Authorization:"], ["-T", "v.txt"],
            ["-T", "v.txt", "URL/dir/"], ["-T", "v.txt", "URL/d/?q=x"], ["-T", "v.txt", "URL/x?q=/"], ["--json", "@x.json"],
            ["--json", "a", "--json", "@x.json"], ["--json", "{}", "-H", "Accept: x/y"],
            ["-XPOST", "-d", ""], ["-XDELETE"], ["-X", "DELETE", "-sSLX", "OPTIONS"], ["-sSLXPUT", "-da=b"], ["-da=b", "-d-v"],
            ["-d", "-v"], ["-d=x"],
            ["-d-"], ["-d", "-"],
            ["-d--json"], ["-HX-A:b", "-HX-C: d"], ["-sHX-A: -b", "-k"], ["-uu:p"], ["-u-u:-p"], ["-Aagent"], ["-A-a"],
            ["-ehttp://r.example/"],
            ["-ba=b"], ["-Fa=b"], ["-fsSGd", "a=b"], ["-Tv.txt"], ["-sXPATCH", "-d@lines"], ["-djson=1"], ["-d", "--", "-d", "---"],
            ["--data", "-a", "--data-raw", "--x"], ["--", "URL/x"], ["-IL"],
        ]) func theRequestMatchesCURL(arguments: [String]) async throws
    {
        try await inFolder { (folder: URL) async throws in
            let curl = try await sent(arguments, byCURL: true, in: folder, input: nil)
            let own = try await sent(arguments, byCURL: false, in: folder, input: nil)
            #expect(own == curl, "\(arguments)")
        }
    }

    @Test(
        .enabled(if: hasCURL, "curl is not on this machine"),
        arguments: [
            ["--data-urlencode", "n@-"], ["-d", "@-"], ["-d", "@-", "-d", "x=1"], ["--data-binary", "@-", "--data-raw", "x"],
            ["--json", "@-"],
        ]) func standardInputIsReadLikeInCURL(arguments: [String]) async throws
    {
        try await inFolder { (folder: URL) async throws in
            func body(byCURL: Bool) async throws -> String? {
                try await sent(arguments, byCURL: byCURL, in: folder, input: Data("in=1\r\n2\nx".utf8))?.last
            }
            let (curl, own) = (try await body(byCURL: true), try await body(byCURL: false))
            let chunked = own?.components(separatedBy: "\r\n") ?? []
            // A body of one option is streamed.
            #expect(
                own == curl || chunked.contains(curl ?? "?") || own?.hasSuffix("0\r\n\r\n") == true && own?.contains(curl ?? "?") == true)
        }
    }

    /// curl does something else for each of them.
    @Test(arguments: [
        (["-b", "a=b\nc"], "--cookie must be"), (["-c", ""], "--cookie-jar must be"), (["-e", "http://r.example/;auto"], "';auto'"),
        (["-r", "x"], "--range must be"), (["-r", ""], "--range must be"), (["-r=-5"], "--range must be"),
        (["-X=POST"], "the method '=POST' is invalid"), (["-C", "-"], "'errand download -C - URL'"),
        (["-C-"], "'errand download -C - URL'"),
        (["-data", "x"], "-data"), (["-json={}"], "-json"), (["-verbose"], "-verbose"), (["-sSZ"], "Unknown option '-Z'"),
        (["-H", "Host:"], "Host"), (["-H", "X-Empty; "], "has no colon"),
        (["-H", "@no-such-file"], "cannot read"), (["-d", "@no-such-file"], "cannot read"),
        (["--data-urlencode", "a@no-such-file"], "cannot read"),
        (["-G", "-F", "a=b"], "do not go together"), (["-G", "--json", "{}"], "do not go together"),
        (["-F", "a=(x"], "parts within a part"),
        (["-F", "a=x;headers=\"X: y\""], "';headers='"), (["-F", "a=x;encoder=base64"], "';encoder='"),
        (["-F", "a=x;filename=q"], "';filename='"),
        (["--cert", "/no/such.pem:s3cret", "--key", "k"], "A password after ':' is not supported"), (["-A", "x\ny"], "one line"),
    ]) func unsupportedOptionsAreRefusedWithAHint(arguments: [String], message: String) async throws {
        let outcome = try await CommandProcess(["http://127.0.0.1:1/"] + arguments).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains(message), "\(outcome.errors)")
        #expect(!outcome.errors.contains("s3cret"))
    }

    @Test func anEmptyFileHasItsName() async throws {
        let arguments = try RequestArguments.parse(["--data-urlencode", "x@/dev/null", "-d", "y", "a.example"])
        #expect(try arguments.request(method: nil).body.bufferedData == Data("x=&y".utf8))
    }

    @Test func dataKeepsTheOrderOfTheOptions() async throws {
        for words in [
            ["--data-raw", "1", "-d", "2", "--data-urlencode", "3", "--data-binary", "4"],
            ["--data-binary", "1", "--data-urlencode", "2", "-d", "3"],
        ] {
            let request = try RequestArguments.parse(words + ["a.example"]).request(method: nil)
            let expected = stride(from: 1, to: words.count, by: 2).map { words[$0] }.joined(separator: "&")
            #expect(request.body.bufferedData == Data(expected.utf8))
        }
    }

    /// An odd entry of the file of passwords is of no concern to the others.
    @Test func anInvalidNetrcEntryDoesNotAffectOtherHosts() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("machine odd.example logn x\nmachine 127.0.0.1 login u password p\n".utf8).write(to: file)
        try await withRawServer { (server: RawServer) async throws in
            #expect(try await CommandProcess.run("get", server.url, "--netrc-file", file.path).status == 0)
            #expect(server.lastHead.contains("Authorization: Basic dTpw"))
        }
        let odd = try await CommandProcess.run("get", "http://odd.example/", "--netrc-file", file.path)
        #expect(odd.status == 64 && odd.errors.contains("line 1: there is an unknown word"), "\(odd.errors)")
    }
}
