import Errand
import TestSupport
import Testing

@testable import ErrandAPI
@testable import ErrandMiddleware

/// Each kind of error, and what a loop learns from the error before the next attempt.
@Suite(.timeLimit(.minutes(5))) struct TemporaryFailureTests {
    /// The description of a failure in one word and the wait: `unprocessed after 7 s`.
    private func text(_ error: any Error, statuses: StatusRule = .transient, afterSuccess: Bool = false) -> String {
        guard let failure = TemporaryFailure(error, statuses: statuses, afterSuccess: afterSuccess) else { return "permanent" }
        return (failure.isUnprocessed ? "unprocessed" : "processed") + (failure.retryAfter.map { " after \($0 / .seconds(1)) s" } ?? "")
    }

    private func refused(_ code: Int, _ fields: HTTPFields = [:], isMadeByCache: Bool = false) async throws -> StatusError {
        var response = Response(head: HTTPResponse(status: .init(code: code), headerFields: fields), request: .sample())
        if isMadeByCache { response.metadata.cacheStatus = CacheStatus(.unavailable(.uriMiss)) }
        return try await StatusError(reading: response)
    }

    /// The status, and the result without and with `Retry-After`.
    @Test(arguments: [
        (400, "permanent", "permanent"), (401, "permanent", "permanent"), (409, "permanent", "permanent"),
        (408, "processed", "processed after 7.0 s"), (425, "processed", "processed after 7.0 s"),
        (429, "unprocessed", "unprocessed after 7.0 s"), (500, "processed", "processed after 7.0 s"), (501, "permanent", "permanent"),
        (502, "processed", "processed after 7.0 s"), (503, "processed", "unprocessed after 7.0 s"),
        (504, "processed", "processed after 7.0 s"),
    ]) func theStatusDecides(_ code: Int, _ plain: String, _ waiting: String) async throws {
        #expect(text(try await refused(code)) == plain)
        #expect(text(try await refused(code, [.retryAfter: "7"])) == waiting)
    }

    @Test func theCallersStatusesReplaceTheStandardStatuses() async throws {
        #expect(text(try await refused(409), statuses: [409]) == "processed")
        #expect(text(try await refused(503), statuses: [409]) == "permanent")
    }

    /// The same request would get the same response, because the request allows only a stored response.
    @Test func the504OfACacheIsPermanent() async throws {
        #expect(text(try await refused(504, isMadeByCache: true)) == "permanent")
        #expect(text(try await refused(504, isMadeByCache: true), statuses: [504]) == "permanent")
        var response = Response(head: HTTPResponse(status: .gatewayTimeout), request: .sample())
        #expect(Result<Response, any Error>.success(response).isTransient)
        response.metadata.cacheStatus = CacheStatus(.unavailable(.stale))
        #expect(!Result<Response, any Error>.success(response).isTransient)
    }

    @Test(arguments: [(Delivery.notSent, "unprocessed"), (.unknown, "processed"), (.sent, "processed")])
    func theDeliveryOfATransportFailureDecides(_ delivery: Delivery, _ expected: String) {
        for code in [TransportError.Code.connectionLost, .cannotConnect, .timedOut, .notConnected] {
            #expect(text(TransportError(code, phase: .connect, request: .sample(), delivery: delivery)) == expected, "\(code)")
        }
        for code in [TransportError.Code.invalidRequest, .bodyTooLarge, .shutDown] {
            #expect(text(TransportError(code, phase: .connect, request: .sample(), delivery: delivery), afterSuccess: true) == "permanent")
        }
    }

    @Test(arguments: [TransportError.Code.tls, .proxy])
    func aFailureBeforeTheExchangeIsTemporaryAfterASuccess(_ code: TransportError.Code) {
        let notSent = TransportError(code, phase: .connect, request: .sample(), delivery: .notSent)
        #expect(text(notSent) == "permanent" && text(notSent, afterSuccess: true) == "unprocessed")
        let sent = TransportError(code, phase: .response, request: .sample(), delivery: .sent)
        #expect(text(sent) == "permanent" && text(sent, afterSuccess: true) == "permanent")
    }

    @Test func aLayerThatRefusesARequestSaysWhenToTryAgain() {
        #expect(text(CircuitBreakerError(request: .sample(), retryAfter: .seconds(5))) == "unprocessed after 5.0 s")
        #expect(text(RateLimitError(request: .sample(), retryAfter: nil, cause: .limit)) == "unprocessed")
        // The first attempt of the call may have been processed.
        var second = CircuitBreakerError(request: .sample(), retryAfter: .seconds(5))
        let lost = TransportError(.connectionLost, phase: .response, request: .sample(), delivery: .unknown)
        second.attempts = [AttemptRecord(number: 1, outcome: .failure(lost), delay: .zero)]
        #expect(text(second) == "processed after 5.0 s")
    }

    @Test func aFailedRefreshOfATokenIsTemporaryIfTheNetworkFailed() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: .sample(), delivery: .unknown)
        #expect(text(FailedRefresh(decidingFailure: lost)) == "unprocessed")
        #expect(text(FailedRefresh(decidingFailure: try await refused(503))) == "permanent")
        #expect(text(FailedRefresh(decidingFailure: nil)) == "permanent")
    }

    /// A token that could not be refreshed, before the request was sent.
    private struct FailedRefresh: DependentFailure {
        var request: Request?
        var decidingFailure: (any RequestFailure)?
        var attempts: [AttemptRecord] = []
        var phase: ExchangePhase { .queue }
        var delivery: Delivery { .notSent }
        var description: String { "no token" }
    }

    @Test func otherErrorsArePermanent() {
        let errors: [any Error] = [CancellationError(), TestError(), InvalidURLError("", .empty), ServiceError(7)]
        for error in errors { #expect(text(error, afterSuccess: true) == "permanent", "\(error)") }
    }
}
