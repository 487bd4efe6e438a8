#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

/// A thousand requests that meet an expired token.
@Suite(.timeLimit(.minutes(5))) struct TokenStormTests {
    private enum Outcome: Equatable {
        case status(Int)
        case cancelled
        case failed(String)
    }

    private struct Storm {
        let server: RotatingTokenSender
        let tokens: TokenSource
        let outcomes: [Outcome]
        /// The requests that were sent with an old token after a new token had been issued.
        let late: Int
    }

    /// Compares the token of each sent request with the current token.
    private final class TokenComparingSender: HTTPSender {
        private let next: RotatingTokenSender
        private let tokens: TokenSource
        private let count = Mutex(0)

        init(_ next: RotatingTokenSender, _ tokens: TokenSource) { (self.next, self.tokens) = (next, tokens) }

        var late: Int { count.withLock { $0 } }

        func send(_ request: Request) async throws -> Response {
            if request.head.headerFields[.authorization] != tokens.current.map({ "Bearer \($0.value)" }) { count.withLock { $0 += 1 } }
            return try await next.send(request)
        }
    }

    /// Sends a thousand requests within 10 ms, after the first token has expired.
    ///
    /// - Parameter during: runs once, 20 ms after the first request.
    private func storm(
        seed: UInt64, cancels: Bool = false, failsRefresh: @escaping @Sendable (Int) -> (any Error)? = { _ in nil },
        during: @escaping @Sendable (TokenSource) async throws -> Void = { _ in }
    ) -> Storm {
        let simulation = Simulation()
        let clock = simulation.clock
        let random = SeededRandom(seed: seed)
        let server = RotatingTokenSender(clock: clock, latency: { .milliseconds(6 + Int(random.next() * 40)) }, failsRefresh: failsRefresh)
        let start = Date()
        let began = clock.now
        let tokens = TokenSource(
            server.first, store: MemoryTokenStore(), now: { start + (began.duration(to: clock.now) / .seconds(1)) }, random: { 0 },
            executor: simulation, refresh: { try await server.refresh($0) })
        server.expire()
        let comparison = TokenComparingSender(server, tokens)
        let stack = HTTPStack(comparison).authenticate(.bearer(tokens), clock: clock)
        let outcomes = Mutex<[Outcome]>([])
        for _ in 0..<1_000 {
            let task = simulation.begin {
                do {
                    try await clock.sleep(for: .milliseconds(Int(random.next() * 10)))
                    let status = try await stack.send(try Request(.get, url: "https://a.example/")).status.code
                    outcomes.withLock { $0.append(.status(status)) }
                } catch is CancellationError {
                    outcomes.withLock { $0.append(.cancelled) }
                } catch let error as AuthenticationError {
                    outcomes.withLock { $0.append(.failed(error.code.description)) }
                }
            }
            if cancels, random.next() < 0.3 {
                simulation.begin {
                    try await clock.sleep(for: .milliseconds(Int(random.next() * 100)))
                    task.cancel()
                }
            }
        }
        simulation.begin {
            try await clock.sleep(for: .milliseconds(20))
            try await during(tokens)
        }
        simulation.run()
        return Storm(server: server, tokens: tokens, outcomes: outcomes.withLock { $0 }, late: comparison.late)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func manyRequestsShareOneRefresh(seed: UInt64) {
        let storm = storm(seed: seed)
        #expect(storm.outcomes.count == 1_000 && storm.outcomes.allSatisfy { $0 == .status(200) })
        #expect(storm.server.refreshes == 1 && storm.server.served == 1_000 && !storm.server.isRevoked)
        // A slow 401 comes after the refresh. No request sends the old token after the new token was issued, and each request sends the old
        // token at most once.
        #expect(storm.late == 0)
        #expect(storm.server.log.count { $0 == "Bearer access-0" } <= 1_000)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func cancelledRequestsLoseNoRotatedToken(seed: UInt64) {
        let storm = storm(seed: seed, cancels: true)
        #expect(storm.outcomes.count == 1_000 && storm.outcomes.allSatisfy { $0 == .status(200) || $0 == .cancelled })
        #expect(storm.outcomes.contains(.cancelled) && storm.outcomes.contains(.status(200)))
        #expect(storm.server.refreshes == 1 && !storm.server.isRevoked)
        #expect(storm.tokens.current?.refreshToken == "refresh-1")
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func aFailedRefreshFailsAllWaitingRequests(seed: UInt64) {
        let storm = storm(seed: seed, failsRefresh: { _ in TestError() })
        #expect(storm.outcomes.count == 1_000 && storm.outcomes.allSatisfy { $0 == .failed("no new token could be obtained") })
        #expect(storm.server.refreshes == 1 && storm.server.served == 0)
        #expect(storm.tokens.current?.value == "access-0")
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func aSignOutOverridesARefreshInProgress(seed: UInt64) {
        let storm = storm(seed: seed, during: { try await $0.signOut() })
        #expect(storm.outcomes.count == 1_000)
        #expect(storm.outcomes.allSatisfy { $0 == .status(200) || $0 == .status(401) || $0 == .failed("nobody is signed in") })
        #expect(storm.outcomes.contains(.failed("nobody is signed in")))
        #expect(storm.tokens.current == nil && storm.server.refreshes <= 1)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func aSignInOfAnotherAccountOverridesARefreshInProgress(seed: UInt64) {
        let storm = storm(seed: seed, during: { try await $0.signIn(AccessToken("other")) })
        #expect(storm.tokens.current?.value == "other" && storm.outcomes.count == 1_000)
        // All requests began for the first account. No request is sent with the token of the other account.
        let changed = Outcome.failed("another account has signed in since the request began")
        #expect(storm.outcomes.allSatisfy { $0 == .status(200) || $0 == changed } && storm.outcomes.contains(changed))
        #expect(!storm.server.log.contains("Bearer other") && storm.late == 0)
    }
}
#endif
