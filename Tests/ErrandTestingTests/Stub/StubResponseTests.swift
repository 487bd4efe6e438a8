import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StubResponseTests {
    private func request(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) throws -> Request {
        try Request(method, url: "https://a.example" + target, headers: headers, body: body)
    }

    @Test func aFileIsStreamedWithItsLength() async throws {
        let path = NSTemporaryDirectory() + "errand-stub-\(UUID().uuidString).txt"
        try Data("from a file".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let stub = StubTransport(
            Stub(.get, "/file").responds(.file(atPath: path, contentType: "text/plain")), Stub().responds(.file(atPath: path + ".none")))
        let response = try await stub.send(request(.get, "/file"))
        #expect(response.headers[.contentType] == "text/plain" && response.body.expectedLength == 11 && response.body.bufferedData == nil)
        #expect(try await response.body.collect() == Data("from a file".utf8))
        await #expect(throws: FileReadError.self) { try await stub.send(request()) }
    }

    @Test(arguments: [
        (StubResponse.offline, TransportError.Code.notConnected, Delivery.notSent, true),
        (.hostNotFound, .cannotFindHost, .notSent, true), (.connectionRefused, .cannotConnect, .notSent, true),
        (.connectionLost, .connectionLost, .unknown, true), (.timedOut, .timedOut, .unknown, false),
        (.untrustedCertificate, .tls, .notSent, false),
    ]) func aFailureOfTheNetworkHasItsCode(
        _ response: StubResponse, _ code: TransportError.Code, _ delivery: Delivery, _ isConnectivityError: Bool
    ) async throws {
        let stub = StubTransport(Stub().responds(response))
        let error = try #require(await #expect(throws: TransportError.self) { try await stub.send(request()) })
        #expect(error.code == code && error.delivery == delivery && error.isConnectivityError == isConnectivityError)
        #expect(error.request?.url?.description == "https://a.example/")
    }

    @Test func aLiteralOfMixedValuesIsJSON() async throws {
        let stub = StubTransport(
            Stub(.post).json(["id": 1, "title": "tea", "price": nil]).responds(.json(["id": 7, "tags": ["x"], "price": nil])))
        let response = try await APIClient(stub).post(
            .url("https://a.example/"), body: .json(["id": 1, "title": "tea", "price": nil]), as: JSONValue.self)
        #expect(response == ["id": 7, "tags": ["x"], "price": nil])
        #expect(stub.requests.first?.headers[.contentType] == "application/json")
        let same = try await StubTransport(Stub().responds(.json([1, 2]))).send(request()).body.collect()
        #expect(same == Data("[1,2]".utf8))
    }

    @Test func aRedirectIsInTheFieldsAndFollowed() async throws {
        let stub = StubTransport(
            Stub(.post, "/a").responds(.redirect(to: "/b", status: .temporaryRedirect)), Stub(.post, "/b").responds(.echo))
        let first = try await stub.send(request(.post, "/a"))
        #expect(first.status == .temporaryRedirect && first.headers[.location] == "/b")
        let response = try await stub.redirect().send(request(.post, "/a", body: .text("kept")))
        #expect(try await response.body.collect() == Data("kept".utf8))
    }

    @Test func anEchoHasTheBodyItsTypeAndItsTrailers() async throws {
        let stub = StubTransport(Stub().responds(.echo))
        let response = try await stub.send(request(.post, headers: [.contentType: "a/b"], body: .text("again")))
        #expect(response.headers[.contentType] == "a/b")
        #expect(try await response.body.collect() == Data("again".utf8))
        #expect(stub.requests.map(\.text) == ["again"], "what is streamed is recorded, too")
    }

    @Test func theLastOfSeveralResponsesRepeatsOnDemand() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok), repeatingLast: true))
        var codes: [Int] = []
        for _ in 0..<4 { codes.append(try await stub.send(request()).status.code) }
        #expect(codes == [503, 200, 200, 200])
    }

    @Test func aClosureSeesTheValuesInThePath() async throws {
        let stub = StubTransport(
            Stub(.get, "/users/{id}/posts/{post}").responds(.custom { (HTTPResponse(status: .ok), Data("\($0.pathValues)".utf8)) }))
        let body = try await stub.send(request(.get, "/users/a%2Fb/posts/7")).body.collect()
        #expect([#"["id": "a/b", "post": "7"]"#, #"["post": "7", "id": "a/b"]"#].contains(String(decoding: body, as: UTF8.self)))
    }

    @Test func unmatchedRequestsPassThrough() async throws {
        let below = StubTransport(Stub().responds(.status(.ok, text: "below")))
        let above = StubTransport(
            Stub(.get, "/stubbed").responds(.status(.ok, text: "above")), Stub(.get, "/sent").responds(.passThrough(to: below)),
            unmatched: .passesThrough(to: below))
        var texts: [String] = []
        for target in ["/stubbed", "/sent", "/other"] {
            texts.append(String(decoding: try await above.send(request(.get, target)).body.collect(), as: UTF8.self))
        }
        #expect(texts == ["above", "below", "below"])
        #expect(below.requests.map(\.path) == ["/sent", "/other"] && above.requests.count == 3)
    }

    @Test func aBodyThatWasReadToMatchPassesThroughWhole() async throws {
        let below = StubTransport(Stub().responds(.echo))
        let above = StubTransport(Stub().json(["a": 1]).responds(.status(.ok)), unmatched: .passesThrough(to: below))
        let once = RequestBody.stream(
            AsyncStream { continuation in
                continuation.yield(Data("read once".utf8))
                continuation.finish()
            })
        #expect(try await above.send(request(.post, body: once)).body.collect() == Data("read once".utf8))
    }

    @Test func rawBytesNeedAWire() async throws {
        let stub = StubTransport(Stub().responds(.raw("HTTP/1.1 200 OK\r\n\r\n")))
        let failure = await #expect(throws: TransportError.self) { try await stub.send(request()) }
        #expect(failure?.code == .unsupported)
    }

    // MARK: - Time

    /// Runs `operation`, and moves the clock to whoever sleeps next until it is done; what it gives, and how long it took.
    private func timed<Result: Sendable>(
        on clock: ManualClock, _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> (result: Result, took: Duration) {
        let start = clock.now
        let task = Task { try await operation() }
        let mover = Task {
            while true {
                try await clock.sleepers(atLeast: 1)
                clock.advanceToNextSleeper()
            }
        }
        defer { mover.cancel() }
        let result = try await task.value
        return (result, start.duration(to: clock.now))
    }

    @Test func aDelayIsWaitedForOnTheClock() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok).delayed(by: .seconds(60))), clock: clock)
        let task = Task { try await stub.send(request()).status }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(59))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        #expect(try await task.value == .ok)
    }

    @Test(
        arguments: [
            (.edge, 400 + 2000), (.mobile3G, 100 + 615), (.mobile4G, 50 + 10), (.wiFi, 1 + 12),
            (NetworkConditions(latency: .seconds(1)), 1000),
        ] as [(NetworkConditions, Int)])
    func aDownloadTakesTheTimeOfTheNetwork(_ conditions: NetworkConditions, milliseconds: Int) async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.data(Data(count: 60_000))), conditions: conditions, clock: clock)
        let (count, took) = try await timed(on: clock) { try await stub.send(request()).body.collect().count }
        #expect(count == 60_000)
        #expect(abs(took / .milliseconds(1) - Double(milliseconds)) < 2, "\(took)")
    }

    @Test func anUploadTakesTheTimeOfTheNetworkAndReportsItsProgress() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok).over(.edge)), clock: clock)
        let sink = RecordingEventSink()
        var made = try request(.post, body: .data(Data(count: 100_000)))
        made.options.eventSink = sink
        let request = made
        let (_, took) = try await timed(on: clock) { try await stub.send(request) }
        #expect(took == .milliseconds(400 + 4_000))
        let progress = sink.events.compactMap(\.bytes)
        #expect(progress.count == 80 && progress == progress.sorted() && progress.last == 100_000, "twenty pieces a second")
        #expect(
            sink.events.map(\.kind).filter { $0 != .requestBytesSent } == [.start, .requestHeadSent, .requestSent, .responseHead, .end])
    }

    @Test func conditionsOfAResponseReplaceTheDefault() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok).over(NetworkConditions())), conditions: .edge, clock: clock)
        #expect(try await timed(on: clock) { try await stub.send(request()).status }.took == .zero)
    }

    @Test func cancellingEndsADelayAndAPacedBody() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.get, "/late").responds(.status(.ok).delayed(by: .seconds(60))),
            Stub().responds(.data(Data(count: 1_000_000)).over(NetworkConditions(downloadBytesPerSecond: 10))), clock: clock)
        for target in ["/late", "/slow"] {
            let task = Task { try await stub.send(request(.get, target)).body.collect() }
            try await clock.sleepers(atLeast: 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(clock.sleeperCount == 0 && stub.openBodyCount == 0)
        }
    }

    // MARK: - Breaking off

    @Test(arguments: [0, 1, 5, 9, 10, 11])
    func aBodyBreaksAfterTheGivenByte(_ count: Int) async throws {
        let stub = StubTransport(Stub().responds(.stream(["four", "more", "ok"].map { Data($0.utf8) }).breaking(afterBytes: count)))
        let response = try await stub.send(request())
        var found = Data()
        let failure = await #expect(throws: TransportError.self) { () async throws -> Void in
            for try await chunk in response.body { found.append(chunk) }
        }
        #expect(found == Data("fourmoreok".utf8).prefix(count))
        #expect(failure?.code == .connectionLost && failure?.phase == .body && failure?.delivery == .sent && stub.openBodyCount == 0)
        #expect(failure?.request?.url == response.request.url && failure?.response?.status == .ok)
        #expect(
            failure?.description == "GET https://a.example/: connection lost while reading the body: broken off by the stub (sent)")
    }

    @Test func aBodyBreaksWithTheGivenError() async throws {
        let stub = StubTransport(Stub().responds(.data(Data(count: 10)).breaking(afterBytes: 3, with: TestError())))
        await #expect(throws: TestError.self) { try await stub.send(request()).body.collect() }
    }

    @Test func unusedStubsAreListed() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(.status(.ok)), Stub(.get, "/b").responds(.status(.ok), .status(.gone)),
            Stub(.get, "/c").responds(.status(.ok)))
        _ = try await stub.send(request(.get, "/a"))
        _ = try await stub.send(request(.get, "/b"))
        #expect(stub.unusedStubs.map(\.description) == ["method GET, path /b", "method GET, path /c"])
    }

    // MARK: - Side by side

    /// Each of a thousand tests has stubs of its own, and all run at the same time.
    @Test(arguments: 0..<1_000)
    func aThousandParallelTestsDoNotInterfere(_ number: Int) async throws {
        let stub = StubTransport(
            Stub(.get, "/items/{id}").query("page").responds(.status(.serviceUnavailable), .json(["number": number])),
            Stub(.put, "/items/{id}").responds(.echo))
        let client = APIClient(stub.retry(clock: CallbackClock(waits: false)).server("https://a.example"))
        let value: [String: Int] = try await client.get("/items/\(number)", query: ["page": number])
        #expect(value == ["number": number])
        let echo = try await client.send(Request(.put, "/items/\(number)", body: .text("\(number)")))
        #expect(try await echo.body.collect() == Data("\(number)".utf8))
        #expect(stub.requests.map(\.path) == Array(repeating: "/items/\(number)", count: 3))
        #expect(stub.unusedStubs.isEmpty && stub.openBodyCount == 0)
    }
}
