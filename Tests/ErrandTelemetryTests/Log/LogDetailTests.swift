import Errand
import ErrandConformance
import ErrandTesting
import Logging
import Synchronization
import TestSupport
import Testing

/// What the log shows beyond the basics: fields and bodies.
@Suite(.timeLimit(.minutes(5))) struct LogDetailTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    /// The texts that are logged of one exchange whose body is collected.
    private static func texts(
        _ request: Request, _ stubbed: StubResponse, detail: LogDetail, style: LogStyle = .oneLine
    ) async throws -> [String] {
        let (logger, lines) = recordingLogger()
        let stack = StubTransport(Stub().responds(stubbed)).log(
            to: logger, detail: detail, style: style, metadata: .all, clock: ManualClock())
        _ = try await stack.send(request).body.collect()
        return lines.all.map(\.text)
    }

    // MARK: - Levels and styles

    @Test func theDetailNoneLogsNothing() async throws {
        let (logger, lines) = recordingLogger()
        let failure = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stack = StubTransport(Stub().responds(.status(.ok), .failure(failure))).log(
            to: logger, detail: .none, style: .oneLine, metadata: .all)
        _ = try await stack.send(try request())
        await #expect(throws: TransportError.self) { try await stack.send(try request()) }
        #expect(lines.all.isEmpty)
    }

    @Test func theDetailHeadersShowsFieldsInOneLine() async throws {
        var request = try Request(.get, url: "https://a.example/x", headers: [.accept: "text/plain", .authorization: "Basic czNjcmV0"])
        request.options.fallbackHeaders = [.accept: "*/*", .acceptLanguage: "de"]
        let texts = try await Self.texts(request, .status(.ok, headers: [.server: "s", .setCookie: "a=b"], text: "body"), detail: .headers)
        #expect(
            texts == [
                "GET https://a.example/x | Accept: text/plain | Authorization: <redacted> | Accept-Language: de",
                "GET https://a.example/x: 200 in 0 s | Server: s | Set-Cookie: <redacted>",
            ])
    }

    @Test func theDetailHeadersShowsALineForEachFieldInThePrettyStyle() async throws {
        let request = try Request(.get, url: "https://a.example/x", headers: [.accept: "text/plain"])
        let texts = try await Self.texts(request, .status(.found, headers: [.location: "/y?token=t"]), detail: .headers, style: .pretty)
        #expect(
            texts == [
                "GET https://a.example/x: 302 in 0 s\n  > Accept: text/plain\n  < Location: /y?token=REDACTED"
            ])
    }

    @Test func theDetailBodyShowsSentAndReadBytes() async throws {
        var request = try request(.post, body: .text(#"{ "a": 1, "password": "x" }"#))
        request.head.headerFields = Self.json
        let stubbed = StubResponse.stream([Data("one\n".utf8), Data("two".utf8)])
        #expect(
            try await Self.texts(request, stubbed, detail: .body()) == [
                #"POST https://a.example/x | Content-Type: application/json | body of 27 bytes: {"a":1,"password":"REDACTED"}"#,
                "POST https://a.example/x: 200 in 0 s",
                #"POST https://a.example/x: 200 | body of 7 bytes in 0 s, text"#,
            ])
    }

    @Test func jsonIsLaidOutInThePrettyStyle() async throws {
        var request = try request(.post, body: .text(#"{"a":[1,{}, []],"b":{"c":"x, {\"","token":7}}"#))
        request.head.headerFields = Self.json
        let texts = try await Self.texts(
            request, .stream([Data("data: [1]\r\nid:\t2\n".utf8)], headers: [.contentType: "text/event-stream"]), detail: .body(),
            style: .pretty)
        #expect(
            texts == [
                #"""
                POST https://a.example/x: 200 in 0 s
                  > Content-Type: application/json
                  > body of 45 bytes:
                    {
                      "a": [
                        1,
                        {},
                        []
                      ],
                      "b": {
                        "c": "x, {\"",
                        "token": 0
                      }
                    }
                  < Content-Type: text/event-stream
                  < body of 17 bytes in 0 s:
                    data: [1]
                    id:	2
                """#
            ])
    }

    @Test func aBodyIsShownUpToTheLimitAndHandedOnWhole() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.stream([Data(#"["€"#.utf8), Data(#"","b"]"#.utf8)])))
        let stack = stub.log(to: logger, detail: .body(limitBytes: 4), style: .oneLine, metadata: .all, clock: ManualClock())
        let response = try await stack.send(try request(.put, body: .text("[1,22]")))
        #expect(try await response.body.collect() == Data(#"["€","b"]"#.utf8))
        #expect(stub.requests.first?.body == Data("[1,22]".utf8))
        #expect(lines.all[0].text == "PUT https://a.example/x | body of 6 bytes, the first 4: [1,2")
        #expect(lines.all[2].text == #"PUT https://a.example/x: 200 | body of 11 bytes in 0 s, the first 4: ["REDACTED""#)
        #expect(lines.all[2].metadata["http.response.body.size"] == "11")
    }

    @Test func bytesInMemoryAreShownWithTheResponse() async throws {
        let (logger, lines) = recordingLogger()
        let sender = StubSender { Response(head: HTTPResponse(status: .ok), data: Data("[42]".utf8), request: $0) }
        let stack = sender.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: ManualClock())
        let response = try await stack.send(try request())
        #expect(lines.all.map(\.text).last == "GET https://a.example/x: 200 in 0 s | body of 4 bytes: [42]")
        #expect(response.body.bufferedData == Data("[42]".utf8))
        #expect(lines.all.count == 2)
    }

    @Test func aRequestReplacesTheDetail() async throws {
        let (logger, lines) = recordingLogger()
        let stack = StubTransport(Stub().responds(.status(.ok))).log(to: logger, detail: .none, style: .oneLine, metadata: .all)
        var (loud, silent) = (try Request(.get, url: "https://a.example/x", headers: [.accept: "a"]), try request())
        loud.options.logDetail = .use(.headers)
        silent.options.logDetail = .off
        _ = try await stack.send(loud)
        _ = try await stack.send(silent)
        #expect(lines.all.map(\.text).first == "GET https://a.example/x | Accept: a")
        #expect(lines.all.count == 2)
    }

    // MARK: - Kinds of bytes

    @Test(
        arguments: [
            (nil, Data([0x50, 0x4B, 0x00, 0x01]), ", binary"),
            (nil, Data([0x61, 0x1B, 0x5B]), ", binary"),
            ("text/plain", Data([0x61, 0xFF]), ", binary"),
            ("image/png", Data("text".utf8), ", binary"),
            ("image/svg+xml", Data("<svg/>".utf8), ", image/svg+xml"),
            ("text/plain; charset=ISO-8859-1", Data([0x61, 0xE4]), ", text/plain"),
            ("application/json; charset=ISO-8859-1", Data([0x5B, 0x22, 0xE4, 0x22, 0x5D]), #": ["ä"]"#),
            ("application/x-unknown", Data("a\r\n\tb\n".utf8), ", application/x-unknown"),
            ("application/json", Data("[ 1, \"a b\" ]".utf8), ": [1,\"a b\"]"),
            ("application/json", Data("[oh] no, text".utf8), ": [\"REDACTED\""),
            ("text/event-stream", Data("data: {\"a\": 1}\n\n".utf8), ": data: {\"a\": 1}\\n"),
            (nil, Data("a\u{202E}b\u{85}c".utf8), ", text"),
            (nil, Data("[\"a\u{202E}b\u{85}c\"]".utf8), ": [\"a\\u{202e}b\\u{85}c\"]"),
            ("multipart/form-data; boundary=b", Data(multipart.utf8), ", multipart: 'note', 'file' (image/png), 'token'"),
            ("multipart/form-data; boundary=c", Data(multipart.utf8), ", multipart"),
        ] as [(String?, Data, String)])
    func bytesAreShownByTheirKindAndSize(_ type: String?, _ bytes: Data, _ shown: String) async throws {
        var request = try request(.post, body: .data(bytes))
        if let type { request.head.headerFields[.contentType] = type }
        let text = try await Self.texts(request, .status(.ok), detail: .body())[0]
        #expect(text.hasSuffix("| body of \(bytes.count) bytes\(shown)"), "\(text)")
    }

    @Test func streamsAndFilesAreNamedAndNotRead() async throws {
        let chunks = AsyncStream<Data> {
            $0.yield(Data("once".utf8))
            $0.finish()
        }
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all).send(
            try request(.post, body: .stream(chunks, length: 4)))
        #expect(lines.all[0].text == "POST https://a.example/x | body: stream, 4 bytes, oneShot")
        #expect(stub.requests.first?.body == Data("once".utf8))
        let folder = try TestFolder("log")
        let file = try RequestBody.file(atPath: folder.write("content", to: "a"))
        #expect(try await Self.texts(request(.put, body: file), .status(.ok), detail: .body())[0].hasSuffix(" | body: file, 7 bytes"))
    }

    // MARK: - The read part of a body

    @Test func anUnreadBodyIsLoggedAsUnread() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let stack = stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: ManualClock())
        func sendAndDrop() async throws {
            let response = try await stack.send(try request())
            #expect(stub.openBodyCount == 1 && response.exchange.outcome == nil)
        }
        try await sendAndDrop()
        #expect(lines.all.map(\.text).last == "GET https://a.example/x: 200 | body unread after 0 s")
        #expect(lines.all.count == 3)
        #expect(stub.openBodyCount == 0)
    }

    @Test func aPartlyReadBodyIsLoggedUpToItsEnd() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: ManualClock()).send(
            try request())
        for try await _ in response.body { break }
        #expect(lines.all.map(\.text).last == "GET https://a.example/x: 200 | body given up after 3 bytes in 0 s, text")
        response.body.abandon()
        #expect(lines.all.count == 3, "logged once")
        #expect(stub.openBodyCount == 0)
    }

    @Test func aBrokenBodyIsAWarning() async throws {
        struct Foreign: Error, CustomStringConvertible { let description = "s3cret" }
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(
            Stub().responds(
                .stream([Data("one".utf8)], failure: Foreign()),
                .stream([Data("one".utf8)], failure: TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent))))
        let stack = stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: ManualClock())
        await #expect(throws: Foreign.self) { try await stack.send(try request()).body.collect() }
        await #expect(throws: TransportError.self) { try await stack.send(try request()).body.collect() }
        #expect(lines.all[2].text == "GET https://a.example/x: 200 | body broken off after 3 bytes in 0 s (Foreign), text")
        #expect(lines.all[5].text.contains("(connection lost while reading the body"))
        #expect(lines.all.map(\.level) == [.info, .info, .warning, .info, .info, .warning])
        #expect(lines.all[2].metadata["error.type"] == "Foreign")
    }

    @Test func aCancelledReadIsNotAWarning() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.stream([Data("one".utf8)], failure: CancellationError())))
        let stack = stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: ManualClock())
        await #expect(throws: CancellationError.self) { try await stack.send(try request()).body.collect() }
        #expect(lines.all.map(\.text).last == "GET https://a.example/x: 200 | body cancelled after 3 bytes in 0 s, text")
        #expect(lines.all.map(\.level) == [.info, .info, .info])
    }

    @Test func trailersAndLengthComeThrough() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, headers: [.contentLength: "11"]).trailers([.server: "t"])))
        let body = try await stub.log(to: recordingLogger().0, detail: .body(), style: .oneLine, metadata: .all).send(try request()).body
        #expect(body.expectedLength == 11)
        #expect(try await body.collect() == Data("onetwothree".utf8))
        #expect(body.trailers?[.server] == "t")
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
    }

    @Test(arguments: MiddlewareBehavior.all) func conformsWithBodiesOn(to behavior: MiddlewareBehavior) async throws {
        try await behavior.check(
            MiddlewareUnderTest("log with bodies", switchOff: { $0.options.logDetail = .off }) {
                $0.log(to: recordingLogger().0, detail: .body(), style: .pretty, metadata: .all, curl: true)
            })
    }

    // MARK: - Others

    @Test(arguments: [LogStyle.oneLine, .pretty]) func textOfTheNetworkStartsNoLine(_ style: LogStyle) async throws {
        let text = "x\nINFO forged\r\rINFO forged\u{2028}INFO forged\u{85}INFO forged"
        for forged in [text, "[\"\(text)\"]", "[]\n" + text] {
            var request = try request(.post, body: .text(forged))
            let field = try #require(HTTPField.Name("X-Field"))
            request.head.headerFields[field] = "a\u{85}INFO forged"
            let texts = try await Self.texts(
                request, .stream([Data(forged.utf8)], headers: [field: "a\u{2028}INFO"]), detail: .body(), style: style)
            for text in texts {
                let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
                #expect(style == .pretty || lines.count == 1)
                #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  ") })
                #expect(!text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
            }
        }
    }

    @Test func aFailureCarriesTheRequestForCURL() async throws {
        let (logger, lines) = recordingLogger()
        let failure = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stack = StubTransport(Stub().responds(.failure(failure), .status(.ok))).log(
            to: logger, style: .oneLine, metadata: .all, curl: true)
        var request = try request()
        request.head.headerFields[.authorization] = "Bearer s3cret"
        await #expect(throws: TransportError.self) { try await stack.send(request) }
        _ = try await stack.send(request)
        #expect(
            lines.all[1].text == "GET https://a.example/x: cannot connect (not sent) | curl -X GET --path-as-is --globoff "
                + "'https://a.example/x' -H 'Authorization: <redacted>' -H 'User-Agent:' -H 'Accept:'")
        #expect(!lines.all[3].text.contains("curl"))
    }

    @Test func noMessageIsBuiltForADisabledLogLevel() async throws {
        let described = Mutex(0)
        let failure = CountingFailure { described.withLock { $0 += 1 } }
        let (logger, lines) = recordingLogger(level: .error)
        let stub = StubTransport(Stub().responds(.failure(failure), .stream(streamed)))
        let stack = stub.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, curl: true)
        let isFailure: Bool
        do {
            _ = try await stack.send(try request())
            isFailure = false
        } catch {
            isFailure = error is CountingFailure  // the test framework would describe it
        }
        #expect(isFailure)
        let response = try await stack.send(try request())
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
        #expect(described.withLock { $0 } == 0)
        #expect(lines.all.isEmpty)
    }
}

/// Notes that it was described.
private struct CountingFailure: RequestFailure {
    let isDescribed: @Sendable () -> Void
    var attempts: [AttemptRecord] = []
    var request: Request?
    var phase: ExchangePhase { .send }
    var delivery: Delivery { .unknown }
    var description: String {
        isDescribed()
        return "described"
    }

    init(_ isDescribed: @escaping @Sendable () -> Void) { self.isDescribed = isDescribed }
}
