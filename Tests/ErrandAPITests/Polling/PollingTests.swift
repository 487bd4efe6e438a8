import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAPI

/// Calls that are made again until the work of the server is done.
@Suite(.timeLimit(.minutes(5))) struct PollingTests {
    struct Job: Codable, Sendable, Equatable {
        var state: String
    }

    private let job = Endpoint<Job>.get("/jobs/7", headers: [.acceptLanguage: "de"])
    private let simulation = Simulation()
    private var clock: ManualClock { simulation.clock }

    private func client(_ stub: StubTransport) -> APIClient { APIClient(stub.server("https://a.example/v1")) }

    /// Polls without jitter, and with a clock that advances when all tasks wait. Returns the state, and the seconds.
    private func poll(
        _ stub: StubTransport, _ endpoint: Endpoint<Job>? = nil, policy: PollingPolicy = PollingPolicy(jitter: .none, timeout: nil)
    ) async throws -> (state: String, seconds: Double) {
        let start = clock.now
        let response = try await simulation.complete {
            try await client(stub).poll(endpoint ?? job, policy: policy, until: { $0.value.state == "done" }, clock: clock)
        }
        return (response.value.state, start.duration(to: clock.now) / .seconds(1))
    }

    private func running(_ headers: HTTPFields = [:]) -> StubResponse { .json(Job(state: "running"), headers: headers) }
    private func done(_ headers: HTTPFields = [:]) -> StubResponse { .json(Job(state: "done"), headers: headers) }

    @Test func aCallIsRepeatedUntilItsConditionHolds() async throws {
        let stub = StubTransport(Stub().responds(running(), running(), running(), done()))
        let outcome = try await poll(stub)
        // 1 + 1.5 + 2.25.
        #expect(outcome == ("done", 4.75) && stub.requests.count == 4 && stub.openBodyCount == 0)
        #expect(stub.requests.allSatisfy { $0.request.url?.target == "/v1/jobs/7" && $0.headers[.acceptLanguage] == "de" })
        #expect(Set(stub.requests.map(\.request.id)).count == 4)
    }

    @Test func theServerSaysHowLongToWait() async throws {
        let stub = StubTransport(
            Stub().responds(
                running([.retryAfter: "7"]), .status(.tooManyRequests, headers: [.retryAfter: "3"]), running([.retryAfter: "9999"]), done())
        )
        #expect(try await poll(stub).seconds == 7 + 3 + 300)
    }

    @MainActor @Test func theConditionRunsOnTheCallersActor() async throws {
        let stub = StubTransport(Stub().responds(running(), done()))
        var states: [String] = []
        let client = client(stub)
        _ = try await client.poll(job, policy: PollingPolicy(backoff: .immediate, jitter: .none)) { response in
            MainActor.assertIsolated()
            states.append(response.value.state)
            return response.value.state == "done"
        }
        #expect(states == ["running", "done"])
    }

    /// If a server asks for no wait, there is still a pause before the next request.
    @Test func aServerWithoutAWaitGetsTheBackoff() async throws {
        let stub = StubTransport(
            Stub().responds(
                running([.retryAfter: "0"]), running([.retryAfter: "Thu, 01 Jan 1970 00:00:00 GMT"]), running([.retryAfter: "0"]), done()))
        #expect(try await poll(stub).seconds == 4.75)
    }

    // MARK: Work that is accepted

    @Test func acceptedWorkIsSeenAtItsLocation() async throws {
        let stub = StubTransport(
            Stub(.post, "/v1/reports").responds(.status(.accepted, headers: [.location: "jobs/1", .retryAfter: "2"], text: "no job")),
            Stub(.get, "/v1/jobs/1").responds(.status(.accepted), .status(.accepted, headers: [.location: "/v2/jobs/1"])),
            Stub(.get, "/v2/jobs/1").responds(done()))
        let begin = Endpoint<Job>.post("/reports", headers: [.ifMatch: "*"], body: .json(Job(state: "new")))
        #expect(try await poll(stub, begin).state == "done")
        #expect(stub.requests.map(\.request.method) == [.post, .get, .get, .get])
        #expect(stub.requests.dropFirst().allSatisfy { $0.body.isEmpty && $0.headers[.contentType] == nil && $0.headers[.ifMatch] == nil })
        #expect(stub.requests.dropFirst().allSatisfy { $0.request.options.urlTemplate == nil })
        #expect(stub.openBodyCount == 0)
    }

    /// The head of a 202 has the URL of the work, even if the body of the 202 fails.
    @Test(arguments: [true, false]) func theBodyOfAcceptedWorkDoesNotMatter(isSilent: Bool) async throws {
        let bodies = Mutex<[ScriptedBodySource]>([])
        let accepted = StubResponse.streaming { _, _ in
            let body = ScriptedBodySource(steps: [
                { () async throws -> Data in
                    if isSilent { try await untilCancelled() }
                    throw TransportError(.connectionLost, phase: .body, request: nil, delivery: .sent)
                }
            ])
            bodies.withLock { $0.append(body) }
            return (HTTPResponse(status: .accepted, headerFields: [.location: "/v1/jobs/1"]), body)
        }
        let stub = StubTransport(Stub(.post, "/v1/reports").responds(accepted), Stub().responds(done()))
        let outcome = try await poll(stub, Endpoint<Job>.post("/reports"))
        #expect(outcome.state == "done" && outcome.seconds <= 2.5 && stub.requests.count == 2)
        #expect(bodies.withLock { $0.map(\.abandonments.value) } == [1])
    }

    @Test func credentialsStayAtTheirOrigin() async throws {
        let stub = StubTransport(
            Stub(.post, "/v1/reports").responds(.status(.accepted, headers: [.location: "https://b.example/jobs/1"])),
            Stub(.get, "/jobs/1").responds(.status(.accepted), done()))
        let begin = Endpoint<Job>.post("/reports", headers: [.authorization: "Bearer s3cret", .acceptLanguage: "de"])
        let policy = PollingPolicy(jitter: .none, timeout: nil, allowedOrigins: ["https://b.example"])
        #expect(try await poll(stub, begin, policy: policy).state == "done")
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer s3cret", nil, nil])
        #expect(stub.requests.allSatisfy { $0.headers[.acceptLanguage] == "de" })
    }

    /// The timeout of the whole call also limits a request that never ends.
    @Test(arguments: [HTTPRequest.Method.get, .post]) func theTimeoutLimitsEachRequest(_ method: HTTPRequest.Method) async throws {
        let stub = StubTransport(Stub().responds(.never))
        let start = clock.now
        let policy = PollingPolicy(timeout: .seconds(60), maxFailures: 0)
        let error = await #expect(throws: PollingError.self) {
            try await poll(stub, Endpoint(method, "/jobs/7", decoding: .json), policy: policy)
        }
        #expect(error?.code == .timedOut && error?.isTimeout == true && error?.delivery != .sent && stub.requests.count == 1)
        #expect(error?.description.hasPrefix("\(method.rawValue) https://") == true, "the request has its server")
        #expect(start.duration(to: clock.now) == .seconds(60))
    }

    /// A progress in a 202 is not shown, even if the body of the 202 could be decoded. `response(_:)` decodes this body.
    @Test func theConditionIsNotCalledForAcceptedWork() async throws {
        let stub = StubTransport(Stub().responds(.json(Job(state: "queued"), status: .accepted), running(), done()))
        var states: [String] = []
        let client = client(stub)
        _ = try await client.poll(job, policy: PollingPolicy(backoff: .immediate, jitter: .none)) { response in
            states.append(response.value.state)
            return response.value.state == "done"
        }
        #expect(states == ["running", "done"] && stub.requests.count == 3)
        let accepted = StubTransport(Stub().responds(.json(Job(state: "queued"), status: .accepted)))
        let response = try await self.client(accepted).response(job)
        #expect(response.value.state == "queued" && response.status == .accepted)
    }

    /// Without a condition, the first response with a status other than 202 ends the polling.
    @Test func acceptedWorkEndsWithItsResult() async throws {
        let stub = StubTransport(Stub().responds(.status(.accepted), .status(.accepted), running()))
        let response = try await simulation.complete {
            try await client(stub).poll(job, policy: PollingPolicy(timeout: nil), clock: clock, random: { 0.5 })
        }
        #expect(response.value.state == "running" && stub.requests.count == 3)
    }

    @Test func aPlaceThatCannotBePolledIsAnError() async throws {
        let begin = Endpoint<Job>.post("/reports")
        for (location, code) in [
            (nil, PollingError.Code.noLocation), ("https://b.example/jobs", .foreignOrigin), ("http://a.example/", .foreignOrigin),
            ("ftp://a.example/", .invalidLocation), ("http://[/", .invalidLocation),
        ] as [(String?, PollingError.Code)] {
            let headers: HTTPFields = location.map { [.location: $0] } ?? [:]
            let stub = StubTransport(Stub().responds(.status(.accepted, headers: headers)))
            let error = await #expect(throws: PollingError.self) { try await poll(stub, begin) }
            #expect(error?.code == code && stub.requests.count == 1, "\(String(describing: location))")
        }
        let stub = StubTransport(
            Stub(.post, "/v1/reports").responds(.status(.accepted, headers: [.location: "https://b.example/jobs"])), Stub().responds(done())
        )
        #expect(try await poll(stub, begin, policy: PollingPolicy(timeout: nil, allowedOrigins: ["https://b.example"])).state == "done")
        #expect(stub.requests.last?.request.url?.description == "https://b.example/jobs")
    }

    /// The app can't correct a URL in a response.
    @Test func aPlaceIsReadAsBrowsersDo() async throws {
        let begin = Endpoint<Job>.post("/reports")
        var twice = HTTPFields()
        for _ in 0..<2 { twice.append(HTTPField(name: .location, value: "/v1/jobs/ä b?x[]=1")) }
        for headers in [[.location: "/v1/jobs/ä b?x[]=1"], twice] as [HTTPFields] {
            let stub = StubTransport(Stub(.post, "/v1/reports").responds(.status(.accepted, headers: headers)), Stub().responds(done()))
            #expect(try await poll(stub, begin).state == "done")
            #expect(stub.requests.last?.request.url?.target == "/v1/jobs/%C3%A4%20b?x%5B%5D=1")
        }
        twice.append(HTTPField(name: .location, value: "/v1/jobs/8"))
        let stub = StubTransport(Stub().responds(.status(.accepted, headers: twice)))
        let error = await #expect(throws: PollingError.self) { try await poll(stub, begin) }
        #expect(error?.code == .invalidLocation && error?.message == "the response has several fields Location with different values")
    }

    struct Wrapper: ResponseEnvelope {
        var code: Int
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: "refused") }
    }

    /// If the body of a response has the result of a call, the status 202 does not hide the result.
    @Test func anErrorInTheEnvelopeOfAnAcceptedCallEndsThePolling() async throws {
        let data: JSONValue = ["code": 0, "data": ["state": "done"]]
        func poll(_ first: StubResponse) async throws -> (String, Int) {
            let stub = StubTransport(Stub().responds(first, .json(data)))
            let client = APIClient(stub.server("https://a.example"), envelope: Wrapper.self)
            let response = try await simulation.complete {
                try await client.poll(job, policy: PollingPolicy(timeout: nil), clock: clock, random: { 0.5 })
            }
            #expect(stub.openBodyCount == 0)
            return (response.value.state, stub.requests.count)
        }
        let error = await #expect(throws: ServiceError.self) { try await poll(.json(["code": 7] as JSONValue, status: .accepted)) }
        #expect(error?.code.number == 7 && error?.status == .accepted && error?.request != nil)
        #expect(try await poll(.json(["code": 0] as JSONValue, status: .accepted)) == ("done", 2))
        #expect(try await poll(.json(["state": "queued"] as JSONValue, status: .accepted)) == ("done", 2))
        #expect(try await poll(.status(.accepted, text: "{\"code\":7}")) == ("done", 2), "what is not JSON is no envelope")
    }

    // MARK: Conditions

    @Test func anUnchangedJobIsRequestedWithItsTag() async throws {
        let stub = StubTransport(
            Stub().header(.ifNoneMatch, #""2""#).responds(done()),
            Stub().header(.ifNoneMatch, #""1""#).responds(.status(.notModified), .status(.notModified), running([.eTag: #""2""#])),
            Stub().responds(running([.eTag: #""1""#])))
        #expect(try await poll(stub).state == "done")
        #expect(stub.requests.map { $0.headers[.ifNoneMatch] } == [nil, #""1""#, #""1""#, #""1""#, #""2""#])
        // One of the app's own that is sent after a response with a tag is the app's, too.
        let later = StubTransport(Stub().responds(running([.eTag: #""1""#]), .status(.notModified)))
        await #expect(throws: StatusError.self) { try await poll(later, Endpoint<Job>.get("/jobs/7", headers: [.ifNoneMatch: #""x""#])) }
        // One of the app's own is not replaced, and its 304 is the app's.
        let own = StubTransport(Stub().responds(.status(.notModified)))
        await #expect(throws: StatusError.self) { try await poll(own, Endpoint<Job>.get("/jobs/7", headers: [.ifNoneMatch: #""x""#])) }
    }

    // MARK: Failures

    @Test func transientFailuresDoNotEndThePolling() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stub = StubTransport(
            Stub().responds(.failure(lost), .status(.serviceUnavailable), running(), .failure(lost), .status(.requestTimeout), done()))
        #expect(try await poll(stub).state == "done")
        #expect(stub.requests.count == 6)
        let broken = StubTransport(Stub().responds(.failure(lost)))
        let error = await #expect(throws: TransportError.self) {
            try await poll(broken, policy: PollingPolicy(timeout: nil, maxFailures: 2))
        }
        #expect(error?.code == .connectionLost && broken.requests.count == 3)
    }

    /// A request that may have begun the work is not made again.
    @Test func aFirstRequestThatIsNotIdempotentIsMadeOnce() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stub = StubTransport(Stub().responds(.failure(lost)))
        await #expect(throws: TransportError.self) { try await poll(stub, Endpoint<Job>.post("/reports")) }
        #expect(stub.requests.count == 1)
    }

    @Test func otherFailuresEndThePolling() async throws {
        let stub = StubTransport(Stub().responds(running(), .status(.notFound)))
        let client = APIClient(stub.server("https://a.example")) { _ in TestError("problem") }
        await #expect(throws: TestError("problem")) {
            try await simulation.complete {
                try await client.poll(job, policy: PollingPolicy(timeout: nil), until: { _ in false }, clock: clock)
            }
        }
        let other = StubTransport(Stub().responds(running()))
        await #expect(throws: TestError("odd")) {
            try await self.client(other).poll(job, until: { _ in throw TestError("odd") }, clock: clock)
        }
        // Also one that a request might have had.
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        await #expect(throws: TransportError.self) { try await self.client(other).poll(job, until: { _ in throw lost }, clock: clock) }
        #expect(other.requests.count == 2)
        let text = StubTransport(Stub().responds(.status(.ok, text: "no JSON")))
        await #expect(throws: ResponseDecodingError.self) { try await self.client(text).poll(job, clock: clock) }
    }

    /// A layer of the client refuses a request for some time. Polling continues when the layer accepts requests again.
    @Test func aRefusalByALayerIsTolerated() async throws {
        let stub = StubTransport(Stub().responds(running(), done()), Stub(.post, "/v1/reports").responds(done()))
        let stack = stub.rateLimit(RateLimit(1, per: .seconds(100)), maxWait: .zero, clock: clock).server("https://a.example/v1")
        let policy = PollingPolicy(jitter: .none, timeout: nil)
        let start = clock.now
        _ = try await simulation.complete { [job, clock] in
            try await APIClient(stack).poll(job, policy: policy, until: { $0.value.state == "done" }, clock: clock)
        }
        #expect(stub.requests.count == 2 && start.duration(to: clock.now) == .seconds(100))
        // The refused POST was not sent. Therefore, polling sends the POST.
        let report = Endpoint<Job>.post("/reports", body: .none)
        _ = try await simulation.complete { [clock] in try await APIClient(stack).poll(report, policy: policy, clock: clock) }
        #expect(stub.requests.count == 3 && start.duration(to: clock.now) == .seconds(200))
        let impatient = PollingPolicy(jitter: .none, timeout: nil, maxFailures: 0)
        await #expect(throws: RateLimitError.self) { try await APIClient(stack).poll(report, policy: impatient, clock: clock) }
    }

    /// A wait that no clock can count does not end the polling.
    @Test(arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max), .zero - .seconds(Int64.max)])
    func longWaitsAreBounded(wait: Duration) {
        for jitter in [Backoff.Jitter.none, .full] {
            var policy = PollingPolicy(backoff: .constant(max(.zero, wait)), jitter: jitter, timeout: nil)
            policy.maxRetryAfter = wait
            for retryAfter in [nil, wait, .seconds(5)] as [Duration?] {
                let wait = policy.delay(afterAttempt: 1, retryAfter: retryAfter, random: 0.5)
                #expect(wait >= .zero && wait <= .seconds(Int64(100 * 366 * 86_400)))
            }
        }
    }

    /// If `maxRetryAfter` is zero or negative, `Retry-After` is ignored, and the backoff decides the wait.
    @Test(arguments: [Duration.zero, .seconds(-1)]) func aMaxRetryAfterOfZeroLeavesTheBackoff(wait: Duration) async throws {
        var policy = PollingPolicy(jitter: .none, timeout: nil)
        policy.maxRetryAfter = wait
        let stub = StubTransport(Stub().responds(running([.retryAfter: "5"]), running([.retryAfter: "5"]), done()))
        #expect(try await poll(stub, policy: policy).seconds == 2.5)
    }

    @Test func pollingEndsWithItsTimeout() async throws {
        let stub = StubTransport(Stub().responds(running()))
        let policy = PollingPolicy(backoff: .constant(.seconds(10)), jitter: .none, timeout: .seconds(60))
        let error = await #expect(throws: PollingError.self) { try await poll(stub, policy: policy) }
        #expect(error?.code == .timedOut && stub.requests.count == 6 && error?.response?.status == .ok)
        #expect(
            "\(error!)"
                == "GET https://a.example/v1/jobs/7: polling timed out: not done after 50 s and 6 requests, and the timeout of 1 min would pass before the next request"
        )
        #expect(error?.localizedDescription == "The server takes too long.")
    }

    @Test func cancellationEndsTheWait() async throws {
        let stub = StubTransport(Stub().responds(running()))
        let client = client(stub)
        let task = Task { try await client.poll(job, until: { _ in false }, clock: clock) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0 && stub.openBodyCount == 0)
    }
}
