internal import ErrandCore
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The delegate alone: the tests make the callbacks of a session whose tasks never start.
@Suite struct SessionDelegateTests {
    private struct Subject {
        let exchanges = ExchangeTable()
        let delegate: SessionDelegate
        let session: URLSession
        let task: URLSessionDataTask
        let exchange: SessionExchange
        let driver = ScriptedDriver()
        let recorder = RecordingEventSink()
        let url: URL

        init(body: RequestBody = .empty, isKnown: Bool = true) throws {
            url = try #require(URL(string: "http://a.example/"))
            delegate = SessionDelegate(exchanges: exchanges)
            session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: nil)
            task = session.dataTask(with: url)
            var request = try Request(.post, url: "http://a.example/", body: body)
            request.options.eventSink = recorder
            let upload = body.isEmpty ? nil : SessionUpload(body)
            exchange = SessionExchange(request, rules: SessionExchange.Machine.Rules(for: request), upload: upload)
            if isKnown { #expect(delegate.add(exchange, for: task.taskIdentifier)) }
        }

        func response(_ status: Int = 200, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
            try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
        }

        func end() {
            exchange.abandon()
            session.invalidateAndCancel()
        }
    }

    /// Sends the request of a subject, makes callbacks, and returns the response and its body.
    private func call(_ subject: Subject, _ callbacks: () throws -> Void) async throws -> (Response, Data) {
        async let response = subject.exchange.run(on: subject.driver)
        try await subject.driver.start()
        try callbacks()
        let received = try await response
        return (received, try await received.body.collect())
    }

    @Test func theCallbacksOfATaskReachItsExchange() async throws {
        let subject = try Subject(body: .stream(length: 4) { _ in ClosureBodySource { nil } })
        defer { subject.end() }
        let disposition = Mutex<URLSession.ResponseDisposition?>(nil)
        let (response, body) = try await call(subject) {
            let (delegate, session, task) = (subject.delegate, subject.session, subject.task)
            delegate.urlSession(session, task: task, didSendBodyData: 1, totalBytesSent: 4, totalBytesExpectedToSend: 9)
            delegate.urlSession(session, dataTask: task, didReceive: try subject.response(201, ["X-A": "1"])) { value in
                disposition.withLock { $0 = value }
            }
            delegate.urlSession(session, dataTask: task, didReceive: Data("abc".utf8))
            delegate.urlSession(session, task: task, didCompleteWithError: nil)
        }
        #expect(response.status == .created && body == Data("abc".utf8) && disposition.withLock(\.self) == .allow)
        #expect(subject.recorder.events.contains { $0.kind == .requestBytesSent && $0.bytes == 4 })
        #expect(subject.exchanges.count == 0)
    }

    @Test func aRedirectIsRefusedAndReturned() async throws {
        let subject = try Subject()
        defer { subject.end() }
        let followed = Mutex<URLRequest?>(URLRequest(url: subject.url))
        let (response, _) = try await call(subject) {
            subject.delegate.urlSession(
                subject.session, task: subject.task, willPerformHTTPRedirection: try subject.response(302, ["Location": "/b"]),
                newRequest: URLRequest(url: subject.url)
            ) { request in followed.withLock { $0 = request } }
            subject.delegate.urlSession(subject.session, task: subject.task, didCompleteWithError: nil)
        }
        #expect(followed.withLock(\.self) == nil && response.status == .found && response.headers[.location] == "/b")
    }

