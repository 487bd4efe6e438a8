import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct EventStreamTests {
    private let simulation = Simulation()
    private var clock: ManualClock { simulation.clock }
    private let states = RecordingList<EventStreamState>()
    private var stateTexts: [String] { states.all.map { "\($0)" } }

    private let fields: HTTPFields = [.contentType: "text/event-stream"]

    /// A stream of these chunks, which then ends or fails.
    private func stream(_ chunks: String..., failure: (any Error)? = nil) -> StubResponse {
        .stream(chunks.map { Data($0.utf8) }, headers: fields, failure: failure)
    }

    /// A stream of these chunks. After the chunks, the stream stays open and sends nothing.
    private func silentStream(_ chunks: String...) -> StubResponse {
        let head = HTTPResponse(status: .ok, headerFields: fields)
        var steps: [@Sendable () async throws -> Data] = []
        for chunk in chunks { steps.append { Data(chunk.utf8) } }
        steps.append { try await ScriptedBodySource(then: .stall).next() ?? Data() }
        let script = steps
        return .streaming { _, _ in (head, ScriptedBodySource(steps: script)) }
    }

    private let gone = StubResponse.status(.noContent)

    private func lost(_ delivery: Delivery = .sent) -> TransportError {
        TransportError(.connectionLost, phase: .body, request: nil, delivery: delivery)
    }

    /// A client that gets the responses one after the other, at most five, and then the last one again.
    private func client(_ responses: StubResponse..., wrap: (HTTPStack) -> HTTPStack = { $0 }) -> (APIClient, StubTransport) {
        let all = responses + Array(repeating: responses[responses.count - 1], count: 5)
        let stub = StubTransport(Stub().responds(all[0], all[1], all[2], all[3], all[4], repeatingLast: true))
        return (APIClient(wrap(HTTPStack(stub)).server("https://a.example")), stub)
    }

    private func events(
        _ client: APIClient, _ endpoint: Endpoint<Void> = .get("/prices"),
        policy: EventStreamPolicy = EventStreamPolicy(silenceTimeout: nil)
    ) -> EventStream {
        client.events(endpoint, policy: policy, clock: clock, random: { 0.5 }, onState: states.record)
    }

    /// All events. The time advances when all tasks wait.
    private func all(_ events: EventStream) async throws -> [ServerSentEvent] {
        let reader = simulation.begin {
            var all: [ServerSentEvent] = []
            for try await event in events { all.append(event) }
            return all
        }
        simulation.run()
        return try await reader.value
    }

    private func lastEventIDs(_ stub: StubTransport) -> [String?] { stub.requests.map { $0.headers[.custom("Last-Event-ID")] } }

    // MARK: - Connections

    @Test func eventsContinueOverSeveralConnections() async throws {
        let (client, stub) = client(
            stream("id: 1\ndata: a\n", "\ndata: b\n\n"), stream("data: c\n\nid: 2\ndata: lost"), stream("id\ndata: d\n\n"),
            stream("data: e\n\n"),
            gone)
        let received = try await all(events(client))
        #expect(received.map(\.data) == ["a", "b", "c", "d", "e"])
        #expect(received.map(\.lastEventID) == ["1", "1", "1", "", ""])
        #expect(lastEventIDs(stub) == [nil, "1", "1", nil, nil])
        let once = ["connecting", "open", "waiting for 3.5 s"]
        #expect(stateTexts == once + once + once + once + ["connecting", "closed"])
        #expect(stub.openBodyCount == 0)
    }

    @Test func aPathIsDecodedAndTheLastEventIDIsKept() async throws {
        let (client, _) = client(stream("id: 1\ndata: 7\n\nid: 2\ndata: 8\n\n"), gone)
        var values = client.events("/prices", as: Int.self, policy: EventStreamPolicy(maxReconnects: 0)).makeAsyncIterator()
        #expect(values.lastEventID == "")
        #expect(try await values.next() == 7 && values.lastEventID == "1")
        #expect(try await values.next() == 8 && values.lastEventID == "2")
    }

    @Test func aSingleEventIsDecoded() throws {
        struct Story: Decodable { var headLine: String }
        let event = ServerSentEvent(data: #"{"head_line":"a"}"#)
        #expect(try event.json(as: Story.self, coding: JSONCoding(keys: .snakeCase)).headLine == "a")
        #expect(throws: DecodingError.self) { try event.json(as: Story.self) }
        #expect(try ServerSentEvent(data: "[1]").json() == [1])
    }

    @Test func theRequestSaysThatItWantsEvents() async throws {
        let (client, stub) = client(gone)
        #expect(try await all(events(client)) == [])
        let request = try #require(stub.requests.first)
        #expect(request.headers == [.accept: "text/event-stream", .cacheControl: "no-cache", .acceptEncoding: "identity"])
        let own: HTTPFields = [
            .accept: "text/event-stream, */*", .cacheControl: "no-store", .acceptEncoding: "gzip", .custom("Last-Event-ID"): "7",
        ]
        _ = try await all(events(client, .get("/prices", headers: own)))
        #expect(stub.requests.last?.headers == own)
        _ = try await all(client.events(Endpoint<Void>.get("/prices"), lastEventID: "8"))
        #expect(lastEventIDs(stub).last == "8")
        for try await _ in client.events("/prices", headers: own, lastEventID: "8") {}
        #expect(lastEventIDs(stub).last == "8", "the app's own ID counts before that of the fields")
        for try await _ in client.events("/prices", headers: own, lastEventID: "") {}
        #expect(lastEventIDs(stub).last == .some(nil), "none")
        // An endpoint for JSON does not ask for JSON.
        for try await _ in client.events(Endpoint<[Int]>.get("/prices")) {}
        #expect(stub.requests.last?.headers[.accept] == "text/event-stream")
    }

    @Test func commentsAndTheLastEventIDAreShown() async throws {
        let (client, stub) = client(stream(": first\ndata: a\n:second\n\nid: 7\n\n"), gone)
        let comments = Mutex<[String]>([])
        let stream = client.events(
            Endpoint<Void>.get("/prices"), lastEventID: "6", policy: EventStreamPolicy(silenceTimeout: nil), clock: clock,
            onComment: { text in comments.withLock { $0.append(text) } })
        let reader = simulation.begin {
            var events = stream.makeAsyncIterator()
            var all = [("", events.lastEventID)]
            while let event = try await events.next() { all.append((event.data, events.lastEventID)) }
            return all + [("", events.lastEventID)]
        }
        simulation.run()
        let read = try await reader.value
        #expect(read.map(\.0) == ["", "a", ""] && read.map(\.1) == ["6", "6", "7"])
        #expect(comments.withLock { $0 } == [" first", "second"])
        #expect(lastEventIDs(stub) == ["6", "7"])
    }

    @Test func theServersRetryIsTheNextWait() async throws {
        let (client, _) = client(stream("retry: 10000\n\n"), stream("retry: 20\n\nretry: 30\ndata: a\n\n"), stream(""), gone)
        let policy = EventStreamPolicy(backoff: .immediate, silenceTimeout: nil)
        #expect(try await all(events(client, policy: policy)).count == 1)
        #expect(stateTexts.filter { $0.hasPrefix("waiting") } == ["waiting for 10 s", "waiting for 30 ms", "waiting for 30 ms"])
    }

    @Test func aLostConnectionDropsTheEventThatIsNotComplete() async throws {
        let (client, stub) = client(
            stream("id: 1\ndata: a\n\nid: 2\ndata: b\n", failure: lost()), .failure(lost(.notSent)), stream("data: c\n\n"), gone)
        #expect(try await all(events(client)).map(\.data) == ["a", "c"])
        #expect(lastEventIDs(stub) == [nil, "1", "1", "1"])
    }

    @Test(arguments: [429, 500, 503]) func aTemporaryRefusalIsRetried(_ code: Int) async throws {
        let (client, stub) = client(
            .status(.init(code: code), headers: [.retryAfter: "60"]), .status(.init(code: code)), stream("data: a\n\n"), gone
        ) { $0.retry(clock: ManualClock()) }
        #expect(try await all(events(client)).map(\.data) == ["a"])
        #expect(stub.requests.count == 4, "the stack's retry leaves it alone")
        #expect(stateTexts.filter { $0.hasPrefix("waiting") } == ["waiting for 1 min", "waiting for 4 s", "waiting for 3.5 s"])
    }

    @Test(arguments: [400, 401, 404, 410, 304]) func anyOtherStatusIsFinal(_ code: Int) async throws {
        let (client, stub) = client(.status(.init(code: code), text: "no"))
        let error = await #expect(throws: StatusError.self) { try await all(events(client)) }
        #expect(error?.status.code == code && error?.bodyPrefix == Data("no".utf8))
        #expect(stub.requests.count == 1)
        #expect(stateTexts == ["connecting", "closed"])
    }

    @Test(
        arguments: [
            (200, "text/html", "the Content-Type is text/html, not text/event-stream (status 200)"),
            (200, nil, "the response has no Content-Type; the expected type is text/event-stream (status 200)"),
            (205, "text/event-stream", "the status is 205, not 200 (status 205)"),
        ] as [(Int, String?, String)])
    func aResponseOfAnotherMediaTypeOrStatusIsAnError(_ code: Int, _ type: String?, _ problem: String) async throws {
        var headers = HTTPFields()
        headers[.contentType] = type
        let (client, stub) = client(.stream(streamed, status: .init(code: code), headers: headers))
        let error = await #expect(throws: EventStreamError.self) { try await all(events(client)) }
        #expect(error?.code == .notAnEventStream)
        #expect(error?.description == "GET https://a.example/prices: not an event stream: \(problem)")
        #expect(error?.recoverySuggestion == nil)
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
    }

    @Test func aMediaTypeMayHaveParametersAndAnyCase() async throws {
        let (client, _) = client(.stream([Data("data: a\n\n".utf8)], headers: [.contentType: "Text/Event-Stream; charset=utf-8"]), gone)
        #expect(try await all(events(client)).count == 1)
    }

    @Test func redirectsAreFollowedByTheStack() async throws {
        let (client, stub) = client(.redirect(to: "/other", status: .temporaryRedirect), stream("id: 1\ndata: a\n\n"), gone) {
            $0.redirect()
        }
        #expect(try await all(events(client)).count == 1)
        #expect(stub.requests.map(\.path) == ["/prices", "/other", "/prices"])
        #expect(lastEventIDs(stub) == [nil, nil, "1"])
    }

    @Test func reconnectsWithoutAnEventAreLimited() async throws {
        let policy = EventStreamPolicy(maxReconnects: 2, silenceTimeout: nil)
        let (ending, stub) = client(stream(": only a comment\n"))
        let error = await #expect(throws: EventStreamError.self) { try await all(events(ending, policy: policy)) }
        #expect(
            error?.description
                == "GET https://a.example/prices: incomplete event stream: it ended again after 2 reconnects in a row without an event (status 200)"
        )
        #expect(stub.requests.count == 3)
        let (failing, other) = client(.failure(lost(.notSent)))
        await #expect(throws: TransportError.self) { try await all(events(failing, policy: policy)) }
        #expect(other.requests.count == 3)
        let (once, _) = client(stream("data: a\n\n"))
        #expect(try await all(events(once, policy: EventStreamPolicy(maxReconnects: 0, silenceTimeout: nil))).count == 1)
    }

    @Test func aPermanentErrorIsFinal() async throws {
        let (client, stub) = client(.failure(TransportError(.tls, phase: .connect, request: nil, delivery: .notSent)))
        let error = await #expect(throws: TransportError.self) { try await all(events(client)) }
        #expect(error?.code == .tls && stub.requests.count == 1)
    }

    @Test func anEventOverTheLimitIsFinal() async throws {
        let (client, stub) = client(stream("data: a\n\n", "data: 0123456789"))
        var iterator = events(client, policy: EventStreamPolicy(silenceTimeout: nil, eventLimitBytes: 10)).makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        let error = await #expect(throws: TransportError.self) { try await iterator.next() }
        #expect(error?.code == .bodyTooLarge && error?.request?.url?.description == "https://a.example/prices")
        #expect(try await iterator.next() == nil)
        #expect(stub.openBodyCount == 0 && stub.requests.count == 1)
    }

    // MARK: - Bodies

    private let chat = Endpoint<Void>.post("/chat", body: .json(["q": "why"]))

    @Test func aPostIsSentAgainWithItsBodyIfTheServerCanContinue() async throws {
        let (client, stub) = client(stream("id: 1\ndata: a\n\n", failure: lost()), stream("data: b\n\n"), gone)
        #expect(try await all(events(client, chat)).map(\.data) == ["a", "b"])
        #expect(stub.requests.map(\.text) == Array(repeating: #"{"q":"why"}"#, count: 3))
        #expect(lastEventIDs(stub) == [nil, "1", "1"])
    }

    @Test func aPostWithoutEventIDsIsSentOnceByDefault() async throws {
        let (ending, first) = client(stream("data: a\n\n"))
        #expect(try await all(events(ending, chat)).count == 1)
        let (breaking, second) = client(stream("data: a\n\n", failure: lost()))
        await #expect(throws: TransportError.self) { try await all(events(breaking, chat)) }
        #expect(first.requests.count == 1 && second.requests.count == 1)
        let (again, third) = client(stream("data: a\n\n"), stream("data: b\n\n"), gone)
        #expect(try await all(events(again, chat, policy: EventStreamPolicy(silenceTimeout: nil, resendsNonIdempotent: true))).count == 2)
        #expect(third.requests.map(\.text) == Array(repeating: #"{"q":"why"}"#, count: 3))
    }

    @Test(arguments: [429, 503]) func anUnprocessedPostIsSentAgainAfterTheWaitOfTheServer(_ code: Int) async throws {
        let (client, stub) = client(.status(.init(code: code), headers: [.retryAfter: "60"]), stream("data: a\n\n"))
        #expect(try await all(events(client, chat)).map(\.data) == ["a"])
        #expect(stub.requests.map(\.text) == Array(repeating: #"{"q":"why"}"#, count: 2))
        #expect(stateTexts == ["connecting", "waiting for 1 min", "connecting", "open", "closed"])
    }

    @Test func aRepeatedlyRefusedPostIsSentUpToTheLimitOfThePolicy() async throws {
        let (client, stub) = client(.status(.tooManyRequests))
        let policy = EventStreamPolicy(maxReconnects: 2, silenceTimeout: nil)
        let error = await #expect(throws: StatusError.self) { try await all(events(client, chat, policy: policy)) }
        #expect(error?.status == .tooManyRequests && stub.requests.count == 3)
    }

    @Test(arguments: [500, 502, 503, 504]) func aPostThatMayHaveBeenProcessedIsNotSentAgain(_ code: Int) async throws {
        // For a 503, only `Retry-After` shows that the request was not processed.
        let headers: HTTPFields = code == 503 ? [:] : [.retryAfter: "60"]
        let (client, stub) = client(.status(.init(code: code), headers: headers))
        let error = await #expect(throws: StatusError.self) { try await all(events(client, chat)) }
        #expect(error?.status.code == code && stub.requests.count == 1)
        #expect(stateTexts == ["connecting", "closed"])
    }

    @Test func everyMethodCanReceiveEvents() async throws {
        let (client, stub) = client(stream("id: 1\ndata: a\n\n"), gone)
        var request = try Request(.put, "/chat", body: .data(Data("why".utf8)))
        request.headers[.accept] = "text/event-stream, */*"
        let stream = client.events(
            request, lastEventID: "0", policy: EventStreamPolicy(silenceTimeout: nil), clock: clock, random: { 0.5 }, onState: states.record
        )
        #expect(try await all(stream).map(\.data) == ["a"])
        #expect(lastEventIDs(stub) == ["0", "1"])
        #expect(stub.requests.map(\.text) == ["why", "why"] && stub.requests.map(\.method) == [.put, .put])
        #expect(stub.requests.first?.headers[.accept] == "text/event-stream, */*")
        let (other, _) = self.client(self.stream("data: [1]\n\ndata: end\n\n"))
        var values: [[Int]] = []
        for try await value in other.events(try Request(.post, "/chat"), as: [Int].self, terminator: "end") { values.append(value) }
        #expect(values == [[1]])
    }

    @Test func aBodyThatCanBeReadOnceIsNeverSentAgain() async throws {
        let (client, stub) = client(stream("id: 1\ndata: a\n\n"))
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("why".utf8))
            continuation.finish()
        }
        #expect(try await all(events(client, .put("/chat", body: .raw(.stream(chunks))))).count == 1)
        #expect(stub.requests.map(\.text) == ["why"])
    }

    // MARK: - Time

    @Test func noDeadlineAppliesToAStream() async throws {
        let (client, stub) = client(gone) { $0.timeout(.seconds(1)).phaseTimeouts(attempt: .seconds(1)) }
        _ = try await all(events(client, Endpoint<Void>.get("/prices").with(\.timeout, .seconds(2))))
        #expect(stub.requests.first?.request.deadline == nil)
    }

    @Test func aDeadlineOfTheRequestEndsTheStream() async throws {
        let (client, stub) = client(stream("data: a\n\n"))
        var request = try Request(.get, "/prices")
        request.deadline = Deadline(after: .seconds(10), clock: clock)
        let stream = client.events(
            request, policy: EventStreamPolicy(silenceTimeout: nil), clock: clock, random: { 0.5 }, onState: states.record)
        let error = await #expect(throws: TransportError.self) { try await all(stream) }
        #expect(error?.code == .timedOut && stub.requests.count == 3)
        #expect(stateTexts.last == "closed")
    }

    /// The app's own limit refuses a connection for now: that does not end the stream.
    @Test func aRateLimitDelaysTheNextConnection() async throws {
        let (client, stub) = client(stream("data: a\n\n"), stream("data: b\n\n"), gone) {
            $0.rateLimit(RateLimit(1, per: .seconds(100)), maxWait: .zero, clock: clock)
        }
        let start = clock.now
        #expect(try await all(events(client)).map(\.data) == ["a", "b"])
        #expect(stub.requests.count == 3 && start.duration(to: clock.now) >= .seconds(200))
        #expect(stateTexts.contains { $0.contains("refused by the rate limit") || $0.contains("waiting") })
    }

    @Test func anOpenCircuitDelaysTheNextConnection() async throws {
        let policy = CircuitBreakerPolicy(minimumCalls: 1, breakTime: .seconds(50))
        let breaker = CircuitBreaker(policy, clock: clock)
        let (client, stub) = client(stream("data: a\n\n"), .status(.serviceUnavailable), stream("data: b\n\n"), gone) {
            $0.circuitBreaker(breaker)
        }
        let start = clock.now
        #expect(try await all(events(client)).map(\.data) == ["a", "b"])
        #expect(stub.requests.count == 4 && start.duration(to: clock.now) >= .seconds(50))
    }

    /// The network fails while a new token is fetched for the next connection.
    @Test func aRefreshWithoutNetworkDelaysTheNextConnection() async throws {
        let refresh = FailedRefresh(decidingFailure: lost())
        let (client, stub) = client(stream("data: a\n\n"), .failure(refresh), stream("data: b\n\n"), gone)
        #expect(try await all(events(client)).map(\.data) == ["a", "b"] && stub.requests.count == 4)
        let (signedOut, once) = self.client(stream("data: a\n\n"), .failure(FailedRefresh(decidingFailure: nil)))
        await #expect(throws: FailedRefresh.self) { try await all(events(signedOut)) }
        #expect(once.requests.count == 2)
    }

    private struct FailedRefresh: DependentFailure {
        var request: Request?
        var decidingFailure: (any RequestFailure)?
        var attempts: [AttemptRecord] = []
        var phase: ExchangePhase { .queue }
        var delivery: Delivery { .notSent }
        var description: String { "no token" }
    }

    /// The same request would get the same 504, because the request allows only a stored response.
    @Test func the504OfACacheEndsTheStream() async throws {
        let (client, stub) = client(stream("data: a\n\n")) { $0.cache(in: .memory) }
        let stored = Endpoint<Void>.get("/prices", headers: [.cacheControl: "only-if-cached"])
        let error = await #expect(throws: StatusError.self) { try await all(events(client, stored)) }
        #expect(error?.status == .gatewayTimeout && stub.requests.isEmpty && stateTexts == ["connecting", "closed"])
    }

    /// The response of a load balancer whose server starts again, or of a proxy that has lost its server.
    @Test(arguments: [TransportError.Code.tls, .proxy]) func aConnectionErrorAfterASuccessIsRetried(code: TransportError.Code) async throws
    {
        let failure = TransportError(code, phase: .connect, request: nil, delivery: .notSent)
        let (client, stub) = client(stream("data: a\n\n"), .failure(failure), stream("data: b\n\n"), gone)
        #expect(try await all(events(client)).map(\.data) == ["a", "b"] && stub.requests.count == 4)
        let (never, first) = self.client(.failure(failure))
        let error = await #expect(throws: TransportError.self) { try await all(events(never)) }
        #expect(error?.code == code && first.requests.count == 1)
    }

    /// The server asks for a wait of an hour, and the deadline is in ten seconds. Therefore the stream fails immediately.
    @Test func aWaitThatWouldPassTheDeadlineIsNotStarted() async throws {
        let (client, stub) = client(stream("retry: 3600000\n\n"))
        var request = try Request(.get, "/prices")
        request.deadline = Deadline(after: .seconds(10), clock: clock)
        let (sent, start) = (request, clock.now)
        let error = await #expect(throws: TransportError.self) {
            for try await _ in client.events(sent, policy: EventStreamPolicy(silenceTimeout: nil), clock: clock, random: { 0.5 }) {}
        }
        #expect(error?.code == .timedOut && error?.phase == .backoff && stub.requests.count == 1 && clock.now == start)
    }

    @Test func aStreamThatBecomesSilentConnectsAgain() async throws {
        let (client, stub) = client(silentStream("id: 1\ndata: a\n\n", ": alive\n"), silentStream(), stream("data: b\n\n"), gone)
        #expect(try await all(events(client, policy: EventStreamPolicy(silenceTimeout: .seconds(45)))).map(\.data) == ["a", "b"])
        #expect(lastEventIDs(stub) == [nil, "1", "1", "1"])
        #expect(stub.openBodyCount == 0)
    }

    @Test func aStreamThatIsSilentFromTheStartIsAnErrorInWords() async throws {
        let (still, stub) = client(silentStream())
        let error = await #expect(throws: EventStreamError.self) {
            try await all(events(still, policy: EventStreamPolicy(silenceTimeout: .seconds(45))))
        }
        let text =
            "GET https://a.example/prices: silent event stream: no byte came within 45 s; a proxy may buffer the response "
            + "(for nginx, the server must send X-Accel-Buffering: no), or the server sends no comments while there are no events"
        #expect(error?.code == .silent && error?.description == text + " (status 200)")
        #expect(error?.recoverySuggestion == "Try again later.")
        #expect(stub.openBodyCount == 0)
        let (never, _) = client(.never)
        let other = await #expect(throws: EventStreamError.self) {
            try await all(events(never, policy: EventStreamPolicy(silenceTimeout: .seconds(45))))
        }
        let early = text.replacing("https://a.example", with: "").replacing("no byte came", with: "no stream came")
        #expect(other?.description == early && other?.delivery == .unknown)
    }

    @Test func eachByteRestartsTheSilenceTimeout() async throws {
        let stub = StubTransport(
            Stub().responds(.stream(Array(repeating: Data(":\n".utf8), count: 20) + [Data("data: a\n\n".utf8)], headers: fields), gone),
            conditions: NetworkConditions(latency: .zero, downloadBytesPerSecond: 1, uploadBytesPerSecond: nil), clock: clock)
        let slow = APIClient(stub.server("https://a.example"))
        #expect(try await all(events(slow, policy: EventStreamPolicy(silenceTimeout: .seconds(2)))).map(\.data) == ["a"])
    }

    // MARK: - The reader

    @Test(.timeLimit(.minutes(5))) func cancellingTheReaderClosesTheConnection() async throws {
        let (client, stub) = client(silentStream("data: a\n\n"))
        for silence in [nil, Duration.seconds(45)] {
            let received = Watched(0)
            let stream = events(client, policy: EventStreamPolicy(silenceTimeout: silence))
            let task = Task {
                for try await _ in stream { received.change { $0 += 1 } }
            }
            try await received.wait { $0 == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(stub.openBodyCount == 0 && clock.sleeperCount == 0)
            #expect(stateTexts.last == "closed")
        }
    }

    @Test func cancellingTheReaderEndsAWait() async throws {
        let (client, stub) = client(.failure(lost(.notSent)))
        let stream = events(client)
        let task = Task { for try await _ in stream {} }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 1 && clock.sleeperCount == 0)
        #expect(stateTexts == ["connecting", "waiting for 3.5 s", "closed"])
    }

    @Test func aReaderThatStopsClosesTheConnection() async throws {
        let (client, stub) = client(silentStream("data: a\n\n"))
        for try await event in events(client) {
            #expect(event.data == "a")
            break
        }
        #expect(stub.openBodyCount == 0)
        #expect(stateTexts == ["connecting", "open", "closed"])
    }

    @Test func eachReaderOpensItsOwnConnectionWithTheFirstRead() async throws {
        let (client, stub) = client(silentStream("data: a\n\n"))
        let stream = events(client)
        var (first, second) = (stream.makeAsyncIterator(), stream.makeAsyncIterator())
        #expect(stub.requests.isEmpty && stateTexts.isEmpty)
        #expect(try await first.next()?.data == "a")
        #expect(try await second.next()?.data == "a")
        #expect(stub.requests.count == 2 && stub.openBodyCount == 2)
    }

    @Test func aFinalRefusalBecomesAnErrorOfTheApp() async throws {
        struct Problem: Error { let code: Int }
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.forbidden)))
        let client = APIClient(stub.server("https://a.example")) { Problem(code: $0.status.code) }
        let error = await #expect(throws: Problem.self) { try await all(events(client)) }
        #expect(error?.code == 403)
    }

    @Test func descriptionsShowOnlyThePolicy() {
        let (client, _) = client(gone)
        let stream = client.events("/prices?token=s3cret")
        #expect("\(stream)" == "EventStream(reconnects after 3 s plus 1 s to 30 s, silence 5 min)")
        #expect("\(client.events(chat, as: [Int].self))" == "\(stream) of [Int]")
        #expect("\(Mirror(reflecting: stream.makeAsyncIterator()).children.map(\.value))" == "[\"\(stream)\"]")
    }

    // MARK: - Payloads

    private struct Chunk: Decodable, Equatable { var text: String }

    @Test func payloadsAreDecodedUpToTheTerminator() async throws {
        let (client, stub) = client(
            stream(
                "data: {\"text\":\"Hel\"}\n\n", "data:\n\nevent: more\ndata: {\"text\":\ndata: \"lo\"}\n\n", "data: [DONE]\n\ndata: {}\n\n")
        )
        var chunks: [Chunk] = []
        for try await chunk in client.events(chat, as: Chunk.self, terminator: "[DONE]") { chunks.append(chunk) }
        #expect(chunks == [Chunk(text: "Hel"), Chunk(text: "lo")])
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
    }

    @Test func aStreamThatEndsBeforeItsTerminatorIsIncomplete() async throws {
        let (client, _) = client(stream("data: {\"text\":\"Hel\"}\n\n"), gone)
        var iterator = client.events(chat, as: Chunk.self, terminator: "[DONE]").makeAsyncIterator()
        #expect(try await iterator.next() == Chunk(text: "Hel"))
        let error = await #expect(throws: EventStreamError.self) { try await iterator.next() }
        #expect(error?.description == "POST https://a.example/chat: incomplete event stream: it ended before its terminator (status 200)")
        #expect(try await iterator.next() == nil)
        var ended = client.events(chat, as: Chunk.self, terminator: "[DONE]").makeAsyncIterator()
        #expect(try await ended.next() == nil, "204")
        let (open, _) = self.client(stream("data: {\"text\":\"Hel\"}\n\n"))
        var without = open.events(chat, as: Chunk.self).makeAsyncIterator()
        #expect(try await without.next() != nil)
        #expect(try await without.next() == nil)
    }

    @Test func aPayloadThatIsNotOfTheTypeNamesThePath() async throws {
        let (client, stub) = client(silentStream("data: {\"text\":7}\n\n", "data: nonsense\n\n"))
        var iterator = client.events(chat, as: Chunk.self).makeAsyncIterator()
        let error = await #expect(throws: ResponseDecodingError.self) { try await iterator.next() }
        let problem = "cannot decode Chunk at text: expected a String, found a number, in event 1"
        #expect(error?.description == "POST https://a.example/chat: \(problem) (status 200)")
        #expect(error?.bodyPrefix == Data(#"{"text":7}"#.utf8))
        #expect(try await iterator.next() == nil)
        #expect(stub.openBodyCount == 0)
    }

    @Test func anEventThatIsNotJSONIsNamedByItsNumber() async throws {
        func problem(_ payload: String) async -> String? {
            let (client, _) = client(silentStream(":\n\n", "data: {\"text\":\"a\"}\n\n", "data: \(payload)\n\n"))
            let error = await #expect(throws: ResponseDecodingError.self) {
                for try await _ in client.events(chat, as: Chunk.self, terminator: "[END]") {}
            }
            return error?.description
        }
        let start = "POST https://a.example/chat: cannot decode Chunk: event 2"
        #expect(await problem("nonsense") == "\(start) is not valid JSON: an invalid value at byte 0 (status 200)")
        #expect(
            await problem("[DONE]")
                == "\(start) (if the data of this event marks the end of the stream, pass that data as `terminator`) is not valid JSON: "
                + "an invalid value at byte 1 (status 200)")
    }

    /// A proxy that compresses holds events back.
    @Test func asksForNoCompressionAndRefusesAnEncodedStream() async throws {
        let (client, stub) = client(gone)
        for try await _ in events(client) {}
        for try await _ in events(client, .get("/prices", headers: [.acceptEncoding: "zstd"])) {}
        #expect(stub.requests.map { $0.headers[.acceptEncoding] } == ["identity", "zstd"])

        var encoded = fields
        encoded[.contentEncoding] = "gzip"
        let (other, encodedStub) = self.client(.stream([Data([0x1F, 0x8B])], headers: encoded))
        let error = await #expect(throws: EventStreamError.self) { for try await _ in events(other) {} }
        #expect(error?.description.contains("not an event stream: the body is encoded (Content-Encoding: gzip)") == true)
        #expect(encodedStub.openBodyCount == 0)
    }

    /// Browsers decode it, by the Fetch standard.
    @Test func anEncodedStreamIsDecodedByADecoderInTheStack() async throws {
        // gzip of `data: a` and an empty line, made by Python's zlib.
        let body = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tJLEm0Ukjk4gIAfuPEOAkAAAA="))
        var encoded = fields
        encoded[.contentEncoding] = "gzip"
        func read(_ headers: HTTPFields, wrap: @escaping (HTTPStack) -> HTTPStack) async throws -> ([String], [String?]) {
            let (client, stub) = client(.stream(body.map { Data([$0]) }, headers: encoded), gone, wrap: wrap)
            let data = try await all(events(client, .get("/prices", headers: headers))).map(\.data)
            return (data, stub.requests.map { $0.headers[.acceptEncoding] })
        }
        let (data, asked) = try await read([:]) { $0.decompress().redirect() }
        #expect(data == ["a"] && asked == ["identity", "identity"])
        // The app's own field is an order to leave the body alone.
        await #expect(throws: EventStreamError.self) { _ = try await read([.acceptEncoding: "gzip"]) { $0.decompress() } }
    }

    /// A terminator is compared by its octets, of which a hostile event may have many.
    /// No server takes a longer field. With such a field, the stream would never begin again.
    @Test(arguments: [(8192, true), (8193, false)]) func anEventIDOverTheLimitIsNotSent(count: Int, isSent: Bool) async throws {
        let id = String(repeating: "7", count: count)
        let (client, stub) = client(stream("id: \(id)\ndata: a\n\n"), gone)
        #expect(try await all(events(client)).map(\.lastEventID) == [id])
        #expect(lastEventIDs(stub) == [nil, isSent ? id : nil])
    }

    @Test func aHostileEventIsNotSlowToCompare() async throws {
        func read(_ count: Int) async -> Duration {
            let data = "[DONE]" + String(repeating: "\u{301}\u{316}", count: count)
            let (client, _) = client(stream("data: \(data)\n\n"))
            return await ContinuousClock().measure {
                await #expect(throws: TransportError.self) {
                    for try await _ in client.events("/chat", as: JSONValue.self, terminator: "[DONE]") {}
                }
            }
        }
        _ = await read(100)
        // Quadratic work takes half a minute.
        #expect(await read(100_000) < .seconds(15))
    }
}
