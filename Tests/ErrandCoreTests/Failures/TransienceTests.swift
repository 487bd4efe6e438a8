import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandAPI
@testable import ErrandMiddleware

/// Each error beside each question that a layer asks before it sends a request again.
@Suite(.timeLimit(.minutes(5))) struct TransienceTests {
    struct Questions: OptionSet, Sendable, CustomStringConvertible {
        let rawValue: Int
        static let connectivity = Questions(rawValue: 1)
        static let timeout = Questions(rawValue: 2)
        static let transient = Questions(rawValue: 4)
        static let processed = Questions(rawValue: 8)
        static let unprocessed = Questions(rawValue: 16)
        static let afterSuccess = Questions(rawValue: 32)
        static let evidence = Questions(rawValue: 64)
        static let saysNot = Questions(rawValue: 128)
        static let refusal = Questions(rawValue: 256)

        static let names: [(Questions, String)] = [
            (.connectivity, "isConnectivityError"), (.timeout, "isTimeout"), (.transient, "isTransient"),
            (.processed, "mayHaveBeenProcessed"),
            (.unprocessed, "wasLeftUnprocessed"), (.afterSuccess, "isTransientAfterSuccess"), (.evidence, "isEvidenceAgainstServer"),
            (.saysNot, "saysNotProcessed"), (.refusal, "TemporaryRefusal"),
        ]
        var description: String { Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }

        init(rawValue: Int) { self.rawValue = rawValue }

        /// The properties that are true for `error`.
        init(yesFor error: any Error) {
            self = []
            if error.isConnectivityError { insert(.connectivity) }
            if error.isTimeout { insert(.timeout) }
            if error.isTransient { insert(.transient) }
            if error.mayHaveBeenProcessed { insert(.processed) }
            if error is any TemporaryRefusal { insert(.refusal) }
            if let error = error as? TransportError {
                if error.wasLeftUnprocessed { insert(.unprocessed) }
                if error.isTransientAfterSuccess { insert(.afterSuccess) }
                if error.isEvidenceAgainstServer { insert(.evidence) }
            }
            if (error as? StatusError)?.saysNotProcessed == true { insert(.saysNot) }
        }
    }

    /// The code, the true properties if nothing was sent, and the true properties if the request may have been processed. The phase is
    /// `response` in both cases.
    static let codes: [(TransportError.Code, Questions, Questions)] = [
        (
            .cannotFindHost, [.connectivity, .transient, .afterSuccess, .evidence],
            [.connectivity, .transient, .processed, .afterSuccess, .evidence]
        ),
        (
            .cannotConnect, [.connectivity, .transient, .afterSuccess, .evidence],
            [.connectivity, .transient, .processed, .afterSuccess, .evidence]
        ),
        (
            .connectionLost, [.connectivity, .transient, .unprocessed, .afterSuccess, .evidence],
            [.connectivity, .transient, .processed, .afterSuccess, .evidence]
        ),
        // A device without a network says nothing about the server.
        (.notConnected, [.connectivity, .transient, .afterSuccess], [.connectivity, .transient, .processed, .afterSuccess]),
        (.blockedByPolicy, [], [.processed]),
        (.timedOut, [.timeout, .transient, .afterSuccess, .evidence], [.timeout, .transient, .processed, .afterSuccess, .evidence]),
        (.tls, [.afterSuccess, .evidence], [.processed, .evidence]),
        (.invalidResponse, [.evidence], [.processed, .evidence]),
        (.proxy, [.afterSuccess], [.processed]),
        (.bodyTooLarge, [], [.processed]),
        (.requestBody, [], [.processed]),
        (.invalidRequest, [], [.processed]),
        (.unsupported, [], [.processed]),
        (.shutDown, [], [.processed]),
        (TransportError.Code("my own"), [], [.processed]),
    ]

    @Test(arguments: codes) func eachCodeHasItsProperties(_ code: TransportError.Code, _ notSent: Questions, _ sent: Questions) {
        for (delivery, expected) in [(Delivery.notSent, notSent), (.unknown, sent), (.sent, sent)] {
            let error = TransportError(code, phase: .response, request: .sample(), delivery: delivery)
            #expect(Questions(yesFor: error) == expected, "\(code), \(delivery)")
        }
    }

    @Test func aTimeoutWhileConnectingIsAConnectivityErrorToo() {
        let error = TransportError(.timedOut, phase: .connect, request: .sample(), delivery: .notSent)
        #expect(Questions(yesFor: error) == [.connectivity, .timeout, .transient, .afterSuccess, .evidence])
    }

    @Test func aTimeoutInAQueueIsNoEvidenceAgainstTheServer() {
        let error = TransportError(.timedOut, phase: .queue, request: .sample(), delivery: .notSent)
        #expect(Questions(yesFor: error) == [.timeout, .transient, .afterSuccess])
    }

    @Test(arguments: 100...599) func eachStatusHasItsProperties(_ code: Int) async throws {
        var expected: Questions = [.processed]
        if [408, 425, 429, 500, 502, 503, 504].contains(code) { expected.insert(.transient) }
        var waiting = expected
        if code == 429 { expected.insert(.saysNot) }
        if [429, 503].contains(code) { waiting.insert(.saysNot) }
        let status = HTTPResponse.Status(code: code)
        #expect(status.isTransient == expected.contains(.transient))
        #expect(StatusRule.evidenceAgainstServer.contains(status) == [429, 500, 502, 503, 504].contains(code))
        for (fields, expected) in [(HTTPFields(), expected), ([.retryAfter: "7"] as HTTPFields, waiting)] {
            let head = HTTPResponse(status: .init(code: code), headerFields: fields)
            #expect(Questions(yesFor: try await StatusError(reading: Response(head: head, request: .sample()))) == expected)
        }
    }

    private static let lost = TransportError(.connectionLost, phase: .send, request: .sample(), delivery: .unknown)

    static let others: [(any Error, Questions)] = [
        (CancellationError(), [.processed]), (TestError(), [.processed]),
        (InvalidURLError("", .empty), []),
        (ServiceError(7, equivalentStatus: .serviceUnavailable), [.processed]),
        (CircuitBreakerError(request: .sample(), retryAfter: .seconds(1)), [.refusal]),
        (RateLimitError(request: .sample(), retryAfter: nil, cause: .limit), [.refusal]),
        (PollingError(.timedOut, "not done", request: .sample(), nil), [.timeout, .transient, .processed]),
        (PollingError(.timedOut, "not done", request: .sample(), nil, underlying: lost), [.timeout, .transient, .processed]),
    ]

    @Test(arguments: others.indices) func eachOtherErrorHasItsProperties(_ index: Int) {
        let (error, expected) = Self.others[index]
        #expect(Questions(yesFor: error) == expected, "\(error)")
    }

    @Test func anEarlierAttemptThatWasSentCounts() {
        var error = TransportError(.connectionLost, phase: .send, request: .sample(), delivery: .notSent)
        error.attempts = [AttemptRecord(number: 1, outcome: .failure(Self.lost), delay: .zero)]
        #expect(error.mayHaveBeenProcessed && !error.wasLeftUnprocessed)
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, false, true, true), (.query, false, true, true), (.put, false, true, true), (.post, false, false, true),
        (.patch, false, false, true), (.post, true, true, true),
    ])
    func aRequestMayBeSentAgainIfNoServerCanProcessItTwice(
        _ method: HTTPRequest.Method, _ hasKey: Bool, _ afterLoss: Bool, _ afterNothing: Bool
    ) throws {
        let request = try Request(method, url: "https://a.example/", headers: hasKey ? [.custom("Idempotency-Key"): "\"1\""] : [:])
        #expect(request.mayBeSentAgain == afterLoss && request.mayBeSentAgain(after: Self.lost) == afterLoss)
        #expect(request.mayBeSentAgain(after: TestError()) == afterLoss)
        let notSent = TransportError(.tls, phase: .connect, request: request, delivery: .notSent)
        #expect(request.mayBeSentAgain(after: notSent) == afterNothing)
    }
}
