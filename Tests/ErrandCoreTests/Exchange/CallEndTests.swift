import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct CallEndTests {
    private let exchange = ExchangeLifetime()
    private let clock = ManualClock()
    /// Each report: what it says, and when, in seconds.
    private let reports = RecordingList<String>()

    private func observed(isTyped: Bool, by observers: Int = 1, after end: CallEnd? = nil) async throws -> Response {
        var request = Request.sample()
        request.options.call.awaitsDecoding = isTyped
        let (clock, start, reports) = (clock, clock.now, reports)
        let observer = RecordingObserver(marking: { start.duration(to: clock.now) }) { outcome, mark in
            let failure = outcome.failure.map { " \(type(of: $0))" } ?? ""
            reports.record("\(outcome.exchange.map { "\($0)" } ?? "no exchange")\(failure) at \(mark / .seconds(1))")
        }
        // The test ends the exchange.
        var sender = StubSender { [exchange] request in
            var response = Response(head: HTTPResponse(status: .ok), body: ResponseBody(), request: request, exchange: exchange)
            response.metadata.callEnd = end
            return response
        }
        for _ in 1..<observers { sender = StubSender { [sender] in try await sender.send($0, observedBy: observer) } }
        return try await sender.send(request, observedBy: observer)
    }

    @Test func anObserverAfterTheEndGetsADiscardedResponse() async throws {
        let end = CallEnd()
        end.end(.decoded)
        let response = try await observed(isTyped: true, after: end)
        clock.advance(by: .seconds(1))
        exchange.end(.complete)
        clock.advance(by: .seconds(1))
        #expect(reports.all == ["complete at 1.0"])
        withExtendedLifetime(response) {}
    }

    @Test func aRawResponseEndsWithItsExchange() async throws {
        let response = try await observed(isTyped: false)
        #expect(response.metadata.callEnd == nil && reports.all.isEmpty)
        clock.advance(by: .seconds(1))
        exchange.end(.complete)
        #expect(reports.all == ["complete at 1.0"])
    }

    @Test(arguments: [false, true]) func aTypedCallEndsWhenItsValueIsDecoded(isReceivedFirst: Bool) async throws {
        let response = try await observed(isTyped: true, by: 2)
        if isReceivedFirst { exchange.end(.complete) }
        #expect(reports.all.isEmpty)
        clock.advance(by: .seconds(2))
        response.metadata.callEnd?.end(.decoded)
        #expect(reports.all.count == (isReceivedFirst ? 2 : 0), "what is left of a body may still be on its way")
        exchange.end(.complete)
        response.metadata.callEnd?.end(.failed(TestError()))
        #expect(reports.all == ["complete at 2.0", "complete at 2.0"], "once for each observer")
    }

    @Test func aDecodingFailureIsReportedOnce() async throws {
        let response = try await observed(isTyped: true)
        exchange.end(.complete)
        clock.advance(by: .seconds(2))
        response.metadata.callEnd?.end(.failed(TestError()))
        response.metadata.callEnd?.end(.decoded)
        #expect(reports.all == ["complete TestError at 2.0"])
    }

    @Test func anExchangeThatFailsIsTheEnd() async throws {
        let response = try await observed(isTyped: true)
        exchange.end(.failed(TestError()))
        #expect(reports.all.count == 1 && reports.all[0].hasSuffix("TestError at 0.0"))
        response.metadata.callEnd?.end(.failed(TestError()))
        #expect(reports.all.count == 1)
    }

    @Test func aResponseDiscardedAfterItsExchangeEndedWithTheExchange() async throws {
        let response = try await observed(isTyped: true)
        clock.advance(by: .seconds(1))
        exchange.end(.complete)
        clock.advance(by: .seconds(1))
        response.discard()
        #expect(reports.all == ["complete at 1.0"])
    }

    @Test func aResponseDiscardedBeforeItsExchangeEndsWithTheExchange() async throws {
        let response = try await observed(isTyped: true)
        response.discard()
        #expect(reports.all.isEmpty)
        clock.advance(by: .seconds(1))
        exchange.end(.abandoned)
        #expect(reports.all == ["abandoned at 1.0"])
    }

    @Test func anUndecodedResponseEndsWithItsLastCopy() async throws {
        var response: Response? = try await observed(isTyped: true)
        exchange.end(.complete)
        #expect(response != nil && reports.all.isEmpty)
        response = nil
        #expect(reports.all == ["complete at 0.0"])
    }

    // MARK: The request's own rule

    @Test(
        arguments: [
            (.inherited, nil, 404, nil), (.inherited, .successful, 404, false), (.inherited, .successful, 204, true),
            (.use(.statuses([404])), .successful, 404, true), (.use(.statuses([404])), nil, 200, false), (.off, .successful, 404, nil),
        ] as [(OptionOverride<StatusRule>, StatusRule?, Int, Bool?)])
    private func aStatusIsJudgedByTheRequestsOwnRule(
        _ own: OptionOverride<StatusRule>, _ passed: StatusRule?, _ code: Int, _ expected: Bool?
    ) {
        var request = Request.sample()
        request.options.validateStatus = own
        request.options.call.passedStatusRule = passed
        var response = Response(head: HTTPResponse(status: .init(code: code)), request: request)
        #expect(request.accepts(response) == expected)
        response.metadata.isStatusAccepted = true
        #expect(request.accepts(response) == (expected ?? true), "unless the request has a rule, one that has let it pass counts")
    }

    @Test func aRedirectThatMayBeFollowedIsNotJudged() {
        var request = Request.sample()
        request.options.call.passedStatusRule = .successful
        let response = Response(head: HTTPResponse(status: .found), request: request)
        #expect(request.accepts(response) == false)
        request.options.call.redirectsAreFollowed = true
        #expect(request.accepts(response) == true)
    }
}
