#if Auth
import Errand
import Synchronization
import TestSupport

@testable import ErrandAuth

/// Responds like a server with ``RotatingTokens``, in memory.
final class RotatingTokenSender: HTTPSender {
    private struct State {
        var tokens = RotatingTokens()
        var refreshes = 0
        var served = 0
        var refused = 0
        /// The tokens of the requests in the order in which they came, and of the refreshes.
        var log: [String] = []
    }

    private let state = Mutex(State())
    private let clock: any Clock<Duration>
    private let latency: @Sendable () -> Duration
    private let failsRefresh: @Sendable (Int) -> (any Error)?

    /// - Parameters:
    ///   - latency: the time until the server reads a request or a refresh, and again the time until the response is received.
    ///   - failsRefresh: the error of a refresh with this number, from 1.
    init(
        clock: any Clock<Duration> = ContinuousClock(), latency: @escaping @Sendable () -> Duration = { .zero },
        failsRefresh: @escaping @Sendable (Int) -> (any Error)? = { _ in nil }
    ) { (self.clock, self.latency, self.failsRefresh) = (clock, latency, failsRefresh) }

    var refreshes: Int { state.withLock(\.refreshes) }
    var served: Int { state.withLock(\.served) }
    var refused: Int { state.withLock(\.refused) }
    var isRevoked: Bool { state.withLock(\.tokens.isRevoked) }
    var log: [String] { state.withLock(\.log) }

    /// The first token.
    var first: AccessToken { AccessToken(RotatingTokens.firstAccess, refreshToken: RotatingTokens.firstRefresh) }

    /// Makes the current access token invalid.
    func expire() { state.withLock { $0.tokens.expire() } }

    func send(_ request: Request) async throws -> Response {
        try await clock.sleep(for: latency())
        let isValid = state.withLock { state in
            let token = request.head.headerFields[.authorization]
            state.log.append(token ?? "none")
            let isValid = state.tokens.accept(authorization: token)
            if isValid { state.served += 1 } else { state.refused += 1 }
            return isValid
        }
        try await clock.sleep(for: latency())
        guard isValid else {
            return Response(
                head: HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: #"Bearer error="invalid_token""#]),
                request: request)
        }
        return Response(head: HTTPResponse(status: .ok), request: request)
    }

    /// What a source calls.
    func refresh(_ old: AccessToken?) async throws -> AccessToken {
        try await clock.sleep(for: latency())
        let number = state.withLock { state in
            state.refreshes += 1
            return state.refreshes
        }
        if let error = failsRefresh(number) { throw error }
        let token = try state.withLock { state -> AccessToken in
            state.log.append("refresh")
            guard state.tokens.rotate(with: old?.refreshToken) else { throw TestError() }
            return AccessToken(state.tokens.access, refreshToken: state.tokens.refresh)
        }
        try await clock.sleep(for: latency())
        return token
    }
}
#endif