    @Test func anErrorOfTheSessionFailsTheCall() async throws {
        let subject = try Subject()
        defer { subject.end() }
        let failure = await #expect(throws: TransportError.self) {
            _ = try await call(subject) {
                subject.delegate.urlSession(subject.session, task: subject.task, didCompleteWithError: URLError(.cannotFindHost))
            }
        }
        #expect(failure?.code == .cannotFindHost && failure?.delivery == .notSent)
    }

    #if canImport(FoundationNetworking)
    @Test func aBodyIsOpenedAgain() async throws {
        let subject = try Subject(body: .stream(length: 0 + 4) { _ in ClosureBodySource { nil } })
        defer { subject.end() }
        async let response = subject.exchange.run(on: subject.driver)
        try await subject.driver.start()
        let count = Counter()
        subject.delegate.urlSession(subject.session, task: subject.task) { stream in if stream != nil { count.add() } }
        #expect(count.value == 1)
        // After the first sent byte of a POST, the body is refused.
        subject.exchange.recordSentBytes(1)
        subject.delegate.urlSession(subject.session, task: subject.task) { stream in if stream != nil { count.add() } }
        #expect(count.value == 1)
        subject.exchange.shutDown()
        _ = try? await response
    }

    @Test(arguments: [true, false]) func aChallengeIsLeftToTheSessionOrCancelled(isKnown: Bool) throws {
        let subject = try Subject(isKnown: isKnown)
        defer { subject.end() }
        let space = URLProtectionSpace(host: "a.example", port: 80, protocol: "http", realm: "r", authenticationMethod: "Basic")
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: IdleChallengeSender())
        let replies = Mutex<[URLSession.AuthChallengeDisposition]>([])
        subject.delegate.urlSession(subject.session, task: subject.task, didReceive: challenge) { reply, credential in
            #expect(credential == nil)
            replies.withLock { $0.append(reply) }
        }
        #expect(replies.withLock(\.self) == [isKnown ? .performDefaultHandling : .cancelAuthenticationChallenge])
    }
    #endif

    @Test func theCallbacksOfAnUnknownTaskAreRefused() throws {
        let subject = try Subject(body: .stream(length: 4) { _ in ClosureBodySource { nil } }, isKnown: false)
        defer { subject.end() }
        let (delegate, session, task) = (subject.delegate, subject.session, subject.task)
        let count = Counter()
        delegate.urlSession(session, dataTask: task, didReceive: try subject.response()) { if $0 == .cancel { count.add() } }
        delegate.urlSession(session, task: task) { stream in if stream == nil { count.add() } }
        delegate.urlSession(
            session, task: task, willPerformHTTPRedirection: try subject.response(302), newRequest: URLRequest(url: subject.url)
        ) { if $0 == nil { count.add() } }
        delegate.urlSession(session, dataTask: task, didReceive: Data("abc".utf8))
        delegate.urlSession(session, task: task, didSendBodyData: 1, totalBytesSent: 1, totalBytesExpectedToSend: 1)
        delegate.urlSession(session, task: task, didCompleteWithError: nil)
        #expect(count.value == 3 && subject.recorder.events.isEmpty)
    }

    @Test func anEndedTaskIsForgotten() throws {
        let subject = try Subject()
        defer { subject.end() }
        #expect(subject.exchanges.count == 1)
        subject.delegate.urlSession(subject.session, task: subject.task, didCompleteWithError: nil)
        #expect(subject.exchanges.count == 0)
    }

    /// Each session numbers its tasks from one.
    @Test func equalTaskNumbersOfTwoSessionsAreDifferent() throws {
        let subject = try Subject()
        defer { subject.end() }
        let other = SessionDelegate(exchanges: subject.exchanges)
        other.remove(subject.task.taskIdentifier)
        #expect(subject.exchanges.count == 1)
    }

    @Test func aClosedTableTakesNoExchange() throws {
        let subject = try Subject()
        defer { subject.end() }
        #expect(subject.exchanges.close().first === subject.exchange && subject.exchanges.count == 1)
        #expect(!subject.delegate.add(subject.exchange, for: 99) && subject.exchanges.count == 1)
    }

    // MARK: Timings

    private func dates(_ seconds: [Double?]) -> StepDates {
        func date(_ index: Int) -> Date? { seconds[index].map { Date(timeIntervalSinceReferenceDate: $0) } }
        return StepDates(
            dnsStart: date(0), dnsEnd: date(1), connectStart: date(2), connectEnd: date(3), tlsStart: date(4), tlsEnd: date(5),
            requestStart: date(6), requestEnd: date(7), responseStart: date(8))
    }

    @Test func datesBecomeInstants() {
        let now = ContinuousClock.now
        let timings = ExchangeEvent.Timings(
            dates([1, 2, 2, 5, 3, 5, 6, 7, 8]), now: Date(timeIntervalSinceReferenceDate: 10), now)
        #expect(timings.dnsStart == now - .seconds(9) && timings.dnsEnd == now - .seconds(8) && timings.connectStart == now - .seconds(8))
        #expect(timings.connectEnd == now - .seconds(7), "the connection is open before TLS")
        #expect(timings.tlsStart == now - .seconds(7) && timings.tlsEnd == now - .seconds(5) && timings.connected == now - .seconds(5))
        #expect(timings.requestHeadSent == now - .seconds(4) && timings.requestSent == now - .seconds(3))
        #expect(timings.responseHead == now - .seconds(2))
    }

    @Test func aConnectionWithoutTLSHasNoStepsOfTLS() {
        let now = ContinuousClock.now
        let timings = ExchangeEvent.Timings(dates([nil, nil, 2, 5, nil, nil, 6, 7, 8]), now: Date(timeIntervalSinceReferenceDate: 10), now)
        #expect(timings.dnsStart == nil && timings.tlsStart == nil && timings.connectEnd == now - .seconds(5))
        #expect(timings.connected == now - .seconds(5))
    }

    @Test func aReusedConnectionHasNoStepsOfConnecting() {
        var dates = dates([1, 2, 2, 5, 3, 5, 6, 7, 8])
        dates.connectionIsReused = true
        let timings = ExchangeEvent.Timings(dates, now: Date(), .now)
        #expect(timings.dnsStart == nil && timings.connectStart == nil && timings.tlsEnd == nil && timings.requestHeadSent != nil)
    }
}
