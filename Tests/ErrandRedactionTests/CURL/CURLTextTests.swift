import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// A request as a `curl` command. `CURLTests` runs such commands against a server.
@Suite(.timeLimit(.minutes(5))) struct CURLTextTests {
    private static func request(
        _ method: HTTPRequest.Method = .get, _ target: String = "/x", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) -> Request {
        Request(head: HTTPRequest(method: method, scheme: "https", authority: "a.example", path: target, headerFields: headers), body: body)
    }

    private static let defaults = "-H 'User-Agent:' -H 'Accept:'"

    @Test(
        arguments: [
            (request(), "curl -X GET --path-as-is --globoff 'https://a.example/x' \(defaults)"),
            (request(.head), "curl --head --path-as-is --globoff 'https://a.example/x' \(defaults)"),
            (request(.init("M-SEARCH") ?? .get), "curl -X 'M-SEARCH' --path-as-is --globoff 'https://a.example/x' \(defaults)"),
            (request(.options, "*"), "curl -X OPTIONS --path-as-is --globoff 'https://a.example/' --request-target '*' \(defaults)"),
            (request(.get, ""), "curl -X GET --path-as-is --globoff 'https://a.example/' \(defaults)"),
            (request(.get, "?q"), "curl -X GET --path-as-is --globoff 'https://a.example/?q' \(defaults)"),
            (request(.get, "/'$(x)`"), #"curl -X GET --path-as-is --globoff 'https://a.example/'\''$(x)`' "# + defaults),
            (
                request(headers: [.accept: "", .userAgent: "e", .contentLength: "9", .transferEncoding: "chunked"]),
                "curl -X GET --path-as-is --globoff 'https://a.example/x' -H 'Accept;' -H 'User-Agent: e'"
            ),
            (
                request(.post), "curl -X POST --path-as-is --globoff 'https://a.example/x' \(defaults) -H 'Content-Type:' --data-raw ''"
            ),
            (
                request(.delete, body: .text(#"["@it's"]"#)),
                #"curl -X DELETE --path-as-is --globoff 'https://a.example/x' \#(defaults) -H 'Content-Type:' --data-raw '["@it'\''s"]'"#
            ),
            (
                request(.put, headers: [.contentType: "a/b"], body: .text("plain")),
                "curl -X PUT --path-as-is --globoff 'https://a.example/x' -H 'Content-Type: a/b' \(defaults) --data-binary @- < body.bin"
            ),
            (
                request(.put, body: .data(Data(repeating: 0x61, count: 65537))),
                "curl -X PUT --path-as-is --globoff 'https://a.example/x' \(defaults) -H 'Content-Type:' -H 'Expect:' --data-binary @- < body.bin"
            ),
            (
                request(.put, body: .stream(AsyncStream<Data> { $0.finish() })),
                "curl -X PUT --path-as-is --globoff 'https://a.example/x' \(defaults) -H 'Content-Type:' -H 'Expect:' --data-binary @- < body.bin"
            ),
        ] as [(Request, String)])
    func theCommandHasItsExpectedText(_ request: Request, _ text: String) throws {
        #expect(try request.curl() == text)
    }

    @Test func bytesThatATerminalDoesNotShowArePrinted() throws {
        let request = Self.request(.put, headers: [.contentType: "a/b"], body: .text("-50%\n\t\r\\'\u{0}8é"))
        #expect(
            try request.curl(showingSecrets: true)
                == #"printf '\05550%%\n\t\r\\\047\0008\303\251' | "#
                + "curl -X PUT --path-as-is --globoff 'https://a.example/x' -H 'Content-Type: a/b' \(Self.defaults) --data-binary @-")
    }

    /// `HTTPFields` splits it.
    @Test func aCookieIsWrittenAsOneField() throws {
        var request = Self.request()
        request.headers[.cookie] = "a=1; b=2"
        #expect(request.headers.count == 2)
        #expect(try request.curl(showingSecrets: true).contains("-H 'Cookie: a=1; b=2'"))
        #expect(try request.curl().ranges(of: "Cookie:").count == 1)
    }

    @Test func fieldsKeepTheirOrderAndFallbackFieldsFollow() throws {
        let name = try #require(HTTPField.Name("X-A"))
        var fields = HTTPFields()
        for value in ["1", "", "2;"] { fields.append(HTTPField(name: name, value: value)) }
        var request = Self.request(headers: fields)
        request.options.fallbackHeaders = [.accept: "application/json", name: "not this"]
        #expect(
            try request.curl()
                == "curl -X GET --path-as-is --globoff 'https://a.example/x' -H 'X-A: 1' -H 'X-A;' -H 'X-A: 2;' "
                + "-H 'Accept: application/json' -H 'User-Agent:'")
    }

    @Test func thePrettyStyleBreaksLinesBetweenOptions() throws {
        let request = Self.request(.post, headers: [.contentType: "text/plain"], body: .text("a\nb"))
        #expect(
            try request.curl(pretty: true, showingSecrets: true) == """
                curl -X POST --path-as-is --globoff 'https://a.example/x' \\
                    -H 'Content-Type: text/plain' \\
                    -H 'User-Agent:' \\
                    -H 'Accept:' \\
                    --data-raw 'a
                b'
                """)
    }

    @Test func aCommandNamesAFileAndCutsARange() throws {
        let folder = try TestFolder("curl")
        let path = try folder.write("0123456789", to: "it's a file")
        let quoted = path.replacing("'", with: "'\\''")
        let whole = try Self.request(.put, body: .file(atPath: path)).curl()
        #expect(whole.hasSuffix("-H 'Content-Type:' --data-binary '@\(quoted)'"), "\(whole)")
        let part = try Self.request(.put, body: .file(atPath: path, range: 2..<5)).curl()
        #expect(part.hasPrefix("tail -c +3 '\(quoted)' | head -c 3 | curl -X PUT "), "\(part)")
        #expect(part.hasSuffix(" --data-binary @-"), "\(part)")
    }

    @Test func aFileWhoseProgressIsReportedKeepsItsName() throws {
        let folder = try TestFolder("curl")
        let path = try folder.write("0123456789", to: "a.bin")
        let file = try RequestBody.file(atPath: path).reportingProgress { _ in }.observed { _ in }
        #expect(try Self.request(.put, body: file).curl().hasSuffix("--data-binary '@\(path)'"))
        let part = try RequestBody.file(atPath: path, range: 2..<5).reportingProgress { _ in }
        #expect(try Self.request(.put, body: part).curl().hasPrefix("tail -c +3 '\(path)' | head -c 3 | curl "))
        #expect(file.description == "file, 10 bytes" && file.bufferedData == nil && file.replay == .seekable)
        // Other bytes than those of the file.
        let changed = try RequestBody.file(atPath: path).transformed(by: DoublingTransform())
        #expect(try Self.request(.put, body: changed).curl().hasSuffix("--data-binary @- < body.bin"))
    }

    @Test func aFailureHasItsRequestAsACommand() throws {
        let request = Self.request(.get, "/x?token=S1")
        let failure = TransportError(.cannotConnect, phase: .connect, request: request, delivery: .notSent)
        #expect(failure.curl() == (try request.curl()) && failure.curl()?.contains("S1") == false)
        #expect(failure.curl(showingSecrets: true)?.contains("S1") == true)
        #expect(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent).curl() == nil)
        let relative = TransportError(.cannotConnect, phase: .connect, request: try Request(.get, "/x"), delivery: .notSent)
        #expect(relative.curl() == nil)
    }

    @Test func longBytesAreSplitIntoShorterArguments() throws {
        let bytes = Data.seeded(65_536, seed: 3)
        for pretty in [false, true] {
            let text = try Self.request(.post, body: .data(bytes)).curl(pretty: pretty, showingSecrets: true)
            let words = text.split(separator: "'")
            #expect(text.hasPrefix("{ printf '") && text.contains("; } | curl "))
            #expect(words.allSatisfy { $0.utf8.count <= 100_000 } && words.count > 6)
        }
    }

    @Test func aRequestThatCannotBeSentHasNoText() throws {
        let relative = try Request(.get, "/x?token=s3cr3t")
        #expect(throws: InvalidURLError("/x?token=s3cr3t", .missingHost)) { try relative.curl() }
        var request = Self.request()
        request.head.authority = "u:s3cr3t@a.example"
        let error = #expect(throws: InvalidURLError.self) { try request.curl() }
        #expect(error?.code == .credentials && error?.text.contains("s3cr3t") == false)
        #expect(throws: InvalidURLError.self) { try Self.request(.get, "/#").curl() }
        request = Self.request()
        request.head.scheme = "file"
        #expect(throws: InvalidURLError.self) { try request.curl() }
    }

    // MARK: - Quoting

    static let odd = [
        "a b", "'", "''", "'\u{301}", "\"", "$HOME", "$(touch x)", "`touch x`", "\\", "\\'", "a\nb", "%s%n", "!!", "ünïcödé 🎈", "-o",
        "@/etc/hosts",
        "{a,b}[1-3]*?~", "#", "&& x; y | z > w < v", "\t", "$'\\x41'", "\u{202E}abc", "\r\n",
    ]

    /// What the shell hands to `curl`, seen by a function of that name.
    @Test(arguments: odd) func theShellExpandsNothing(_ text: String) async throws {
        let name = try #require(HTTPField.Name("X-Odd"))
        let isField = HTTPField.isValidValue(text)
        var request = Self.request(.post, headers: isField ? [name: text] : [:], body: .text(text))
        request.head.headerFields[.contentType] = "text/plain"
        for shell in ["sh", "dash", "bash"].compactMap(Programs.find) {
            for pretty in [false, true] {
                let script = """
                    curl() {
                        for word; do printf '[%s]' "$word"; done
                        case "$*" in (*'--data-binary @-') printf '['; cat; printf ']';; esac
                    }
                    \(try request.curl(pretty: pretty, showingSecrets: true))
                    """
                let words = try await Programs.run(shell, ["-c", script])
                #expect(words.contains("[-H][Content-Type: text/plain][-H][User-Agent:]"))
                #expect(!isField || words.contains("[-H][X-Odd: \(text)]"))
                let isWhole = words.hasSuffix("[--data-raw][\(text)]") || words.hasSuffix("[--data-binary][@-][\(text)]")
                #expect(isWhole, "\(words)")
            }
        }
    }

    @Test func aCommandIsOneLine() throws {
        for text in Self.odd {
            for showingSecrets in [false, true] {
                let command = try Self.request(.post, body: .text(text)).curl(showingSecrets: showingSecrets)
                let isOneLine = !command.contains { $0.isNewline }
                #expect(isOneLine)
            }
        }
    }

    @Test func argumentsFollowTheURLWithShellQuotes() throws {
        let arguments = ["--insecure", "--unix-socket", "/run/it's $(a).sock", "--resolve", "a.example:443:[::1]", "-x", ""]
        let request = Self.request(.post, headers: [.userAgent: "e", .accept: "*/*", .contentType: "a/b"], body: .text("[1]"))
        #expect(
            try request.curl(arguments: arguments)
                == "curl -X POST --path-as-is --globoff 'https://a.example/x' --insecure "
                + #"--unix-socket '/run/it'\''s $(a).sock' --resolve 'a.example:443:[::1]' -x '' "#
                + "-H 'User-Agent: e' -H 'Accept: */*' -H 'Content-Type: a/b' --data-raw '[1]'")
        let lines = try request.curl(pretty: true, arguments: arguments).split(separator: "\n")
        #expect(lines.dropFirst().prefix(2) == [#"    --insecure \"#, #"    --unix-socket '/run/it'\''s $(a).sock' \"#])
        #expect(try request.curl(arguments: []) == request.curl())
    }

    // MARK: - Secrets

    @Test(arguments: SecretBodies.all.indices) func noSecretIsInTheText(_ index: Int) throws {
        let (type, text) = SecretBodies.all[index]
        var request = Self.request(.post, "/x?token=s3cr3t&q=1", headers: [.authorization: "Bearer s3cr3t"], body: .text(text))
        if let type { request.head.headerFields[.contentType] = type }
        request.options.sensitivity = Sensitivity(fields: [], queryNames: ["tenant"])
        let shown = try request.curl()
        #expect(!shown.contains("s3c"), "\(shown)")
        #expect(shown.contains("token=REDACTED&q=1"))
        #expect(try request.curl(showingSecrets: true).contains("Bearer s3cr3t"))
    }
}
