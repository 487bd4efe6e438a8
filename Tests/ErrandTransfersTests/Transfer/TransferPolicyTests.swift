import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferPolicyTests {
    private let policy = TransferPolicy(backoff: .constant(.seconds(4)), jitter: .none, maxRetryAfter: .seconds(100))

    private func statusError(_ status: Int, retryAfter: String? = nil) async throws -> StatusError {
        var head = HTTPResponse(status: HTTPResponse.Status(code: status))
        head.headerFields[.retryAfter] = retryAfter
        let request = try get("/archive.zip")
        return try await StatusError(
            reading: Response(head: head, body: ResponseBody(), request: request, exchange: ExchangeLifetime()))
    }

    @Test func theStandardIsTenFailuresAndAMinuteOfSilence() {
        let policy = TransferPolicy.standard
        #expect(policy.maxFailures == 10 && policy.idleTimeout == .seconds(60) && policy.maxRetryAfter == .seconds(3_600))
        let waits = (1...8).map { policy.backoff.delay(afterAttempt: $0) }
        #expect(
            waits == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30), .seconds(30)])
    }

    @Test(
        arguments: [
            (.connectionLost, true), (.cannotConnect, true), (.cannotFindHost, true), (.timedOut, true), (.tls, false),
            (.invalidRequest, false), (.unsupported, false), (.shutDown, false),
        ] as [(TransportError.Code, Bool)])
    func aLostConnectionIsTriedAgain(_ code: TransportError.Code, _ continues: Bool) {
        let error = TransportError(code, phase: .body, delivery: .sent)
        #expect((policy.wait(after: error, failures: 1, random: 0) == .seconds(4)) == continues)
    }

    @Test(
        arguments: [
            (408, nil, 4), (425, nil, 4), (429, nil, 4), (500, nil, 4), (502, nil, 4), (503, nil, 4), (504, nil, 4), (501, nil, nil),
            (404, nil, nil), (401, nil, nil), (503, "3", 4), (503, "50", 50), (503, "100", 100), (503, "101", nil), (404, "1", nil),
        ] as [(Int, String?, Int?)])
    func theStatusAndRetryAfterDecide(_ status: Int, _ retryAfter: String?, _ seconds: Int?) async throws {
        let error = try await statusError(status, retryAfter: retryAfter)
        #expect(policy.wait(after: error, failures: 1, random: 0) == seconds.map { .seconds($0) })
    }

    @Test func anotherRuleOfStatusesIsObeyed() async throws {
        var policy = policy
        policy.statuses = [404]
        #expect(policy.wait(after: try await statusError(404), failures: 1, random: 0) == .seconds(4))
        #expect(policy.wait(after: try await statusError(503), failures: 1, random: 0) == nil)
    }

    @Test func otherErrorsEndTheCall() {
        for error in [CancellationError(), TransferError(.busy, "7"), FileWriteError(path: "/7", operation: "write", code: 5)]
            as [any Error]
        {
            #expect(policy.wait(after: error, failures: 1, random: 0) == nil)
        }
    }

    @Test func theWaitGrowsAndHasARandomPart() {
        let policy = TransferPolicy(backoff: .exponential(base: .seconds(1), factor: 2, maxDelay: .seconds(8)), jitter: .equal)
        let error = TransportError(.connectionLost, phase: .body, delivery: .sent)
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8)] {
            let waits = [0, 0.5, 0.999].compactMap { policy.wait(after: error, failures: failures, random: $0) }
            #expect(waits.count == 3 && waits.allSatisfy { $0 >= .seconds(longest) / 2 && $0 <= .seconds(longest) })
            #expect(Set(waits).count == 3)
        }
    }

    @Test func theUnavailableResponseOfACacheIsFinal() async throws {
        var response = Response(head: HTTPResponse(status: .gatewayTimeout), request: try get("/archive.zip"))
        response.metadata.cacheStatus = CacheStatus(.unavailable(.uriMiss))
        #expect(policy.wait(after: try await StatusError(reading: response), failures: 1, random: 0) == nil)
    }

    @Test(arguments: [(nil, 4), (.seconds(20), 20), (.seconds(101), nil)] as [(Duration?, Int?)])
    func aLayerMayRefuseTheRequestForSomeTime(_ retryAfter: Duration?, _ seconds: Int?) {
        #expect(policy.wait(after: Refusal(retryAfter: retryAfter), failures: 1, random: 0) == seconds.map { .seconds($0) })
    }

    private struct Refusal: TemporaryRefusal {
        var request: Request?
        var retryAfter: Duration?
        var attempts: [AttemptRecord] = []
        var phase: ExchangePhase { .queue }
        var delivery: Delivery { .notSent }
        var description: String { "refused" }
    }
}
