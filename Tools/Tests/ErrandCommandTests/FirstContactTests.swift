import ArgumentParser
import Foundation
import Testing

@testable import ErrandCommand

/// The first use of the command by a new user.
@Suite(.timeLimit(.minutes(5)), .serialized) struct FirstContactTests {
    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    // MARK: - Methods and subcommands

    @Test(arguments: [["post"], ["put"], ["patch"], ["delete"], ["-X", "POST"], ["-d", "a=b"], ["post", "-d", "a=b"]])
    func theHeadOptionRefusesOtherMethods(words: [String]) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words + ["-I", server.url]).outcome()
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains("-I sends HEAD") && outcome.errors.contains("-i "))
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [[], ["get"], ["head"], ["-X", "GET"], ["-G", "-d", "a=b"]]) func theHeadOptionSendsHead(words: [String]) async throws
    {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words + ["-I", server.url]).outcome()
            #expect(outcome.status == 0 && outcome.text.hasPrefix("HTTP/1.1 204 No Content\r\n"))
            #expect(server.requests.count == 1 && server.lastHead.first?.hasPrefix("HEAD /") == true)
        }
    }

    @Test(arguments: [
        ("gett", "did you mean 'get'?"), ("delte", "did you mean 'delete'?"), ("options", "errand -X OPTIONS <url>"),
        ("fetch", "the subcommands are send, get, post"),
    ]) func aMisspeltSubcommandIsNamed(word: String, hint: String) async throws {
        let outcome = try await CommandProcess.run(word, "http://127.0.0.1:1/")
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("there is no subcommand '\(word)'") && outcome.errors.contains(hint))
    }

    @Test func wordsOfOtherCommandsAreUnderstood() async throws {
        let body = try await CommandProcess.run("--fail-with-body", "http://127.0.0.1:1/")
        #expect(body.status == 64 && body.errors.contains("--fail-with-body': this is the default"))
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("POST", server.url, "a=b")
            #expect(outcome.status == 0 && server.lastHead.first?.hasPrefix("POST /") == true)
        }
    }

    // MARK: - Usage

    @Test func theUsageNamesTheURLAndTheOptions() async throws {
        for name in ["get", "post", "put", "patch", "delete", "head"] {
            let missing = try await CommandProcess.run(name)
            #expect(missing.errors.contains("Usage: errand \(name) [<options>] <url> [<item> ...]\n"))
            // Found by the parser, and found later.
            let late = try await CommandProcess.run(name, "ftp://a.example/")
            #expect(late.status == 64 && late.errors.contains("Usage: errand \(name) [<options>] <url> [<item> ...]\n"))
            #expect(late.errors.contains("See 'errand \(name) --help'"))
        }
        #expect(try await CommandProcess.run("--help").text.contains("USAGE: errand [<options>] <url> [<item> ...]\n"))
        #expect(try await CommandProcess.run("ftp://a.example/").errors.contains("Usage: errand [<options>] <url> [<item> ...]\n"))
    }

    @Test(arguments: [
        ("auth", "       errand auth status [<name>]\n"), ("cache", "       errand cache remove <folder> <url> ...\n"),
    ]) func theUsageOfAGroupNamesTheArguments(group: String, line: String) async throws {
        let outcome = try await CommandProcess.run(group, "--no-such-option")
        #expect(outcome.status == 64 && outcome.errors.contains(line), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("\n  See 'errand \(group) --help' for more information.\n"), "\(outcome.errors)")
        #expect(try await CommandProcess.run(group, "--help").text.contains(line))
    }

    @Test func numbersOutOfRangeAreShownWithTheirRule() async throws {
        let zero = try await CommandProcess.run("get", "--max-time", "0", "a.example")
        #expect(zero.errors.contains("--max-time must be more than 0 and less than 1000000000 seconds (is 0)"))
        let retry = try await CommandProcess.run("get", "--retry", "101", "a.example")
        #expect(retry.errors.contains("--retry must be 0 to 100 (is 101)"))
        let port = try await CommandProcess.run("serve", "-p", "70000")
        #expect(port.status == 64 && port.errors.contains("--port must be 0 to 65535 (is 70000)"))
    }

    @Test func aTakenPortIsExplained() async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("serve", "-p", "\(server.port)")
            #expect(outcome.status == 6)
            #expect(
                outcome.errors == "errand: cannot serve on port \(server.port): another program uses this port. "
                    + "Choose another port, or leave out --port for a free port\n")
        }
    }

    // MARK: - URLs and hosts

    @Test func aPastedURLIsSent() async throws {
        try await withRawServer { (server: RawServer) async throws in
            #expect(try await CommandProcess.run("get", "\(server.url)/ä?q=ü b#top").status == 0)
            #expect(server.lastHead.first == "GET /%C3%A4?q=%C3%BC%20b HTTP/1.1")
            #expect(try await CommandProcess.run("-G", "-d", "q=ü b", server.url).status == 0)
            #expect(server.lastHead.first == "GET /?q=%C3%BC%20b HTTP/1.1")
        }
    }

    @Test func aPortAloneMeansLocalhost() async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run(":\(server.port)/x", "-w", "%{url_effective}")
            #expect(outcome.status == 0 && outcome.text == "http://localhost:\(server.port)/x")
        }
    }

    @Test func aHostIsResolvedToTheAddressThatIsGiven() async throws {
        try await withRawServer { (server: RawServer) async throws in
            let url = "http://nowhere.invalid:\(server.port)/"
            #expect(try await CommandProcess.run("get", url, "--resolve", "nowhere.invalid:\(server.port):127.0.0.1").status == 0)
            #expect(server.lastHead.contains { $0.lowercased() == "host: nowhere.invalid:\(server.port)" })
            let several = "nowhere.invalid:\(server.port):127.0.0.1,[::1]"
            #expect(try await CommandProcess.run("get", url, "--resolve", several).status == 0)
            // For another port.
            #expect(try await CommandProcess.run("get", url, "--resolve", "nowhere.invalid:1:127.0.0.1").status == 6)
            for entry in [
                "nowhere.invalid", "nowhere.invalid:80", "nowhere.invalid:80:localhost", "nowhere.invalid:0:127.0.0.1", ":80:127.0.0.1",
                "nowhere.invalid:80:127.0.0.1,", "nowhere.invalid:80:127.0.0.1,localhost",
            ] {
                let outcome = try await CommandProcess.run("get", url, "--resolve", entry)
                #expect(outcome.status == 64 && outcome.errors.contains("--resolve must"))
            }
        }
    }

    @Test func theErrorOfCredentialsInAURLNamesTheOption() async throws {
        let outcome = try await CommandProcess.run("get", "http://user:pw@127.0.0.1:1/")
        #expect(outcome.status == 64 && outcome.errors.contains("Use -u USER:PASSWORD"))
    }

    // MARK: - TLS

    @Test func tlsToAServerWithoutItNamesTheScheme() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", url.replacing("http:", with: "https:") + "/notes")
            #expect(outcome.status == 6)
            #expect(outcome.errors.contains("Use http:// in place of https://") && !outcome.errors.contains("--cacert"))
        }
    }

    @Test func anUncheckedServerOfThisMachineHasNoProxy() async throws {
        #expect(try await CommandProcess.run("get", "-k", "-x", "http://127.0.0.1:1", "https://localhost/").status == 64)
        #expect(try await CommandProcess.run("get", "-k", "-x", "http://127.0.0.1:1", "https://a.example/").status == 6)
    }

    @Test(arguments: [
        (["-k", "https://a.example/"], true), (["-k", "https://A.example:8443/"], true), (["-k", "https://192.0.2.7/"], true),
        (["-k", "http://a.example/"], false), (["-k", "-L", "http://a.example/"], true), (["-k", "https://localhost/"], false),
        (["-k", "https://127.0.0.1/"], false), (["-k", "https://[::1]/"], false), (["https://a.example/"], false),
    ]) func aServerThatIsNotAuthenticatedIsNamed(words: [String], isWarned: Bool) throws {
        let warning = try RequestArguments.parse(words).insecureWarning
        #expect((warning != nil) == isWarned)
        if let warning { #expect(warning.contains("the server is not authenticated") && warning.contains("--cacert FILE")) }
    }

    private static let openssl = "/usr/bin/openssl"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no /usr/bin/openssl here"))
    func anyCertificateOfThisMachineIsTrustedOnDemand() async throws {
        try await inFolder { (folder: URL) async throws in
            let make = try CommandProcess(
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=other.example", "-keyout", "key.pem",
                    "-out",
                    "cert.pem",
                ], running: [Self.openssl], in: folder)
            #expect(try await make.outcome().status == 0)
            let port = try freePort()
            let server = try CommandProcess(
                ["s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-www"], running: [Self.openssl],
                in: folder)
            // It may have inherited that it ignores other signals.
            defer { kill(server.process.processIdentifier, SIGKILL) }
            await server.waitForOutput(containing: "ACCEPT")
            let refused = try await CommandProcess.run("get", "https://127.0.0.1:\(port)/")
            #expect(refused.status == 6)
            #expect(refused.errors.contains("--cacert FILE") && refused.errors.contains("-k"))
            let trusted = try await CommandProcess.run("get", "-k", "https://127.0.0.1:\(port)/", "-o", "/dev/null", "-w", "%{http_code}")
            #expect(trusted.text == "200" && trusted.errors.isEmpty, "\(trusted.errors)")
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no /usr/bin/openssl here"))
    func aSelfSignedCertificateIsTrustedByItsFile() async throws {
        try await inFolder { (folder: URL) async throws in
            let make = try CommandProcess(
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=own", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
                ], running: [Self.openssl], in: folder)
            #expect(try await make.outcome().status == 0)
            let port = try freePort()
            let server = try CommandProcess(
                ["s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-www"], running: [Self.openssl],
                in: folder)
            defer { kill(server.process.processIdentifier, SIGKILL) }
            await server.waitForOutput(containing: "ACCEPT")
            let url = "https://127.0.0.1:\(port)/"
            let refused = try await CommandProcess.run("get", url)
            #expect(refused.status == 6 && refused.errors.contains("or a self-signed certificate itself, with --cacert FILE"))
            let trusted = try await CommandProcess.run("get", "-v", "--cacert", "cert.pem", url, "-o", "/dev/null", in: folder)
            #expect(trusted.status == 0, "\(trusted.errors)")
            let handshake = #/\n\* TLS handshake done in [0-9]+ ms; the connection uses HTTP/1\.1\n> GET / HTTP/1\.1\n/#
            #expect(trusted.errors.contains(handshake), "\(trusted.errors)")
        }
    }

    /// As curl does it, but for the warning, and for the host of a redirect.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no /usr/bin/openssl here"))
    func anyCertificateOfAnyHostIsTrustedOnDemand() async throws {
        try await inFolder { (folder: URL) async throws in
            let make = try CommandProcess(
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=other.example", "-keyout", "key.pem",
                    "-out", "cert.pem",
                ], running: [Self.openssl], in: folder)
            #expect(try await make.outcome().status == 0)
            let port = try freePort()
            let server = try CommandProcess(
                ["s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-www"], running: [Self.openssl],
                in: folder)
            defer { kill(server.process.processIdentifier, SIGKILL) }
            await server.waitForOutput(containing: "ACCEPT")
            let (url, own) = (
                "https://staging.example:\(port)/", ["--resolve", "*:\(port):127.0.0.1", "-o", "/dev/null", "-w", "%{http_code}"]
            )
            let checked = try await CommandProcess([url] + own).outcome()
            #expect(
                checked.status == 6 && checked.errors.contains("--cacert FILE. -k skips the check")
                    && !checked.errors.contains("extraRootsPEMFiles"), "\(checked.errors)")
            let trusted = try await CommandProcess(["-k", url] + own).outcome()
            #expect(trusted.status == 0 && trusted.text == "200", "\(trusted.errors)")
            #expect(
                trusted.errors.hasPrefix("errand: warning: the certificate of staging.example is not checked (-k), so the server is not "))
            #expect(try await CommandProcess(["-sk", url] + own).outcome().errors.isEmpty)
            #expect(try await CommandProcess(["-sSk", url] + own).outcome().errors.contains("staging.example"))
            // Another host is checked.
            let redirect = "HTTP/1.1 302 Found\r\nLocation: https://prod.example:\(port)/\r\nContent-Length: 0\r\n\r\n"
            try await withRawServer(response: redirect) { (start: RawServer) async throws in
                let moved = "http://staging.example:\(start.port)/"
                let outcome = try await CommandProcess(
                    ["-kL", moved, "--resolve", "*:\(start.port):127.0.0.1"] + own
                ).outcome()
                #expect(outcome.status == 6 && outcome.errors.contains("not of the host of a redirect"), "\(outcome.errors)")
            }
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no /usr/bin/openssl here"))
    func aRedirectFromHTTPSToHTTPIsFollowedOnDemand() async throws {
        try await inFolder { (folder: URL) async throws in
            let make = try CommandProcess(
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out",
                    "cert.pem",
                ], running: [Self.openssl], in: folder)
            #expect(try await make.outcome().status == 0)
            try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine") { (plain: RawServer) async throws in
                // With -HTTP, the server sends the file as a whole response.
                let redirect = "HTTP/1.1 302 Found\r\nLocation: \(plain.url)/end\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                try Data(redirect.utf8).write(to: folder.appendingPathComponent("moved"))
                let port = try freePort()
                let server = try CommandProcess(
                    ["s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-HTTP"],
                    running: [Self.openssl], in: folder)
                defer { kill(server.process.processIdentifier, SIGKILL) }
                await server.waitForOutput(containing: "ACCEPT")
                let url = "https://127.0.0.1:\(port)/moved"
                let refused = try await CommandProcess.run("get", "-kL", url, "-u", "joe:s3cret")
                #expect(refused.status == 6 && plain.requests.isEmpty, "\(refused.errors)")
                #expect(
                    refused.errors.contains("it leads from https to http. Follow it with --allow-downgrade.")
                        && !refused.errors.contains("allowsDowngrade"), "\(refused.errors)")
                let followed = try await CommandProcess.run("get", "-kL", "--allow-downgrade", url, "-u", "joe:s3cret")
                #expect(followed.status == 0 && followed.text == "fine", "\(followed.errors)")
                #expect(plain.requests.count == 1 && plain.requests.allSatisfy { !$0.lowercased().contains("authorization") })
            }
        }
    }

    /// Over HTTP/2, the server would have to say that it has ended. It is stopped, and does not.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no /usr/bin/openssl here"))
    func anInterruptWaitsForNoServer() async throws {
        try await inFolder { (folder: URL) async throws in
            let make = try CommandProcess(
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out",
                    "cert.pem",
                ], running: [Self.openssl], in: folder)
            #expect(try await make.outcome().status == 0)
            let port = try freePort()
            let server = try CommandProcess(
                ["s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-alpn", "h2"],
                running: [Self.openssl], in: folder, isInteractive: true)
            defer { kill(server.process.processIdentifier, SIGKILL) }
            await server.waitForOutput(containing: "ACCEPT")
            let command = try CommandProcess(["get", "-k", "https://127.0.0.1:\(port)/"])
            await server.waitForOutput(containing: "CIPHER is")
            kill(server.process.processIdentifier, SIGSTOP)
            let start = ContinuousClock.now
            kill(command.process.processIdentifier, SIGINT)
            #expect(try await command.outcome().status == 130)
            #expect(start.duration(to: .now) < .seconds(4))
        }
    }

    /// One that was free a moment ago.
    private func freePort() throws -> Int {
        let server = try RawServer()
        defer { server.stop() }
        return server.port
    }

    // MARK: - Failures

    @Test func aBodyThatBreaksOffIsNotRetried() async throws {
        try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello") { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", server.url, "--retry", "3")
            #expect(outcome.status == 6 && outcome.text == "hello")
            #expect(outcome.errors.contains("connection lost") && outcome.errors.contains("run the command again"))
            #expect(!outcome.errors.contains("--retry"))
            #expect(server.requests.count == 1)
        }
    }

    @Test(
        arguments: [
            (["-o", "/no/such/folder/x"], "create a file beside '/no/such/folder/x': the folder '/no/such/folder' does not exist"),
            (["-o", "/"], "write '/': it is a folder (errno 21)"),
            (["-D", "/no/such/folder/x"], "write '/no/such/folder/x': no such file or folder (errno 2)"),
            (["--har", "/dev/null/x"], "write '/dev/null/x': "),
            (["--har", "/no/such/folder/x"], "write '/no/such/folder/x': no such file or folder (errno 2)"),
        ])
    func anUnwritableFileHasItsOwnStatus(words: [String], failure: String) async throws {
        try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") { (server: RawServer) async throws in
            let outcome = try await CommandProcess(["get", server.url] + words).outcome()
            #expect(outcome.status == 23)
            #expect(outcome.errors.hasPrefix("errand: cannot \(failure)"))
        }
    }

    @Test(arguments: [("022", 0o644), ("077", 0o600)]) func aFileHasThePermissionsThatTheUmaskLeaves(umask: String, permissions: Int)
        async throws
    {
        try await inFolder { (folder: URL) async throws in
            let file = folder.appendingPathComponent("x").path
            try await withDemoServer { (url: String) async throws in
                let shell = ["/bin/sh", "-c", "umask \(umask) && exec \"$0\" \"$@\""]
                #expect(try await CommandProcess.run("get", "\(url)/notes", "-o", file, through: shell).status == 0)
                #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == permissions)
            }
        }
    }

    /// No other file is created, and no file replaces this file.
    @Test func aPipeWithANameIsWrittenToDirectly() async throws {
        try await inFolder { (folder: URL) async throws in
            let pipe = folder.appendingPathComponent("pipe").path
            #expect(mkfifo(pipe, 0o600) == 0)
            try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") { (server: RawServer) async throws in
                let reader = try CommandProcess([pipe], running: ["cat"])
                #expect(try await CommandProcess.run("get", server.url, "-o", pipe).status == 0)
                #expect(try await reader.outcome().text == "hi")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["pipe"])
            }
        }
    }

    @Test func anErrorPageIsNotWrittenOnDemand() async throws {
        try await inFolder { (folder: URL) async throws in
            let file = folder.appendingPathComponent("page").path
            try await withDemoServer { (url: String) async throws in
                let outcome = try await CommandProcess.run("get", "-f", "\(url)/notes/99", "-o", file)
                #expect(outcome.status == 4 && outcome.output.isEmpty)
                #expect(outcome.errors == "errand: GET \(url)/notes/99: 404 Not Found\n")
                #expect(!FileManager.default.fileExists(atPath: file))
                #expect(try await CommandProcess.run("get", "-fs", "\(url)/notes/99").errors.isEmpty)
                #expect(try await CommandProcess.run("get", "-fsS", "\(url)/notes/99").errors.contains("404"))
                #expect(try await CommandProcess.run("get", "-f", "\(url)/notes").text.contains("Buy tea"))
            }
        }
    }

    @Test func aBodyIsWrittenUnderTheNameInItsURL() async throws {
        try await inFolder { (folder: URL) async throws in
            try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") { (server: RawServer) async throws in
                let outcome = try await CommandProcess.run(
                    "get", "-O", "\(server.url)/x/report%20q.pdf?v=1", "-w", "%{filename_effective}", in: folder)
                #expect(outcome.status == 0 && outcome.text == "report q.pdf")
                #expect(try String(contentsOf: folder.appendingPathComponent("report q.pdf"), encoding: .utf8) == "hi")
                #expect(try await CommandProcess.run("get", "-O", server.url, in: folder).status == 64)
                #expect(try await CommandProcess.run("get", "-O", "-o", "x", "\(server.url)/x", in: folder).status == 64)
                #expect(server.requests.count == 1)
            }
        }
    }

    // MARK: - Bodies and credentials

    @Test func jsonFromAPipeIsSent() async throws {
        try await withRawServer { (server: RawServer) async throws in
            #expect(try await CommandProcess.run("post", server.url, input: Data(#"{"text":"Pour tea"}"#.utf8)).status == 0)
            #expect(server.requests.last?.hasSuffix("\r\n\r\n" + #"{"text":"Pour tea"}"#) == true)
            let head = server.lastHead.map { $0.lowercased() }
            #expect(head.contains("content-type: application/json") && head.contains("accept: application/json"))
            #expect(head.contains("content-length: 19"))
            #expect(try await CommandProcess.run("put", server.url, input: Data("text".utf8)).status == 0)
            #expect(server.requests.last?.hasSuffix("\r\n\r\ntext") == true)
            #expect(!server.lastHead.contains { $0.lowercased().hasPrefix("content-type") })
            // An empty pipe, an option for a body, and a method without one.
            #expect(try await CommandProcess.run("post", server.url, input: Data()).status == 0)
            #expect(server.lastHead.map { $0.lowercased() }.contains("content-length: 0"))
            #expect(try await CommandProcess.run("post", server.url, "-d", "a=b", input: Data("{}".utf8)).status == 0)
            #expect(server.requests.last?.hasSuffix("\r\n\r\na=b") == true)
            #expect(try await CommandProcess.run("get", server.url, input: Data("{}".utf8)).status == 0)
            #expect(server.requests.last?.hasSuffix("\r\n\r\n") == true)
        }
    }

    @Test func aLongPipeIsStreamed() async throws {
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("put", "\(url)/upload", input: Data(count: 3_000_000)).text == "3000000")
        }
    }

    private static let setsid = "/usr/bin/setsid"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: setsid), "there is no /usr/bin/setsid here"))
    func aPasswordIsRequiredWithoutATerminal() async throws {
        let outcome = try await CommandProcess.run("get", "-u", "joe", "http://127.0.0.1:1/", through: [Self.setsid, "-w"])
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("-u joe has no password. Use -u USER:PASSWORD"))
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func aPasswordIsAskedForWithoutShowingIt() async throws {
        try await withRawServer { (server: RawServer) async throws in
            let process = try CommandProcess.terminalProcess("get -u joe \(server.url)", isInteractive: true)
            await process.waitForOutput(containing: "Password for joe at 127.0.0.1:\(server.port): ")
            try process.type("s3cret")
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 && !outcome.text.contains("s3cret"))
            #expect(server.lastHead.contains { $0.hasSuffix(" Basic am9lOnMzY3JldA==") })
        }
    }

    // MARK: - Output

    /// Each line that is shown was sent, and each line that was sent is shown.
    @Test func verboseShowsTheSentHead() async throws {
        try await withRawServer { (server: RawServer) async throws in
            for words in [
                ["get", server.url + "/x?a=1"], ["post", server.url, "-j", "text=Pour tea"], ["post", server.url],
                ["delete", server.url, "-H", "X-Test: one"], ["get", server.url, "--compressed"], ["put", server.url, "-T", "-"],
                ["get", server.url, "-H", "Host: other.example"],
            ] {
                let outcome = try await CommandProcess(words + ["-v"], input: Data("text".utf8)).outcome()
                let shown = outcome.errors.split(separator: "\n").filter { $0.hasPrefix("> ") }.map { $0.dropFirst(2).lowercased() }
                #expect(shown.sorted() == server.lastHead.map { $0.lowercased() }.sorted())
                #expect(shown.first == server.lastHead.first?.lowercased())
                #expect(outcome.errors.contains("* connected to 127.0.0.1 port \(server.port)\n"))
            }
        }
    }

    @Test func variablesThatDoNotExistAreReported() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.run("get", "\(url)/lines", "-o", "/dev/null", "-w", "%{tiem} %{time_total} 100%%\\n")
            let warning = "errand: warning: --write-out has no variable 'tiem'. The variables are http_code, http_version, "
            #expect(outcome.errors.hasPrefix(warning) && outcome.errors.hasSuffix(" and header{NAME}\n"), "\(outcome.errors)")
            #expect(outcome.text.wholeMatch(of: #/%\{tiem\} [0-9]+\.[0-9]{6} 100%\n/#) != nil)
            let redirect = try await CommandProcess.run("get", "\(url)/redirect/2", "-w", "%{redirect_url}")
            #expect(redirect.text == "\(url)/redirect/1")
        }
    }

    @Test func colorCanBeAskedForAndRefused() async throws {
        try await withDemoServer { (url: String) async throws in
            let plain = try await CommandProcess.run("get", "\(url)/notes")
            #expect(!plain.text.contains("\n") && !plain.text.contains("\u{1b}"))
            let always = try await CommandProcess.run("get", "--color", "always", "\(url)/notes")
            #expect(always.text.contains("    \u{1b}[94m\"text\"\u{1b}[0m: \u{1b}[32m\"Buy tea\"\u{1b}[0m"))
            #expect(try await CommandProcess.run("get", "--color", "sometimes", "\(url)/notes").status == 64)
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func aTerminalWithoutColorGetsIndentationOnly() async throws {
        try await withDemoServer { (url: String) async throws in
            for environment in ["TERM=xterm NO_COLOR=1", "TERM=dumb"] {
                let outcome = try await CommandProcess.onATerminal("get -i \(url)/notes", environment: environment)
                #expect(outcome.text.contains("    \"text\": \"Buy tea\"") && !outcome.text.contains("\u{1b}"))
            }
            let never = try await CommandProcess.onATerminal("get --color never \(url)/notes")
            #expect(never.text.contains("    \"text\": \"Buy tea\"") && !never.text.contains("\u{1b}"))
            let head = try await CommandProcess.onATerminal("get -i \(url)/notes")
            #expect(
                head.text.contains("\u{1b}[92m200 OK\u{1b}[0m") && head.text.contains("\u{1b}[94mContent-Type\u{1b}[0m: application/json"))
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func aTerminalShowsTheStatusOfAnEmptyBody() async throws {
        try await inFolder { (folder: URL) async throws in
            let file = folder.appendingPathComponent("page").path
            try await withDemoServer { (url: String) async throws in
                #expect(try await CommandProcess.onATerminal("get \(url)/status/404").text == "404 Not Found\r\n")
                #expect(try await CommandProcess.onATerminal("get \(url)/status/204").text == "204 No Content\r\n")
                let redirect = try await CommandProcess.onATerminal("get \(url)/redirect/1")
                #expect(redirect.text == "302 Found → /v1/redirect/0, follow with -L\r\n")
                #expect(try await CommandProcess.onATerminal("get -L \(url)/redirect/1").text == "arrived")
                let saved = try await CommandProcess.onATerminal("get \(url)/notes/99 -o \(file)")
                #expect(saved.status == 4 && saved.text.contains("404 Not Found"))
                #expect(try await CommandProcess.onATerminal("get -s \(url)/status/404").text.isEmpty)
                #expect(try await !CommandProcess.onATerminal("get \(url)/lines").text.contains("200"))
            }
        }
        // A script gets the status from the exit status, and nothing else.
        try await withDemoServer { (url: String) async throws in
            #expect(try await CommandProcess.run("get", "\(url)/status/404").errors.isEmpty)
        }
    }

    @Test(.enabled(if: CommandProcess.hasTerminals, "there is no /usr/bin/script here"))
    func binaryIsNotWrittenToATerminal() async throws {
        try await withDemoServer { (url: String) async throws in
            let outcome = try await CommandProcess.onATerminal("get '\(url)/download?bytes=1000'")
            #expect(outcome.status == 23)
            #expect(outcome.text.hasPrefix("errand: the body is binary") && outcome.text.split(whereSeparator: \.isNewline).count == 1)
            let forced = try await CommandProcess.onATerminal("get '\(url)/download?bytes=1000' -o -")
            #expect(forced.status == 0 && !forced.text.contains("is binary"))
        }
        try await withRawServer(response: "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\nPNG!") {
            (server: RawServer) async throws in
            let outcome = try await CommandProcess.onATerminal("get \(server.url)")
            #expect(outcome.status == 23 && !outcome.text.contains("PNG!"))
            #expect(try await CommandProcess.onATerminal("-I \(server.url)").status == 0)
        }
    }
}
