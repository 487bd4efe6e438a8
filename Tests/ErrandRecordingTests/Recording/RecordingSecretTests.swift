import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandRecording

@Suite(.timeLimit(.minutes(5)))
struct RecordingSecretTests {
    // Each with characters that encodings change.
    private static let header = "H3ader/Secret+one=="
    private static let query = "Qu3ry Secret/tw\u{F6}&\"x"
    private static let field = "F1eld\\Secret\"thr\u{E9}e/+"

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// Every way in which a file could hold `secret`.
    private func isIn(_ secret: String, _ content: Data) -> Bool {
        let file = String(decoding: content, as: UTF8.self)
        var texts = [file]
        // As JSON has it, and each string as it is, decoded from base64 and from percent-encoding.
        func collect(_ value: Any) {
            switch value {
            case let text as String:
                texts += [text, text.removingPercentEncoding ?? "", text.replacing("+", with: " ").removingPercentEncoding ?? ""]
                if let data = Data(base64Encoded: text) { texts.append(String(decoding: data, as: UTF8.self)) }
            case let list as [Any]: list.forEach(collect)
            case let object as [String: Any]:
                object.forEach {
                    collect($0.key); collect($0.value)
                }
            default: break
            }
        }
        if let json = try? JSONSerialization.jsonObject(with: content) { collect(json) }
        // The first eight characters would be secret enough.
        return texts.contains { $0.contains(secret) || $0.contains(secret.prefix(8)) || $0.contains(Self.base64(secret).dropLast(4)) }
    }

