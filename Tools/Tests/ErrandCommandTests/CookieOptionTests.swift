import DemoServer
import Errand
import ErrandMockServer
import ErrandTesting
import Foundation
import Testing

@testable import ErrandCommand

/// The options `--cookie` and `--cookie-jar`.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CookieOptionTests {
    private static let head = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
    private static let signIn = ["-d", "user=joe", "-d", "password=pw"]

    /// A line of a file of cookies.
    private static func line(_ name: String, _ value: String, host: String = "127.0.0.1", path: String = "/", expiry: Int = 0) -> String {
        "\(host)\tFALSE\t\(path)\tFALSE\t\(expiry)\t\(name)\t\(value)\n"
    }

    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func run(_ arguments: [String], in folder: URL, input: Data? = nil) async throws -> CommandProcess.Outcome {
        try await CommandProcess(arguments, input: input, in: folder).outcome()
    }

    private func text(_ name: String, in folder: URL) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test func aFormLoginLastsForTheNextCommand() async throws {
        try await withDemoServer { (url: String) async throws in
            try await inFolder { (folder: URL) async throws in
                let first = try await run(["-L", "\(url)/login", "-b", "jar", "-c", "jar"] + Self.signIn, in: folder)
                #expect(first.text == #"{"name":"joe"}"# && first.errors.isEmpty, "\(first.errors)")
                let jar = try text("jar", in: folder)
                #expect(jar.hasPrefix(Self.head + "#HttpOnly_127.0.0.1\tFALSE\t/v1\tFALSE\t0\tsession\t"), "\(jar)")
                let next = try await run(["\(url)/profile", "-b", "jar"], in: folder)
                #expect(next.text == first.text && next.errors.isEmpty, "\(next.errors)")
                #expect(try text("jar", in: folder) == jar)
                let end = try await run(["-XPOST", "\(url)/logout", "-bjar", "-cjar"], in: folder)
                #expect(end.status == 0 && end.errors.isEmpty, "\(end.errors)")
                #expect(try text("jar", in: folder) == Self.head)
                #expect(try await run(["\(url)/profile", "-b", "jar", "-w", "%{http_code}"], in: folder).text == "302")
            }
        }
    }

    @Test(arguments: [["-b", ""], ["-c", "-", "-o", "/dev/null"], ["-c", "/dev/null"]])
    func aRedirectSendsTheCookiesOfTheResponse(arguments: [String]) async throws {
        try await withDemoServer { (url: String) async throws in
            try await inFolder { (folder: URL) async throws in
                let words = ["-L", "\(url)/login", "-w", "%{http_code} %{num_redirects} %{url_effective}\n"] + Self.signIn
                let outcome = try await run(words + arguments, in: folder)
                #expect(outcome.text.contains("200 1 \(url)/profile\n") && outcome.errors.isEmpty, "\(outcome)")
                // Without a jar, the page of the form is the last page.
                #expect(try await run(words, in: folder).text.contains("200 2 \(url)/login\n"))
            }
        }
    }

    @Test func theJarIsShownOnStandardOutput() async throws {
        let response = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/x\r\nSet-Cookie: =nameless\r\nContent-Length: 3\r\n\r\nhi\n"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            try await inFolder { (folder: URL) async throws in
                let outcome = try await run([server.url, "-c", "-"], in: folder)
                #expect(outcome.text == "hi\n" + Self.head + Self.line("a", "1", path: "/x"))
                #expect(outcome.errors == "errand: warning: --cookie-jar: the file has no form for 1 of the 2 cookies\n")
            }
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func charactersThatSteerATerminalAreEscapedThere() async throws {
        let odd: [Unicode.Scalar] = ["\u{9B}", "\u{202E}"]
        let response = "HTTP/1.1 200 OK\r\nSet-Cookie: a=\u{9B}31m\u{202E}; Path=/x\u{9B}\r\nContent-Length: 0\r\n\r\n"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            let shown = try await CommandProcess.onATerminal("\(server.url) -c -").text
            #expect(shown.contains("127.0.0.1") && shown.contains("31m"), "\(shown.debugDescription)")
            #expect(!shown.unicodeScalars.contains(where: odd.contains), "\(shown.debugDescription)")
            // A pipe gets the cookies as a file gets them.
            let piped = try await CommandProcess.run(server.url, "-c", "-").text
            #expect(piped == Self.head + Self.line("a", "\u{9B}31m\u{202E}", path: "/x\u{9B}"))
        }
    }

    @Test(arguments: [
        (["-b", "jar"], "Cookie: sid=1"), (["-b", "@jar"], "Cookie: sid=1"), (["-b", "@j=ar"], "Cookie: own=2"),
        (["-b", "jar", "-b", "@j=ar"], "Cookie: sid=1; own=2"), (["-b", "-"], "Cookie: typed=3"),
        (["-b", "jar", "-b", "x=y; z"], "Cookie: sid=1; x=y; z"), (["-b", "x=y", "-b", "jar"], "Cookie: sid=1; x=y"),
        (["-b", "x=y", "-b", "z=w", "-b", ""], "Cookie: x=y; z=w"), (["-b", "jar", "-b", "x=y", "-H", "Cookie: c=d"], "Cookie: c=d"),
        (["-b", "jar", "-b", "x=y", "-H", "Cookie:"], "Cookie: sid=1"), (["-b", ""], nil), (["-c", "new"], nil), (["-b", "other"], nil),
    ]) func theCookiesOfFilesGoToTheirHosts(arguments: [String], line: String?) async throws {
        try await withRawServer { (server: RawServer) async throws in
            try await inFolder { (folder: URL) async throws in
                let files = [
                    "jar": Self.line("sid", "1") + Self.line("deep", "1", path: "/deep") + Self.line("old", "1", expiry: 1),
                    "j=ar": "#HttpOnly_" + Self.line("own", "2"), "other": Self.line("sid", "1", host: "a.example"),
                ]
                for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
                let typed = arguments.contains("-") ? Data(Self.line("typed", "3").utf8) : Data()
                let outcome = try await run([server.url] + arguments, in: folder, input: typed)
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
                #expect(server.lastHead.filter { $0.hasPrefix("Cookie:") } == [line].compactMap { $0 })
            }
        }
    }

    @Test func anotherOriginGetsNoCookie() async throws {
        try await withRawServer { (other: RawServer) async throws in
            let redirect = "HTTP/1.1 302 Found\r\nLocation: http://localhost:\(other.port)/\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
            try await withRawServer(response: redirect) { (server: RawServer) async throws in
                try await inFolder { (folder: URL) async throws in
                    try Data(Self.line("sid", "1").utf8).write(to: folder.appendingPathComponent("jar"))
                    let outcome = try await run(["-L", server.url, "-b", "jar", "-b", "x=y", "-c", "new"], in: folder)
                    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
                    #expect(server.lastHead.contains("Cookie: sid=1; x=y"))
                    #expect(!other.requests.isEmpty && !other.lastHead.contains { $0.hasPrefix("Cookie:") }, "\(other.lastHead)")
                    #expect(try text("new", in: folder) == Self.head + Self.line("sid", "1") + Self.line("b", "2"))
                }
            }
        }
    }

    @Test func aJarReplacesASymbolicLink() async throws {
        try await inFolder { (folder: URL) async throws in
            let link = folder.appendingPathComponent("jar").path
            try Data(Self.line("sid", "1").utf8).write(to: folder.appendingPathComponent("target"))
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target")
            let outcome = try await run(["http://127.0.0.1:1/", "-b", "jar", "-c", "jar"], in: folder)
            #expect(outcome.status == 6)
            #expect(try text("jar", in: folder) == Self.head + Self.line("sid", "1"))
            #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == nil)
            #expect(try text("target", in: folder) == Self.line("sid", "1"))
        }
    }

    @Test func aJarIsPrivateAndIsWrittenAfterAFailure() async throws {
        try await inFolder { (folder: URL) async throws in
            let file = folder.appendingPathComponent("jar")
            let made = FileManager.default.createFile(
                atPath: file.path, contents: Data(Self.line("sid", "1").utf8), attributes: [.posixPermissions: 0o644])
            #expect(made)
            let outcome = try await run(["http://127.0.0.1:1/", "-b", "jar", "-c", "jar"], in: folder)
            #expect(outcome.status == 6)
            #expect(try text("jar", in: folder) == Self.head + Self.line("sid", "1"))
            let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(permissions == 0o600)
        }
    }

    /// In the middle of a body.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func aJarIsWrittenAfterASignal(signal: Int32) async throws {
        try await withMockServer { server in
            server.dispatch { _ in .text("four", headers: [.setCookie: "a=1; Path=/"]).fault(.stall, at: .responseBody) }
            try await inFolder { (folder: URL) async throws in
                let jar = folder.appendingPathComponent("jar")
                try Data(Self.line("sid", "1", host: "a.example").utf8).write(to: jar)
                let command = try CommandProcess([server.url("/x"), "-b", "jar", "-c", "jar"], in: folder)
                await command.waitForOutput(containing: "fo")
                kill(command.process.processIdentifier, signal)
                let outcome = try await command.outcome()
                #expect(outcome.status == 128 + signal && command.process.terminationReason == .exit && outcome.errors.isEmpty)
                let written = try text("jar", in: folder)
                #expect(written.hasPrefix(Self.head + Self.line("sid", "1", host: "a.example")), "\(written)")
                #expect(written.hasSuffix("\tFALSE\t/\tFALSE\t0\ta\t1\n"), "\(written)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["jar"])
            }
        }
    }

    @Test(arguments: [
        (["-b", "none"], "--cookie: there is no file 'none'"), (["-b", "."], "--cookie: cannot read '.'"),
        (["-b", "bad"], "--cookie: 'bad': line 2: the path does not begin with a slash (and 1 more)"),
        (["-b", "suffix"], "--cookie: 'suffix': the cookie 'sid' was refused: its domain is a public suffix (and 1 more)"),
        (["-b", "/dev/zero"], "--cookie: cannot use the cookies: the cookies have more than 16 MiB"),
        (["-c", "none/jar"], "--cookie-jar: cannot "),
    ]) func anUnusableFileIsAWarning(arguments: [String], message: String) async throws {
        try await withRawServer { (server: RawServer) async throws in
            try await inFolder { (folder: URL) async throws in
                let bad = Self.line("sid", "1") + Self.line("p", "s3cret", path: "x") + "s3cret\n"
                try Data(bad.utf8).write(to: folder.appendingPathComponent("bad"))
                let suffixes = ["co.uk", "org"].map { ".\($0)\tTRUE\t/\tFALSE\t0\tsid\ts3cret\n" }.joined()
                try Data(suffixes.utf8).write(to: folder.appendingPathComponent("suffix"))
                let outcome = try await run([server.url] + arguments, in: folder)
                #expect(outcome.status == 0 && outcome.errors.hasPrefix("errand: warning: \(message)"), "\(outcome.errors)")
                #expect(!outcome.errors.contains("s3cret") && server.requests.count == 1)
                let silent = try await run(["-s", server.url] + arguments, in: folder)
                #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent.errors)")
            }
        }
    }

    @Test func theProtocolOfACallShowsNoValue() async throws {
        let response = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=s3cret\r\nSet-Cookie: b=s3cret; Domain=a.example\r\nContent-Length: 0\r\n\r\n"
        try await withRawServer(response: response) { (server: RawServer) async throws in
            try await inFolder { (folder: URL) async throws in
                try Data(Self.line("own", "s3cret").utf8).write(to: folder.appendingPathComponent("jar"))
                let outcome = try await run(["-v", server.url, "-b", "jar", "-b", "x=s3cret"], in: folder)
                #expect(outcome.errors.contains("> Cookie: ") && !outcome.errors.contains("s3cret"), "\(outcome.errors)")
                #expect(outcome.errors.contains("* cookies: refused 1 of 2 cookies of the response; the cookie 'b' was refused"))
                let curl = try await run(["--curl", server.url, "-b", "jar", "-b", "@j=ar", "-b", "x=s3cret", "-c", "new"], in: folder)
                let words = curl.text.split { " \\\n".contains($0) }.map(String.init)
                let expected = [
                    ["--cookie", "jar"], ["--cookie", "'@j=ar'"], ["--cookie", "'REDACTED=REDACTED'"], ["--cookie-jar", "new"],
                ]
                for pair in expected {
                    #expect(zip(words, words.dropFirst()).contains { [$0, $1] == pair }, "\(pair) in \(curl.text)")
                }
                #expect(!curl.text.contains("s3cret"))
            }
        }
    }
}
