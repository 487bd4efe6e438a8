import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingReplayTests {
    private static let bodies: [(String?, Data)] = [
        ("text/plain", Data("Grüße, \u{1F600}\u{2028} \r\n\t\"\\/<>&".utf8)), ("text/plain", Data()), (nil, Data("no type".utf8)),
        ("application/json", Data(#"{"b" : 1.0, "a":[ null,"\u00e4\/"]}"#.utf8)), ("image/png", Data.seeded(10_000)),
        ("text/plain", Data([0xEF, 0xBB, 0xBF, 0x61])), ("text/plain", Data([0x61, 0, 0x62])),
        ("text/plain; charset=iso-8859-1", Data([0xE4, 0xF6])),
        ("text/plain", Data("e\u{301} \u{E9}".utf8)), ("text/plain", Data([0xED, 0xA0, 0x80])), ("application/json", Data("no JSON".utf8)),
        ("text/html", Data(String(repeating: "<p>long</p>\n", count: 20_000).utf8)),
    ]

    @Test(arguments: bodies.indices)
    func bodiesAreReplayedByteForByte(_ index: Int) async throws {
        let (type, body) = Self.bodies[index]
        var headers: HTTPFields = [.eTag: "\"x\""]
        if let type { headers[.contentType] = type }
        let folder = try TestFolder("recording")
        let size = max(1, body.count / 3)
        let chunks = stride(from: 0, to: body.count, by: size).map { Data(body[$0..<min($0 + size, body.count)]) }
        for transport in [ClosureTransport(headers: headers, data: body), ClosureTransport(headers: headers, chunks: chunks)] {
            try await folder.record([get("/a")], over: transport)
            let (live, replayed) = (try await HTTPStack(transport).send(get("/a")), try await folder.replay().send(get("/a")))
            #expect(replayed.head == live.head)
            #expect(body.isEmpty || (replayed.body.bufferedData == nil) == (live.body.bufferedData == nil))
            let isSame = try await ErrandRecordingTests.chunks(of: replayed).chunks == ErrandRecordingTests.chunks(of: live).chunks
            #expect(isSame)
        }
    }

    @Test func headsAreReplayedUnchanged() async throws {
        let folder = try TestFolder("recording")
        var headers: HTTPFields = [.contentLength: "5", .retryAfter: "1"]
        for value in ["a=b", "c, d", "", "ä"] { headers.append(HTTPField(name: .init("X-Many")!, value: value)) }
        headers.append(HTTPField(name: .init("X-Bytes")!, value: [0x61, 0xE4, 0x62]))
        headers.append(HTTPField(name: .init("x-many")!, value: "last"))
        let status = HTTPResponse.Status(code: 418, reasonPhrase: "I'm a Teapot")
        let log = try await folder.record([Request(.head, url: "https://a.example/")], over: ClosureTransport(status, headers: headers))
        #expect(log.entries[0].response.content.size == 0 && log.entries[0].response.statusText == "I'm a Teapot")
        let replayed = try await folder.replay().send(Request(.head, url: "https://a.example/"))
        #expect(replayed.head == HTTPResponse(status: status, headerFields: headers))
        #expect(replayed.status.reasonPhrase == "I'm a Teapot")
        #expect(replayed.headers.map(\.name.rawName) == headers.map(\.name.rawName))
        #expect(replayed.headers.last { $0.name.rawName == "X-Bytes" }?.withUnsafeBytesOfValue { Array($0) } == [0x61, 0xE4, 0x62])
        #expect(try await replayed.body.collect().isEmpty)
    }

    @Test(arguments: [Delivery.notSent, .unknown, .sent])
    func theDeliveryOfAFailedRequestIsReplayed(delivery: Delivery) async throws {
        let folder = try TestFolder("recording")
        let refusing = ClosureTransport { request in
            throw TransportError(.connectionLost, phase: .response, request: request, delivery: delivery)
        }
        try await folder.record([post("/a", .text("x"))], over: refusing)
        let failure = try #require(
            await #expect(throws: TransportError.self) { _ = try await folder.replay().send(post("/a", .text("x"))) })
        #expect(failure.delivery == delivery)
    }

    /// The server refused the first, and a retry of a POST succeeded: so it does on the replay.
    @Test func aRetryThatTheServerMadeSafeSucceedsOnTheReplayToo() async throws {
        let folder = try TestFolder("recording")
        let calls = Watched(0)
        let server = ClosureTransport { request in
            calls.change { $0 += 1 }
            guard calls.value > 1 else {
                throw TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent)
            }
            return Response(head: HTTPResponse(status: .created), request: request)
        }
        let recording = try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true)
        let clock = ManualClock()
        let live = server.record(on: recording).retry(clock: clock)
        #expect(try await clock.advancingToSleepers { try await live.send(post("/a", .text("x"))) }.status == .created)
        try recording.save()
        let replayed = try folder.replay().retry(clock: clock)
        #expect(try await clock.advancingToSleepers { try await replayed.send(post("/a", .text("x"))) }.status == .created)
    }

    /// It is a part of the call: options for layers outside it are theirs.
    @Test(arguments: [Recording.Mode.none, .newEpisodes]) func aReplayIgnoresOptionsOfOuterLayers(_ mode: Recording.Mode) async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: ClosureTransport(.ok))
        var request = try get("/a")
        request.options.retry = .use(RetryPolicy(maxAttempts: 2))
        let recording = try Recording(atPath: folder.file("a.har"), mode: mode, keepsUnknownText: true)
        #expect(try await ClosureTransport(.notFound).record(on: recording).retry().send(request).status == .ok)
    }

    @Test(arguments: [204, 304, 500, 999])
    func anyStatusIsReplayed(_ code: Int) async throws {
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: ClosureTransport(.init(code: code)))
        let replayed = try await folder.replay().send(get("/a"))
        #expect(try await replayed.body.collect().isEmpty && replayed.status.code == code)
    }

    @Test func trailersVersionAndCodingAreReplayed() async throws {
        let folder = try TestFolder("recording")
        let trailers: HTTPFields = [.init("X-Check")!: "1"]
        let live = ClosureTransport { request in
            var response = Response.streaming(
                ScriptedBodySource(steps: [{ Data("ab".utf8) }, { Data("c".utf8) }], trailers: trailers), to: request, version: .http2)
            response.metadata.contentCoding = "gzip"
            return response
        }
        let log = try await folder.record([get("/a")], over: live)
        #expect(log.entries[0].response.httpVersion == "HTTP/2" && log.entries[0].response.bodySize == -1)
        let replayed = try await folder.replay().send(get("/a"))
        #expect(replayed.metadata.httpVersion == .http2 && replayed.metadata.contentCoding == "gzip")
        #expect(replayed.exchange.outcome == nil && replayed.body.trailers == nil)
        let (chunks, last) = try await chunks(of: replayed)
        #expect(chunks == [Data("ab".utf8), Data("c".utf8)] && last == trailers)
        guard case .complete = replayed.exchange.outcome else { return #expect(Bool(false), "it has not ended") }
    }

    @Test func chunksAreReplayedAtTheirTimes() async throws {
        let folder = try TestFolder("recording")
        let clock = ManualClock()
        let live = ClosureTransport { request in
            clock.advance(by: .milliseconds(250))
            let steps: [(Int, String)] = [(0, "a"), (1500, "bc"), (40, "d")]
            return .streaming(
                ScriptedBodySource(
                    steps: steps.map { wait, text in
                        {
                            clock.advance(by: .milliseconds(wait))
                            return Data(text.utf8)
                        }
                    }), to: request)
        }
        let recording = try Recording(
            atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true, clock: clock,
            date: { Date(timeIntervalSince1970: 1_700_000_000.25) })
        _ = try await live.record(on: recording).send(get("/a")).body.collect()
        try recording.save()
        let entry = try HARLog(fileContent: folder.read("a.har")).entries[0]
        #expect(entry.response.chunks == [.init(bytes: 1, time: 0), .init(bytes: 2, time: 1500), .init(bytes: 1, time: 1540)])
        #expect(entry.timings.wait == 250 && entry.timings.receive == 1540 && entry.time == 1790)
        #expect(entry.startedDateTime == "2023-11-14T22:13:20.250Z")

        let (path, time) = (folder.file("a.har"), ManualClock())
        let arrivals = Watched<[String]>([])
        let start = time.now
        let reader = Task {
            let transport = try ReplayTransport(atPath: path, timing: .recorded, clock: time)
            for try await chunk in try await HTTPStack(transport).send(get("/a")).body {
                let at = start.duration(to: time.now)
                arrivals.change { $0.append("\(String(decoding: chunk, as: UTF8.self)) \(at / .milliseconds(1))") }
            }
        }
        for _ in 0..<3 {
            try await time.sleepers(atLeast: 1)
            time.advanceToNextSleeper()
        }
        try await reader.value
        #expect(arrivals.value == ["a 250.0", "bc 1750.0", "d 1790.0"])

        // Without the timing, nobody waits: this clock stands still.
        _ = try await HTTPStack(try ReplayTransport(atPath: path, clock: ManualClock())).send(get("/a")).body.collect()
    }

    @Test func aReplayThatWaitsIsCancelled() async throws {
        let folder = try TestFolder("recording")
        let clock = ManualClock()
        let live = ClosureTransport { request in
            clock.advance(by: .seconds(3))
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true, clock: clock)
        _ = try await live.record(on: recording).send(get("/a"))
        try recording.save()
        let (path, time) = (folder.file("a.har"), ManualClock())
        let task = Task {
            try await HTTPStack(try ReplayTransport(atPath: path, timing: .recorded, clock: time)).send(get("/a"))
        }
        try await time.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }

    @Test func aReplayThatWaitsObeysTheDeadline() async throws {
        let folder = try TestFolder("recording")
        let clock = ManualClock()
        let live = ClosureTransport { request in
            clock.advance(by: .seconds(3))
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true, clock: clock)
        _ = try await live.record(on: recording).send(get("/a"))
        try recording.save()
        for mode in [Recording.Mode.once, .newEpisodes] {
            let time = ManualClock()
            let stack = live.record(
                on: try Recording(atPath: folder.file("a.har"), mode: mode, keepsUnknownText: true, clock: time), timing: .recorded)
            let request = try get("/a")
            let task = Task {
                var request = request
                request.deadline = Deadline(after: .seconds(2), clock: time)
                return try await stack.send(request)
            }
            try await time.sleepers(atLeast: 2)
            time.advance(by: .seconds(2))
            let error = await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func aFailureIsReplayed() async throws {
        let folder = try TestFolder("recording")
        let log = try await folder.record(
            [get("/a")],
            over: ClosureTransport { throw TransportError(.cannotConnect, phase: .connect, request: $0, delivery: .notSent) })
        #expect(log.entries[0].response.status == 0)
        #expect(log.entries[0].response.error == "GET https://a.example/a: cannot connect (not sent)")
        let error = await #expect(throws: TransportError.self) { try await folder.replay().send(get("/a")) }
        #expect(error?.code == .cannotConnect && error?.phase == .connect && error?.delivery == .notSent && error?.request != nil)
    }

    @Test func aBrokenBodyIsReplayedAsBroken() async throws {
        let folder = try TestFolder("recording")
        let lost = TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
        try await folder.record([get("/a")], over: ClosureTransport(chunks: [Data("ab".utf8), Data("c".utf8)], failure: lost))
        let replayed = try await folder.replay().send(get("/a"))
        var iterator = replayed.body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("ab".utf8))
        #expect(try await iterator.next() == Data("c".utf8))
        let error = await #expect(throws: TransportError.self) { _ = try await iterator.next() }
        #expect(error?.code == .connectionLost && error?.phase == .body && error?.response?.status == .ok)
        guard case .failed = replayed.exchange.outcome else { return #expect(Bool(false), "it has not failed") }
    }

    @Test func onlyTheTypeOfAnAppErrorIsRecorded() async throws {
        struct Revealing: Error { let secret = "S3CRET-S3CRET" }
        let folder = try TestFolder("recording")
        try await folder.record([get("/a")], over: ClosureTransport { _ in throw Revealing() })
        #expect(try !folder.text("a.har").contains("S3CRET"))
        let error = await #expect(throws: TransportError.self) { try await folder.replay().send(get("/a")) }
        #expect(error?.code.description == "Revealing" && error?.delivery == .unknown)
    }

    @Test func anAbandonedBodyIsReplayedUpToItsEnd() async throws {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
        let stack = ClosureTransport(chunks: [Data("ab".utf8), Data("cd".utf8), Data("e".utf8)]).record(on: recording)
        try await stack.withResponse(to: get("/a")) { response in
            for try await chunk in response.body where chunk == Data("cd".utf8) { break }
        }
        try recording.save()
        #expect(recording.log.entries[0].response.incomplete == .unfinished)
        let replay = try folder.replay()
        let response = try await replay.send(get("/a"))
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("ab".utf8))
        #expect(try await iterator.next() == Data("cd".utf8))
        let error = await #expect(throws: TransportError.self) { _ = try await iterator.next() }
        #expect(error?.message == "when this was recorded, its body was not read to its end")
    }

    @Test func aBodyOverTheLimitIsCutAndNotReplayed() async throws {
        let folder = try TestFolder("recording")
        let log = try await folder.record(
            [get("/a")], over: ClosureTransport(chunks: [Data("abc".utf8), Data("def".utf8), Data("ghi".utf8)]), bodyLimitBytes: 4)
        #expect(log.entries[0].response.content.text == "abcd" && log.entries[0].response.content.size == 9)
        #expect(log.entries[0].response.incomplete == .truncated)
        let error = await #expect(throws: NoRecordedExchangeError.self) { try await folder.replay().send(get("/a")) }
        #expect(error?.nearest == "entry 1 (GET https://a.example/a), matches, but its body is longer than the recorded part")
    }

    @Test func aFileOfABrowserIsReplayed() async throws {
        let folder = try TestFolder("recording")
        let path = try folder.write(
            """
            \u{FEFF}{"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"}, "pages": [], "entries": [{
              "_initiator": {"type": "other"}, "_priority": "High", "connection": "1", "pageref": "page_1",
              "startedDateTime": "2026-01-02T03:04:05.678Z", "time": 12.5, "cache": {}, "serverIPAddress": "127.0.0.1",
              "request": {"method": "GET", "url": "https://a.example/a?q=1#top", "httpVersion": "h2", "cookies": [],
                "headers": [{"name": ":authority", "value": "a.example"}, {"name": "accept", "value": "*/*"}],
                "queryString": [{"name": "q", "value": "1"}], "headersSize": -1, "bodySize": 0},
              "response": {"status": 200, "statusText": "", "httpVersion": "h2",
                "cookies": [{"name": "a", "value": "b", "expires": "2026-01-02T03:04:05.678Z", "httpOnly": false, "secure": true}],
                "headers": [{"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "3"}, {"name": "x-a", "value": "b"}],
                "content": {"size": 11, "mimeType": "text/plain", "text": "hello world", "compression": 8},
                "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 100, "_error": null},
              "timings": {"blocked": 1.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 10, "receive": 0.9, "_blocked_queueing": 1}
            }]}}
            """, to: "a.har")
        let response = try await HTTPStack(try ReplayTransport(atPath: path)).send(get("/a?q=1"))
        #expect(response.headers == [.init("x-a")!: "b"])
        #expect(try await response.body.collect() == Data("hello world".utf8))
    }
}