    private func json(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode([text]), as: UTF8.self).dropFirst().dropLast().description
    }

    @Test func threePlantedSecretsAreInNoFile() async throws {
        let folder = try TestFolder("recording")
        var request = try Request(
            .post, url: "https://a.example/login?page=1", query: ["access_token": Self.query],
            headers: [
                .authorization: "Bearer \(Self.header)", .contentType: "application/json",
                .referer: "https://b.example/?sig=\(Self.header)",
            ],
            body: .text(#"{"user":"joe","password":\#(json(Self.field)),"n":1}"#))
        request.options.sensitivity = Sensitivity(fields: [.init("X-Tenant-Key")!])
        request.head.headerFields[.init("X-Tenant-Key")!] = Self.field

        // The server sends back all values of the request, in every spelling.
        let percent = try #require(Self.query.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let echo = """
            {"user":"joe","session":\(try json(Self.header)),"echo":{"h":"Bearer \(Self.header)","q":\(try json(Self.query)),
            "f":[\(try json(Self.field)),"\(Self.base64("x" + Self.header))","\(Self.base64("xy" + Self.field))","\(Self.base64(Self.query))"],
            "url":"https://a.example/login?page=1&access_token=\(percent)","twice":"\(percent.replacing("%", with: "%25"))",
            "nested":\(try json(json(Self.field))),"slashes":"\(Self.header.replacing("/", with: "\\/"))","unicode":"\(Self.query.unicodeScalars.map { "\\u" + String(format: "%04x", $0.value) }.joined())"}}
            """
        var headers: HTTPFields = [
            .contentType: "application/json", .contentLength: String(echo.utf8.count),
            .location: "https://c.example/cb?code=\(percent)&state=1", .init("X-Echo")!: "you sent \(Self.header)",
        ]
        headers.append(HTTPField(name: .setCookie, value: "session=\(Self.header); Path=/; HttpOnly"))
        headers.append(HTTPField(name: .setCookie, value: "other=\(percent); Path=/"))
        let secrets = [Self.header, Self.query, Self.field]
        for transport in [
            ClosureTransport(.ok, headers: headers, data: Data(echo.utf8)),
            ClosureTransport(headers: headers, chunks: echo.utf8.map { Data([$0]) }, trailers: [.init("X-Last")!: "bye \(Self.header)"]),
        ] {
            let log = try await folder.record([request], over: transport, secrets: secrets, keepsUnknownText: false)
            let content = try folder.read("a.har")
            for secret in secrets { #expect(!isIn(secret, content), "\(secret) is in \(String(decoding: content, as: UTF8.self))") }
            #expect(folder.names == ["a.har"])

            // Values that are not secret are still in the file, and the file is still valid.
            let entry = log.entries[0]
            #expect(entry.request.url == "https://a.example/login?page=1&access_token=REDACTED")
            #expect(entry.request.queryString == [.init(name: "page", value: "1"), .init(name: "access_token", value: "REDACTED")])
            #expect(entry.request.postData?.text == #"{"user":"joe","password":"REDACTED","n":1}"#)
            #expect(entry.response.redirectURL == "https://c.example/cb?code=REDACTED&state=1")
            let body = try #require(entry.response.content.text)
            #expect(entry.response.headers.first { $0.name == "Content-Length" }?.value == String(body.utf8.count))
            #expect(try JSONDecoder().decode(JSONValue.self, from: Data(body.utf8)) != .null)
            #expect(body.hasPrefix(#"{"user":"joe","session":"REDACTED","echo":{"h":"REDACTED","q":"REDACTED""#))
            if let chunks = entry.response.chunks { #expect(chunks.map(\.bytes).reduce(0, +) == body.utf8.count) }

            // It responds to the same request, and the one with the next token.
            let replayed = try await folder.replay().send(request)
            #expect(try await replayed.body.collect() == Data(body.utf8))
            #expect(
                try await folder.replay(matching: RecordingMatcher(headers: [.authorization], body: .normalized)).send(request).status
                    == .ok)
        }
    }

    @Test(
        arguments: [
            (
                "application/x-www-form-urlencoded", "user=joe&password=S3cret%2BValue&refresh%5Ftoken=S3cret+Other",
                "user=joe&password=REDACTED&refresh%5Ftoken=REDACTED"
            ),
            (
                "application/x-ndjson", "{\"token\":\"S3cret\"}\n{\"a\":1}\nno JSON token=S3cret\n",
                "{\"token\":\"REDACTED\"}\n{\"a\":1}\n\"REDACTED\""
            ),
            (
                "text/event-stream", "id: 1\ndata: {\"token\":\"S3cret\"}\n\ndata:[DONE]\n\n",
                "id: 1\ndata: {\"token\":\"REDACTED\"}\n\ndata:[\"REDACTED\"\n\n"
            ),
            (
                "application/json", #"{"next":"https://a.example/?cursor=1&token=S3cret","n":1}"#,
                #"{"next":"https://a.example/?cursor=1&token=REDACTED","n":1}"#
            ),
            ("application/json", #"{"a":1,"token":"S3cret"#, #"{"a":1,"token":"REDACTED""#),
            ("text/plain", #" {"token":"S3cret"}"#, #" {"token":"REDACTED"}"#),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\nS3cret\r\n--b\r\ncontent-disposition: form-data; name=j\r\nContent-Type: application/json\r\n\r\n{\"token\":\"S3cret\"}\r\n--b--\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\nREDACTED\r\n--b\r\ncontent-disposition: form-data; name=j\r\nContent-Type: application/json\r\n\r\n{\"token\":\"REDACTED\"}\r\n--b--\r\n"
            ),
        ] as [(String, String, String)])
    func bodiesOfManyKindsAreRedactedBothWays(_ type: String, _ body: String, _ expected: String) async throws {
        let folder = try TestFolder("recording")
        let log = try await folder.record(
            [post("/", .text(body), type: type)], over: ClosureTransport(headers: [.contentType: type], data: Data(body.utf8)),
            keepsUnknownText: false)
        #expect(log.entries[0].request.postData?.text == expected)
        #expect(log.entries[0].response.content.text == expected)
        #expect(try !folder.text("a.har").contains("S3cret"))
        if type.hasSuffix("urlencoded") {
            #expect(log.entries[0].request.postData?.params?.map(\.value) == ["joe", "REDACTED", "REDACTED"])
        }
    }

    // MARK: Hostile bodies

    private func nested(_ depth: Int, _ innermost: String) -> String {
        let heads = (0..<depth).map { "--\(100_000 + $0)\r\nContent-Type: multipart/x; boundary=\(100_001 + $0)\r\n\r\n" }
        return heads.joined() + innermost
    }

    @Test func nestedMultipartBodiesAreRedactedUpToADepth() async throws {
        let folder = try TestFolder("recording")
        for (depth, expected) in [(7, "{\"token\":\"REDACTED\"}"), (8, "REDACTED"), (3_000, "REDACTED")] {
            let last = "--\(100_000 + depth)\r\nContent-Type: application/json\r\n\r\n{\"token\":\"S3cret\"}"
            let live = ClosureTransport(
                headers: [.contentType: "multipart/x; boundary=100000"], data: Data(nested(depth, depth == 3_000 ? "S3cret" : last).utf8))
            let log = try await folder.record([get("/")], over: live, keepsUnknownText: false)
            let text = try #require(log.entries[0].response.content.text)
            #expect(text.hasSuffix("\r\n\r\n" + expected) && !text.contains("S3cret"), "\(depth): \(text.suffix(200))")
            #expect(text.utf8.count { $0 == UInt8(ascii: ":") } <= 9)
        }
    }

    @Test func aBoundaryThatIsTooLongHidesItsBody() async throws {
        let folder = try TestFolder("recording")
        let boundary = String(repeating: "b", count: 71)
        let live = ClosureTransport(
            headers: [.contentType: "multipart/form-data; boundary=\(boundary)"],
            data: Data("--\(boundary)\r\nContent-Disposition: form-data; name=password\r\n\r\nS3cret\r\n--\(boundary)--".utf8))
        let response = try await folder.record([get("/")], over: live, keepsUnknownText: false).entries[0].response
        #expect(response.content.text == nil && response.incomplete == .hidden)
    }

    @Test func manyLearntValuesAreABoundedMemory() async throws {
        let folder = try TestFolder("recording")
        let tokens = (0..<4_000).map { "\"S3cret-\(String(repeating: "x", count: 100))-\(100_000 + $0)\"" }
        let live = ClosureTransport(
            headers: [.contentType: "application/json"], data: Data("{\"token\":[\(tokens.joined(separator: ","))]}".utf8))
        #expect(
            try await folder.record([get("/")], over: live, keepsUnknownText: false).entries[0].response.content.text == #"{"token":[]}"#)
    }

    @Test func basicCredentialsAreNotInTheFileInAnyForm() async throws {
        let folder = try TestFolder("recording")
        let request = try get("/", headers: [.authorization: "Basic " + Self.base64("joe:Pa55word-long")])
        try await folder.record([request], over: ClosureTransport(data: Data("joe's is Pa55word-long or cGFzczpQYTU1d29yZC1sb25n.".utf8)))
        #expect(try folder.text("a.har").contains("joe's is REDACTED or REDACTED."))
    }

    /// A combining mark makes another `Character` of a separator, and no other octet.
    @Test(
        arguments: [
            (.cookie, "a=1;\u{301}sid=S3cretValue", ""), (.cookie, "a=1; sid=\u{301}S3cretValue", "\u{301}"),
            (.cookie, "a=1; sid=\"\u{301}S3cretValue\"; b=2", "\u{301}"), (.cookie, "sid=S3cretValue;\u{301}b=2", ""),
            (.cookie, "a=1; sid = S3cretValue ; b=2", ""), (.cookie, "sid=S3cretValue\t;b=2", ""),
            (.authorization, "Bearer \u{301}S3cretValue", "\u{301}"), (.authorization, "Bearer\tS3cretValue", ""),
            (.authorization, "BASIC\t" + base64("joe:\u{301}S3cretValue"), "\u{301}"),
            (.authorization, "Basic " + base64("S3cretValue:"), ""),
        ] as [(HTTPField.Name, String, String)])
    func aMarkAfterASeparatorHidesNoSecretOfAField(_ name: HTTPField.Name, _ value: String, _ front: String) async throws {
        let folder = try TestFolder("recording")
        try await folder.record(
            [get("/", headers: [name: value])], over: ClosureTransport(data: Data("you said \(front)S3cretValue".utf8)))
        let content = try folder.read("a.har")
        #expect(content.firstRange(of: Data("S3cretValue".utf8)) == nil, "\(String(decoding: content, as: UTF8.self))")
    }

    @Test(
        arguments: [
            HTTPField.Name.setCookie, .cookie, .authorization, .location, .contentLength, HTTPField.Name("X-Text")!,
        ]) func fieldsAreRecordedByWorkInProportionToTheirBytes(_ name: HTTPField.Name)
    {
        let front = name == .setCookie || name == .cookie ? "sid=" : name == .location ? "/?token=" : "t"
        let growth = growth(
            of: 1_500,
            making: { count in
                let marks = front + "a" + String(repeating: "\u{300}\u{316}", count: count)
                let fields = (0..<3).map { HARField(name: name.rawName, value: marks + "\($0)") }
                let request = HARRequest(method: "GET", url: "https://a.example/", httpVersion: "HTTP/1.1", headers: fields)
                let response = HARResponse(status: 200, headers: fields, content: HARContent(size: 0, mimeType: ""))
                return HAREntry(
                    startedDateTime: "", time: 0, request: request, response: response, timings: HARTimings(wait: 0, receive: 0))
            }
        ) { _ = EntryRedaction.redacted($0, by: .standard) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func aSecretCutOffAtTheEndIsReplaced() async throws {
        let folder = try TestFolder("recording")
        let request = try get("/", headers: [.authorization: "Bearer S3cretValueOfMine", .cookie: "a=C00kie%2BValue"])
        for limit in 10...50 {
            let live = ClosureTransport(data: Data("you said S3cretValueOfMine and C00kie+Value".utf8))
            try await folder.record([request], over: live, bodyLimitBytes: limit)
            let text = try folder.text("a.har")
            #expect(!text.contains("S3cret") && !text.contains("C00kie"), "\(limit)")
        }
    }

    @Test func theSecretOfALinkIsFoundWithoutTheFollowingText() async throws {
        let folder = try TestFolder("recording")
        let link = HTTPField.Name("Link")!
        let live = ClosureTransport(
            headers: [link: "<https://a.example/?page=2&token=S3cret+Value>; rel=next"], data: Data("S3cret+Value, S3cret Value".utf8))
        let log = try await folder.record([get("/")], over: live)
        #expect(log.entries[0].response.content.text == "REDACTED, REDACTED")
    }

    @Test func aFlaggedFieldIsSecretWhateverItsName() async throws {
        let folder = try TestFolder("recording")
        var field = HTTPField(name: .init("X-Plain")!, value: "S3cretValue")
        field.indexingStrategy = .disallow
        var request = try get("/")
        request.head.headerFields.append(field)
        try await folder.record(
            [request], over: ClosureTransport(headers: [.init("X-Plain")!: "S3cretValue"], data: Data("S3cretValue".utf8)))
        #expect(try !folder.text("a.har").contains("S3cret"))
    }

    @Test func aCodedBodyIsKeptOnDemandOnly() async throws {
        let folder = try TestFolder("recording")
        let live = ClosureTransport(headers: [.contentEncoding: "gzip"], data: Data([0x1F, 0x8B, 8]))
        let log = try await folder.record([get("/")], over: live)
        #expect(log.entries[0].response.content.text == nil && log.entries[0].response.incomplete == .coded)
        await #expect(throws: NoRecordedExchangeError.self) { try await folder.replay().send(get("/")) }

        let recording = try Recording(atPath: folder.file("b.har"), mode: .once, keepsCodedBodies: true, keepsUnknownText: true)
        _ = try await live.record(on: recording).send(get("/"))
        try recording.save()
        let replayed = try await HTTPStack(try ReplayTransport(atPath: folder.file("b.har"))).send(get("/"))
        #expect(try await replayed.body.collect() == Data([0x1F, 0x8B, 8]) && replayed.headers[.contentEncoding] == "gzip")
    }

    @Test(arguments: ["text/plain", "text/html", "application/xml"]) func textOfAnUnknownSyntaxIsKeptOnDemandOnly(_ type: String)
        async throws
    {
        let folder = try TestFolder("recording")
        let live = ClosureTransport(headers: [.contentType: type], chunks: [Data("S3cretValue, ".utf8), Data("B3arerValue".utf8)])
        var request = try post("/", .text("password: Hunt3r"), type: "text/plain")
        request.headers[.authorization] = "Bearer B3arerValue"
        let log = try await folder.record([request], over: live, keepsUnknownText: false)
        #expect(log.entries[0].request.postData?.text == nil && log.entries[0].request.postData?.incomplete == .hidden)
        let response = log.entries[0].response
        #expect(response.content.text == nil && response.incomplete == .hidden && response.chunks == nil && response.content.size == 24)
        let file = try folder.text("a.har")
        #expect(!file.contains("S3cret") && !file.contains("Hunt3r"))
        let error = await #expect(throws: NoRecordedExchangeError.self) { try await folder.replay().send(request) }
        #expect(error.map { "\($0)".contains("keepsUnknownText: true") } == true)

        // Also then, what is known to be secret is replaced.
        try await folder.record([request], over: live, keepsUnknownText: true)
        let replayed = try await folder.replay(matching: RecordingMatcher(body: .exact)).send(request)
        #expect(try await replayed.body.collect() == Data("S3cretValue, REDACTED".utf8))
    }

    // MARK: Registered secrets

    private static let registered = "r3g/\u{E4}+ \"x"
    private static let percent = registered.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""

    @Test(
        arguments: [
            (.init("/\(percent)"), "request URL"), (.init("/a?q=\(percent)"), "request URL"),
            (.init("/a?q=r3g%2F%C3%A4%2B+%22x"), "request URL"),
            (.init("/a?q=\(percent.replacing("%", with: "%25"))"), "request URL"),
            (.init("/a", header: "say \(registered)"), "request field X-Note"), (.init("/a", body: "say \(registered)"), "request body"),
            (.init("/a", body: #"["r3g\/\u00E4+ \"x"]"#), "request body"), (.init("/a", body: "q=\(percent)"), "request body"),
            (.init("/a", body: base64("a" + registered)), "request body"), (.init("/a", body: base64("ab\(registered)c")), "request body"),
            (.init("/a", body: base64("abc\(registered)").replacing("+", with: "-").replacing("/", with: "_")), "request body"),
            (.init("/a", response: Data([0, 255]) + Data(registered.utf8)), "response body"),
            (.init("/a", response: Data("https:\\/\\/a?\(percent.lowercased())".utf8)), "response body"),
            (.init("/a", location: "/next/\(percent)"), "response field Location"),
        ] as [(Planted, String)])
    fileprivate func aRegisteredSecretMakesTheWriteFail(_ planted: Planted, _ place: String) async throws {
        let folder = try TestFolder("recording")
        try folder.write("an older file", to: "a.har")
        for name in ["a.har", "new.har"] {
            let recording = try Recording(
                atPath: folder.file(name), mode: .all, secrets: ["other secret", Self.registered], keepsUnknownText: true)
            var headers = HTTPFields()
            headers[.location] = planted.location
            // In a long text, secrets are looked for in another way than in a short one.
            let padding = name == "new.har" ? String(repeating: "lorem %20 \\\"ipsum\\\" ", count: 2000) : ""
            let stack = ClosureTransport(headers: headers, data: Data(padding.utf8) + planted.response).record(on: recording)
            _ = try await stack.send(get("/clean"))
            var request = try Request(.post, url: "https://a.example" + planted.target, body: .text(padding + planted.body))
            request.head.headerFields[.init("X-Note")!] = planted.header
            _ = try await stack.send(request)
            let error = #expect(throws: SecretFoundError.self) { try recording.save() }
            // The response is the same to both requests.
            #expect(error?.entry == (place.hasPrefix("response") ? 1 : 2) && error?.place == place)
            #expect(error.map { !"\($0) \(String(reflecting: $0))".contains("r3g") } == true)
        }
        #expect(folder.names == ["a.har"])
        #expect(try folder.text("a.har") == "an older file")
    }

    @Test func aRegisteredSecretIsNotInTheMirror() throws {
        let folder = try TestFolder("recording")
        var dumped = ""
        dump(try Recording(atPath: folder.file("a.har"), mode: .once, secrets: ["r3gistered"], keepsUnknownText: true), to: &dumped)
        #expect(dumped.contains("count: 1"))
        // The mirror also hides the table by which the secret is found.
        #expect(!dumped.contains("r3gistered") && !dumped.contains("edges"), "\(dumped)")
    }

    @Test func aReplacedRegisteredSecretIsNotAFailure() async throws {
        let folder = try TestFolder("recording")
        let request = try get("/?token=\(Self.percent)", headers: [.authorization: "Bearer t0ken-registered"])
        try await folder.record([request], over: ClosureTransport(), secrets: [Self.registered, "t0ken-registered"])
        #expect(folder.has("a.har"))
    }

    @Test func aRegisteredSecretInAnOlderEntryIsFoundToo() async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a/r3gistered")], over: ClosureTransport())
        let before = try folder.read("a.har")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .newEpisodes, secrets: ["r3gistered"], keepsUnknownText: true)
        _ = try await ClosureTransport().record(on: recording).send(get("/b"))
        let error = #expect(throws: SecretFoundError.self) { try recording.save() }
        #expect(
            error?.description
                == "a registered secret was found in the request URL of entry 1 (GET https://a.example/a/REDACTED); nothing was written")
        #expect(try folder.read("a.har") == before)
    }
}

private struct Planted: Sendable, CustomStringConvertible {
    var target: String
    var header: String?
    var body: String
    var response: Data
    var location: String?

    init(_ target: String, header: String? = nil, body: String = "", response: Data = Data(), location: String? = nil) {
        (self.target, self.header, self.body, self.response, self.location) = (target, header, body, response, location)
    }

    var description: String { "\(target) \(header ?? "") \(body) \(response.count) \(location ?? "")" }
}
