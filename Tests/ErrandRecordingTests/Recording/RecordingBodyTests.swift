import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingBodyTests {
    private func recording(_ folder: TestFolder) throws -> Recording {
        try Recording(atPath: folder.file("a.har"), mode: .once, keepsUnknownText: true)
    }

    @Test func eachChunkIsDeliveredBeforeTheNextRead() async throws {
        let recording = try recording(TestFolder("recording"))
        let asked = Watched(0)
        let step: @Sendable () async throws -> Data = {
            asked.change { $0 += 1 }
            return Data("x".utf8)
        }
        let live = ClosureTransport { .streaming(ScriptedBodySource(steps: [step, step, step]), to: $0) }
        let response = try await live.record(on: recording).send(get("/"))
        var iterator = response.body.makeAsyncIterator()
        for number in 0..<3 {
            #expect(asked.value == number)
            #expect(try await iterator.next() == Data("x".utf8))
            #expect(recording.log.entries[0].response.content.size == number + 1)
        }
    }

    /// `HTTPFields` splits a cookie that is set as one value.
    @Test func aCookieIsRecordedAsOneField() async throws {
        var request = try get("/")
        request.headers[.cookie] = "a=1; b=2"
        #expect(request.headers.count == 2)
        let log = try await TestFolder("recording").record([request], over: ClosureTransport())
        #expect(log.entries[0].request.headers.filter { $0.name == "Cookie" }.count == 1)
    }

    /// A value that joins two of them is none that a server has sent.
    @Test func aRepeatedFieldIsNotJoined() async throws {
        var fields: HTTPFields = [.contentType: "text/plain", .location: "/a"]
        fields.append(HTTPField(name: .contentType, value: "text/html"))
        fields.append(HTTPField(name: .location, value: "/b"))
        let log = try await TestFolder("recording").record([get("/")], over: ClosureTransport(headers: fields, data: Data("x".utf8)))
        #expect(log.entries[0].response.redirectURL == "" && log.entries[0].response.content.mimeType == "text/plain")
        fields[fields: .location].removeLast()
        let other = try await TestFolder("recording").record([get("/")], over: ClosureTransport(headers: fields, data: Data("x".utf8)))
        #expect(other.entries[0].response.redirectURL == "/a")
    }

    @Test func aRecordedResponseKeepsItsExchange() async throws {
        let recording = try recording(TestFolder("recording"))
        let lifetime = ExchangeLifetime()
        let live = ClosureTransport { request in
            Response(
                head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource(steps: [{ Data("x".utf8) }]), expectedLength: 1),
                request: request,
                exchange: lifetime)
        }
        let response = try await live.record(on: recording).send(get("/"))
        #expect(response.exchange.outcome == nil && response.body.expectedLength == 1)
        lifetime.end(.complete)
        #expect(response.exchange.outcome != nil)
    }

    @Test(arguments: ["unread", "half read", "abandoned", "forgotten iterator"])
    func anUnreadBodyIsReleased(_ how: String) async throws {
        let recording = try recording(TestFolder("recording"))
        let body = ScriptedBodySource(steps: [{ Data("x".utf8) }, { Data("y".utf8) }])
        let stack = ClosureTransport { .streaming(body, to: $0) }.record(on: recording)
        func use() async throws {
            let response = try await stack.send(get("/"))
            switch how {
            case "half read": for try await _ in response.body { break }
            case "abandoned": response.body.abandon()
            case "forgotten iterator": _ = response.body.makeAsyncIterator()
            default: break
            }
        }
        try await use()
        try await body.abandonments.wait("the release") { $0 > 0 }
        #expect(recording.log.entries[0].response.incomplete == .unfinished)
    }

    @Test func aCancelledReaderIsReleasedAndItsBytesAreKept() async throws {
        let recording = try recording(TestFolder("recording"))
        let (waiting, clock) = (Watched(false), ManualClock())
        let body = ScriptedBodySource(steps: [
            { Data("x".utf8) },
            {
                waiting.change { $0 = true }
                try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
                return Data("y".utf8)
            },
        ])
        let stack = ClosureTransport { .streaming(body, to: $0) }.record(on: recording)
        let task = Task { try await stack.send(get("/")).body.collect() }
        try await waiting.wait { $0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        try await body.abandonments.wait("the release") { $0 > 0 }
        #expect(recording.log.entries[0].response.content.text == "x")
    }

    @Test func aCancelledExchangeWithoutAHeadIsNotRecorded() async throws {
        let recording = try recording(TestFolder("recording"))
        let clock = ManualClock()
        let stack = ClosureTransport { request in
            try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
            return Response(head: HTTPResponse(status: .ok), request: request)
        }.record(on: recording)
        let task = Task { try await stack.send(get("/")) }
        try await clock.sleepers(atLeast: 1)
        #expect(recording.log.entries.isEmpty, "it has no head yet")
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(recording.log.entries.isEmpty)
    }

    @Test func savingDoesNotWaitForOpenBodies() async throws {
        let folder = try TestFolder("recording")
        let recording = try recording(folder)
        let stack = ClosureTransport(chunks: [Data("ab".utf8), Data("c".utf8)]).record(on: recording)
        let response = try await stack.send(get("/"))
        var iterator = response.body.makeAsyncIterator()
        _ = try await iterator.next()
        try recording.save()
        let open = try HARLog(fileContent: folder.read("a.har")).entries[0].response
        #expect(open.content.text == "ab" && open.incomplete == .unfinished)
        while try await iterator.next() != nil {}
        try recording.save()
        let whole = try HARLog(fileContent: folder.read("a.har")).entries[0].response
        #expect(whole.content.text == "abc" && whole.incomplete == nil && whole.chunks?.count == 2)
    }

    @Test func requestBodiesOfEveryKindAreSentAndRecordedWhole() async throws {
        let folder = try TestFolder("recording")
        let content = Data.seeded(300_000)
        let file = try folder.write(content, to: "body")
        let halves: [Data] = [content.prefix(100_000), content.dropFirst(100_000)]
        let bodies: [(RequestBody, RequestBody.Replay)] = [
            (.data(content), .seekable), (try .file(atPath: file), .seekable),
            (
                .stream(
                    AsyncStream { continuation in
                        for half in halves { continuation.yield(half) }
                        continuation.finish()
                    }, length: 300_000), .oneShot
            ),
            (.stream { _ in ScriptedBodySource(steps: halves.map { half in { half } }) }, .restartable),
        ]
        let sent = Watched(Data())
        let live = ClosureTransport { request in
            sent.change { $0 = Data() }
            let source = try await request.body.open()
            while let chunk = try await source.next() { sent.change { $0 += chunk } }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        for (body, replay) in bodies {
            let recording = try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true)
            let seen = Watched<RequestBody?>(nil)
            let spy = ClosureTransport { request in
                seen.change { $0 = request.body }
                return try await live.send(request)
            }
            let response = try await spy.record(on: recording).send(post("/", body))
            #expect(seen.value?.length == body.length && seen.value?.replay == replay)
            #expect(response.request.body.description == body.description)
            let isSame = sent.value == content
            #expect(isSame)
            let data = try #require(recording.log.entries[0].request.postData)
            #expect(data.encoding == "base64" && data.incomplete == nil)
            let isKept = data.text.flatMap { Data(base64Encoded: $0) } == content
            #expect(isKept)
        }
    }

    @Test func aBodyThatIsSentAgainIsRecordedOnce() async throws {
        let recording = try recording(TestFolder("recording"))
        let live = ClosureTransport { request in
            let first = try await request.body.open()
            _ = try await first.next()
            first.abandon()
            let second = try await request.body.open()
            while try await second.next() != nil {}
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        let body = RequestBody.stream { _ in ScriptedBodySource(steps: [{ Data("ab".utf8) }, { Data("c".utf8) }]) }
        _ = try await live.record(on: recording).send(post("/", body))
        #expect(recording.log.entries[0].request.postData?.text == "abc")
    }

    @Test func aBodyThatWasNotSentWholeIsMarked() async throws {
        let recording = try recording(TestFolder("recording"))
        let live = ClosureTransport { request in
            let source = try await request.body.open()
            _ = try await source.next()
            source.abandon()
            return Response(head: HTTPResponse(status: .contentTooLarge), request: request)
        }
        let body = RequestBody.stream { _ in ScriptedBodySource(steps: [{ Data("ab".utf8) }, { Data("c".utf8) }]) }
        _ = try await live.record(on: recording).send(post("/", body))
        let request = recording.log.entries[0].request
        #expect(request.postData?.text == "ab" && request.postData?.incomplete == .unfinished && request.bodySize == -1)
    }

    @Test func everyAttemptAndEveryHopIsAnExchange() async throws {
        let folder = try TestFolder("recording")
        let calls = Watched(0)
        let live = ClosureTransport { request in
            calls.change { $0 += 1 }
            switch calls.value {
            case 1: return Response(head: HTTPResponse(status: .serviceUnavailable), request: request)
            case 2:
                return Response(head: HTTPResponse(status: .found, headerFields: [.location: "/b?code=S3CRET-S3CRET"]), request: request)
            default: return Response(head: HTTPResponse(status: .ok), data: Data("there".utf8), request: request)
            }
        }
        for _ in 0..<2 {
            let recording = try recording(folder)
            let clock = ManualClock()
            let stack = live.record(on: recording).retry(.standard, clock: clock).redirect()
            let task = Task { try await stack.send(get("/a")).body.collect() }
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(60))
            #expect(try await task.value == Data("there".utf8))
            try recording.save()
            #expect(recording.log.entries.map(\.response.status) == [503, 302, 200])
            #expect(recording.unplayed.isEmpty)
        }
        #expect(calls.value == 3)
        #expect(try !folder.text("a.har").contains("S3CRET"))
    }
}
