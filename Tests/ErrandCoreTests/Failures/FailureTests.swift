import Errand
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FailureTests {
    private func request() throws -> Request { try Request(.get, url: "https://a.example/x?token=S1") }

    @Test func aTransportErrorDescribesPhaseTimeAndDelivery() throws {
        var error = TransportError(.timedOut, phase: .connect, elapsed: .milliseconds(2_000), request: try request(), delivery: .notSent)
        #expect(error.description == "GET https://a.example/x?token=REDACTED: timed out while connecting after 2 s (not sent)")
        error.attempts = [
            AttemptRecord(number: 1, outcome: .status(.serviceUnavailable), delay: .milliseconds(500)),
            AttemptRecord(number: 2, outcome: .failure(TestError("S2")), delay: .seconds(1)),
        ]
        #expect(
            error.description
                == "GET https://a.example/x?token=REDACTED: timed out while connecting after 2 s (not sent); attempt 1: 503, then waited 500 ms; "
                + "attempt 2: TestError, then waited 1 s")
        let plain = TransportError(
            .connectionLost, phase: .body, message: "reset", underlying: TestError("S3"), request: nil, delivery: .sent)
        #expect(plain.description == "connection lost while reading the body: reset (sent)")
        #expect(!dumped(plain).contains("S3") && !dumped(error).contains("S2"))
    }

    @Test(arguments: [
        (TransportError.Code.cannotFindHost, "cannot find host"), (.cannotConnect, "cannot connect"), (.connectionLost, "connection lost"),
        (.timedOut, "timed out"), (.tls, "TLS failure"), (.invalidResponse, "invalid response"), (.bodyTooLarge, "body too large"),
        (.requestBody, "request body failed"), (.invalidRequest, "invalid request"), (.proxy, "proxy failure"),
        (.unsupported, "unsupported"), (.notConnected, "not connected"), (.blockedByPolicy, "blocked by policy"),
        (.shutDown, "transport shut down"), (TransportError.Code("my own"), "my own"),
    ])
    func codesArePinned(_ code: TransportError.Code, _ text: String) {
        #expect(
            TransportError(code, phase: .send, request: nil, delivery: .unknown).description
                == "\(text)\(code == .requestBody ? "" : " while sending the request") (may have been sent)")
    }

    @Test(arguments: [
        (Duration.milliseconds(1), "1 ms"), (.milliseconds(1_234), "1.234 s"), (.microseconds(1_499), "1.499 ms"),
        (.seconds(90), "90 s"), (.zero, "0 s"),
    ])
    func elapsedTimeIsShownInWords(_ elapsed: Duration, _ text: String) {
        let error = TransportError(.timedOut, phase: .queue, elapsed: elapsed, request: nil, delivery: .notSent)
        #expect(error.description == "timed out in the queue after \(text) (not sent)")
    }

    @Test func theLocalizedDescriptionIsASentenceForPeople() throws {
        let error: any Error = TransportError(.timedOut, phase: .connect, request: try request(), delivery: .notSent)
        #expect(error.localizedDescription == "Connecting to the server took too long.")
    }

    @Test func theDeliveryIsTheHighestOfAllAttempts() throws {
        func failure(_ sent: Delivery) -> TransportError {
            TransportError(.connectionLost, phase: .send, request: nil, delivery: sent)
        }
        func sent(after outcome: AttemptRecord.Outcome) -> Delivery {
            var error = failure(.notSent)
            error.attempts = [AttemptRecord(number: 1, outcome: outcome, delay: .zero)]
            return error.delivery
        }
        #expect(sent(after: .failure(failure(.notSent))) == .notSent && sent(after: .failure(failure(.unknown))) == .unknown)
        var later = failure(.notSent)
        later.attempts = [AttemptRecord(number: 1, outcome: .status(.serviceUnavailable), delay: .zero)]
        #expect(sent(after: .failure(later)) == .sent)
        #expect(sent(after: .failure(InvalidURLError("x", .missingHost))) == .notSent)
        #expect(sent(after: .status(.serviceUnavailable)) == .sent && sent(after: .failure(TestError(""))) == .unknown)
        #expect(Delivery.notSent < .unknown && Delivery.unknown < .sent)
    }

    @Test func theDeliveryHasThreeValues() {
        #expect([Delivery.notSent, .unknown, .sent].map(\.rawValue) == ["notSent", "unknown", "sent"])
    }

    @Test func anAttemptShowsOnlyTheTypeOfAForeignError() throws {
        let ours = TransportError(.connectionLost, phase: .send, request: try request(), delivery: .unknown)
        let records = [
            AttemptRecord(number: 1, outcome: .failure(ours), delay: .zero),
            AttemptRecord(number: 2, outcome: .failure(TestError("S2")), delay: .zero),
        ]
        #expect(
            records[0].description
                == "attempt 1: GET https://a.example/x?token=REDACTED: connection lost while sending the request (may have been sent)"
        )
        #expect(records[1].description == "attempt 2: TestError")
        #expect(!dumped(records).contains(/S\d/))
    }

    @Test func anAttemptNamesOnlyADifferentRequest() throws {
        func refused(_ request: Request?) -> TransportError {
            TransportError(.cannotConnect, phase: .connect, message: "connection refused", request: request, delivery: .notSent)
        }
        let request = try request()
        var error = refused(request)
        error.attempts = [
            AttemptRecord(number: 1, outcome: .failure(refused(request)), delay: .milliseconds(16)),
            AttemptRecord(number: 2, outcome: .failure(refused(try Request(.get, url: "https://b.example/"))), delay: .zero),
        ]
        #expect(
            error.description == "GET https://a.example/x?token=REDACTED: cannot connect: connection refused (not sent); "
                + "attempt 1: cannot connect: connection refused (not sent), then waited 16 ms; "
                + "attempt 2: GET https://b.example/: cannot connect: connection refused (not sent)")
        error.request = nil
        #expect(error.description.contains("attempt 1: GET https://a.example/x?token=REDACTED: cannot connect"))
    }

    @Test func aFailureHasNoResponseAndNoBodyByDefault() {
        struct Failing: RequestFailure {
            var request: Request?
            var phase: ExchangePhase { .decode }
            var attempts: [AttemptRecord] = []
            var delivery: Delivery { .sent }
            var description: String { "failing" }
        }
        #expect(Failing().response == nil && Failing().bodyPrefix.isEmpty)
        var failing = Failing()
        failing.retryStop = .budgetUsedUp
        #expect(failing.retryStop == nil)
        #expect(failing.localizedDescription == "failing" && failing.failureReason == "failing" && failing.recoverySuggestion == nil)
        #expect(ExchangePhase("mine").description == "mine" && ExchangePhase.backoff != .queue)
    }
}
