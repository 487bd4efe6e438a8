import ErrandCore
import Testing

@testable import ErrandTransfers

/// Whether a transfer continues after an error, and after which wait.
@Suite struct TransferPolicyTests {
    private let policy = TransferPolicy(backoff: .constant(.seconds(4)), jitter: .equal, maxRetryAfter: .seconds(60))

    private func wait(after error: any Error) -> Double? { policy.wait(after: error, failures: 1, random: 0.5).map { $0 / .seconds(1) } }

    /// The status, `Retry-After`, and the wait in seconds. Without `Retry-After`, the wait is three quarters of the backoff.
    @Test(
        arguments: [
            (503, nil, 3), (503, "2", 3), (503, "60", 60), (503, "61", nil), (429, "10", 10), (408, nil, 3), (404, nil, nil),
        ] as [(Int, String?, Double?)])
    func theStatusAndTheServerDecide(status: Int, retryAfter: String?, expected: Double?) async throws {
        var response = Response(head: HTTPResponse(status: .init(code: status)), request: try Request(.get, url: "https://a.example/"))
        response.head.headerFields[.retryAfter] = retryAfter
        #expect(wait(after: try await StatusError(reading: response)) == expected)
        response.metadata.cacheStatus = CacheStatus(.unavailable(.uriMiss))
        #expect(wait(after: try await StatusError(reading: response)) == nil)
    }

    @Test(arguments: [(nil, 3), (.seconds(20), 20), (.seconds(61), nil)] as [(Duration?, Double?)])
    func aLayerMayRefuseTheRequestForSomeTime(retryAfter: Duration?, expected: Double?) {
        #expect(wait(after: Refusal(retryAfter: retryAfter)) == expected)
    }

    @Test func otherFailuresOfTheConnectionAreTemporary() {
        for (code, expected) in [(TransportError.Code.connectionLost, 3), (.timedOut, 3), (.tls, nil), (.invalidRequest, nil)]
            as [(TransportError.Code, Double?)]
        {
            #expect(wait(after: TransportError(code, phase: .response, request: nil)) == expected, "\(code)")
        }
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
