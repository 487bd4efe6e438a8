import Foundation
import Testing

@testable import ErrandCommand

/// The option `--cache`, and `errand cache`.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CacheOptionTests {
    #if SQLite
    private static let fresh = reply("Cache-Control: max-age=600", "ETag: \"1\"")

    private static func reply(_ fields: String..., status: String = "200 OK", body: String = "news") -> String {
        let all = fields + ["Content-Type: text/plain", "Content-Length: \(body.utf8.count)"]
        return "HTTP/1.1 \(status)\r\n" + all.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }

    private func withCache(_ response: String = fresh, _ body: (_ folder: String, RawServer) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "errand-cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try RawServer(response: response)
        defer { server.stop() }
        try await body(folder, server)
    }

    /// Returns a line of a list without the time for which the response stays fresh.
    private static func place(of line: String) -> String { line.replacing(#/fresh for [0-9]+ s/#, with: "") }

    private func lines(_ outcome: CommandProcess.Outcome) -> [String] { outcome.text.split(separator: "\n").map(String.init) }

    @Test func aSecondCommandUsesTheStoredResponse() async throws {
        try await withCache { folder, server in
            let url = server.url + "/news?page=1"
            let first = try await CommandProcess.run("-v", "--cache", folder, url)
            #expect(first.status == 0 && first.text == "news", "\(first.errors)")
            #expect(first.errors.contains("* cache: fwd=uri-miss\n"), "\(first.errors)")
            #expect(first.errors.contains("* cache: fwd=uri-miss; fwd-status=200; "), "\(first.errors)")
            let second = try await CommandProcess.run("-v", "-w", " %{http_code} %{num_connects}", "--cache", folder, url)
            #expect(second.status == 0 && second.text == "news 200 0", "\(second.errors)")
            #expect(second.errors.contains(#/\* cache: hit; ttl=[56][0-9][0-9]/#) && !second.errors.contains("> GET"), "\(second.errors)")
            #expect(server.requests.count == 1)
            let other = try await CommandProcess.run("--cache", folder, server.url + "/news?page=2")
            #expect(other.status == 0 && other.errors.isEmpty && server.requests.count == 2, "\(other.errors)")
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        }
    }

    @Test func aRequestForAStoredResponseIsNotSent() async throws {
        try await withCache { folder, server in
            let only = ["--cache", folder, "-H", "Cache-Control: only-if-cached", server.url]
            for extra in [[], ["--no-fail"]] {
                let missing = try await CommandProcess(only + extra).outcome()
                let reason = "the request allows only a stored response, and no response is stored for the URL"
                #expect(missing.status == 6 && missing.text.isEmpty && missing.errors.contains("errand: nothing was sent: \(reason)\n"))
            }
            let silent = try await CommandProcess(only + ["-s"]).outcome()
            #expect(silent.status == 6 && silent.errors.isEmpty && server.requests.isEmpty, "\(silent.errors)")
            _ = try await CommandProcess.run("--cache", folder, server.url)
            let stored = try await CommandProcess(only).outcome()
            #expect(stored.status == 0 && stored.text == "news" && server.requests.count == 1, "\(stored.errors)")
        }
    }

    @Test func theCommandSaysWhyAResponseIsNotStored() async throws {
        try await withCache(Self.reply("Cache-Control: no-store")) { folder, server in
            let outcome = try await CommandProcess.run("-v", "--cache", folder, server.url)
            #expect(outcome.status == 0 && outcome.errors.contains("* cache: fwd=uri-miss; fwd-status=200; detail=no-store\n"))
        }
        try await withCache { folder, server in
            let outcome = try await CommandProcess.run("-v", "--cache", folder, "-u", "joe:secret", server.url)
            #expect(outcome.status == 0 && outcome.errors.contains("; detail=no-account\n") && !outcome.errors.contains("secret"))
        }
    }

    @Test func aStaleResponseIsConfirmed() async throws {
        try await withCache(Self.reply("Cache-Control: max-age=0", "ETag: \"1\"")) { folder, server in
            for _ in 0..<2 {
                let outcome = try await CommandProcess.run("--cache", folder, server.url)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            #expect(server.lastHead.contains { $0.lowercased() == "if-none-match: \"1\"" }, "\(server.lastHead)")
        }
    }

    @Test(arguments: [
        ["-u", "joe:secret"], ["--digest", "-u", "joe:secret"], ["--oauth2-bearer", "secret"], ["-H", "Authorization: X secret"],
        ["-b", "id=secret"], ["-b", "id=secret", "-L"], ["-H", "Cookie: id=secret"], ["-H", "X-API-Key: secret"],
    ])
    func responsesToRequestsWithCredentialsAreNotKept(credentials: [String]) async throws {
        try await withCache { folder, server in
            for _ in 0..<2 {
                let outcome = try await CommandProcess(["--cache", folder, server.url] + credentials).outcome()
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            // The first request of Digest has no credentials, so its response is kept.
            let isDigest = credentials.contains("--digest")
            let stats = try await CommandProcess.run("cache", "stats", folder).text
            #expect(stats.hasPrefix("responses: \(isDigest ? 1 : 0) of") && server.requests.count == (isDigest ? 1 : 2), "\(stats)")
        }
    }

    @Test func anUnusableFolderIsAWarning() async throws {
        try await withCache { folder, server in
            #expect(FileManager.default.createFile(atPath: folder, contents: Data("a file".utf8)))
            let outcome = try await CommandProcess.run("--cache", folder, server.url)
            #expect(outcome.status == 0 && outcome.text == "news")
            #expect(outcome.errors.hasPrefix("errand: warning: --cache: the folder '\(folder)' can't be used: "), "\(outcome.errors)")
            let silent = try await CommandProcess.run("-s", "--cache", folder, server.url)
            #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent.errors)")
        }
    }

    @Test func aFolderWithOtherFilesIsNotUsed() async throws {
        try await withCache { folder, server in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            try Data("page".utf8).write(to: URL(fileURLWithPath: folder + "/index.html"))
            let outcome = try await CommandProcess.run("--cache", folder, server.url)
            #expect(outcome.status == 64 && outcome.errors.contains("has other files"), "\(outcome.errors)")
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o755 && server.requests.isEmpty)
        }
    }

    @Test func theResponsesAreListedShownAndRemoved() async throws {
        try await withCache(Self.reply("Cache-Control: max-age=600", "Vary: Accept-Language")) { folder, server in
            for (path, language) in [("/a?token=hidden", "de"), ("/b", "de"), ("/b", "en")] {
                let outcome = try await CommandProcess.run("--cache", folder, "-H", "Accept-Language: \(language)", server.url + path)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            let list = lines(try await CommandProcess.run("cache", "list", folder))
            #expect(
                list.count == 3 && list.allSatisfy { $0.hasPrefix("200  4 B  fresh for ") && $0.hasSuffix("(varies by accept-language)") },
                "\(list)")
            let second = lines(try await CommandProcess.run("cache", "list", folder))
            #expect(second.map(Self.place(of:)) == list.map(Self.place(of:)), "a list changes no order: \(second)")
            #expect(!list.joined().contains("hidden") && list.last?.contains("/a?token=REDACTED") == true, "\(list)")

            let shown = try await CommandProcess.run("cache", "show", folder, server.url + "/b", "-H", "Accept-Language: en")
            #expect(shown.status == 0 && shown.text.hasPrefix("HTTP/1.1 200 OK\r\n") && shown.text.hasSuffix("\r\n\r\nnews"), "\(shown)")
            #expect(shown.errors.hasPrefix("* cache: hit; ttl="), "\(shown.errors)")
            let other = try await CommandProcess.run("cache", "show", folder, server.url + "/b")
            #expect(other.status == 4 && other.errors.contains("use -H"), "\(other.errors)")
            let missing = try await CommandProcess.run("cache", "show", folder, server.url + "/c")
            #expect(missing.status == 4 && missing.errors == "errand: no response to \(server.url)/c is stored\n", "\(missing.errors)")

            let stats = lines(try await CommandProcess.run("cache", "stats", folder))
            #expect(stats.count == 4 && stats.first == "responses: 3 of at most 10000", "\(stats)")
            #expect(stats.last == "127.0.0.1:\(server.port): 3, with 12 bytes of bodies", "\(stats)")

            let removed = try await CommandProcess.run("cache", "remove", folder, server.url + "/b", server.url + "/c")
            #expect(removed.status == 0 && removed.text == "removed: 2\n", "\(removed)")
            #expect(try await CommandProcess.run("cache", "remove", folder, server.url + "/b").status == 4)
            let cleared = try await CommandProcess.run("cache", "clear", folder)
            #expect(cleared.status == 0 && cleared.text == "removed: 1\n", "\(cleared)")
            #expect(try await CommandProcess.run("cache", "list", folder).text.isEmpty)
            #expect(server.requests.count == 3)
        }
    }

    @Test func aShownResponseHasNoSecrets() async throws {
        let reply = Self.reply("Cache-Control: max-age=600", "Set-Cookie: id=the-secret", "X-Text: é \"quoted\"")
        try await withCache(reply) { folder, server in
            #expect(try await CommandProcess.run("--cache", folder, server.url).status == 0)
            let shown = try await CommandProcess.run("cache", "show", folder, server.url)
            #expect(shown.status == 0 && shown.text.hasSuffix("\r\n\r\nnews"), "\(shown)")
            #expect(shown.text.contains("X-Text: é \"quoted\"\r\n"), "\(shown)")
            #expect(shown.text.contains("Set-Cookie: <redacted>\r\n") && !shown.text.contains("the-secret"), "\(shown)")
            // With -i, the user asks for the head.
            let sent = try await CommandProcess.run("-i", "--cache", folder, server.url)
            #expect(sent.text.contains("Set-Cookie: id=the-secret\r\n"), "\(sent)")
        }
    }

    @Test(arguments: ["list", "clear", "stats"]) func aFolderWithoutACacheIsNotCreated(name: String) async throws {
        let folder = NSTemporaryDirectory() + "errand-cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let outcome = try await CommandProcess.run("cache", name, folder)
        #expect(outcome.status == 64 && outcome.errors.contains("there is no cache in '\(folder)'"), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
    #else
    @Test func aBuildWithoutSQLiteHasNoCache() async throws {
        for words in [["--cache", "/nonexistent", "http://localhost:1"], ["cache", "list", "/nonexistent"]] {
            let outcome = try await CommandProcess(words).outcome()
            #expect(outcome.status == 64 && outcome.errors.contains("this build of errand has no cache"), "\(outcome.errors)")
        }
    }
    #endif
}
