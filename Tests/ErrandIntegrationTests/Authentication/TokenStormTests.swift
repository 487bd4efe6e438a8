#if SWIFT_NIO && Auth && MockServer
internal import Errand
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

/// A server with ``RotatingTokens``: `/me` requires the current one, `/token` replaces it.
private final class RotatingServer: Sendable {
    struct State: Sendable {
        var tokens = RotatingTokens()
        /// The requests for a new token, and those that were responded to.
        var refreshes = 0
        var refreshed = 0
        var refused = 0
        /// The access tokens in the order in which they came.
        var log: [String] = []
    }

    let state = Watched(State())
    /// What a refresh, and what the refusal with a number from 1, waits for.
    private let mayRefresh: @Sendable (State) -> Bool
    private let mayRefuse: @Sendable (Int, State) -> Bool
    private let failsRefresh: @Sendable (Int) -> Bool

    init(
        mayRefresh: @escaping @Sendable (State) -> Bool = { _ in true },
        mayRefuse: @escaping @Sendable (Int, State) -> Bool = { _, _ in true },
        failsRefresh: @escaping @Sendable (Int) -> Bool = { _ in false }
    ) { (self.mayRefresh, self.mayRefuse, self.failsRefresh) = (mayRefresh, mayRefuse, failsRefresh) }

    static let first = AccessToken(RotatingTokens.firstAccess, refreshToken: RotatingTokens.firstRefresh)

    func respond(to request: IncomingRequest) async throws -> MockResponse? {
        switch request.path {
        case "/me": try await me(request)
        case "/token": try await token(request)
        default: nil
        }
    }

    private func me(_ request: IncomingRequest) async throws -> MockResponse {
        let token = request.headers[.authorization]
        let found = Watched((isValid: false, number: 0))
        state.change { state in
            state.log.append(token ?? "none")
            let isValid = state.tokens.accept(authorization: token)
            if !isValid { state.refused += 1 }
            let number = state.refused
            found.change { $0 = (isValid, number) }
        }
        let (isValid, number) = found.value
        guard !isValid else { return .text("me") }
        try await state.wait("the refusal to be due") { [mayRefuse] in mayRefuse(number, $0) }
        return .status(.unauthorized, headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
    }

    private func token(_ request: IncomingRequest) async throws -> MockResponse {
        let form = String(decoding: try await request.body(), as: UTF8.self)
        state.change { $0.refreshes += 1 }
        let number = state.value.refreshes
        // Also if the client has left by then.
        defer { state.change { $0.refreshed += 1 } }
        try await state.wait("the refresh to be due") { [mayRefresh] in mayRefresh($0) }
        if failsRefresh(number) { return .status(.serviceUnavailable) }
        let items = form.split(separator: "&")
        let sent = items.first { $0.hasPrefix("refresh_token=") }.map { String($0.dropFirst("refresh_token=".count)) }
        state.change { _ = $0.tokens.rotate(with: sent) }
        let now = state.value.tokens
        if now.isRevoked { return .data(Data(#"{"error": "invalid_grant"}"#.utf8), status: .badRequest) }
        let token =
            #"{"access_token": "\#(now.access)", "refresh_token": "\#(now.refresh)", "token_type": "Bearer"}"#
        return .data(Data(token.utf8), headers: [.contentType: "application/json"])
    }
}

/// A thousand requests over a hundred connections, with a token that has expired.
@Suite(.timeLimit(.minutes(5))) struct TokenStormSocketTests {
    private static let count = 1_000

    private enum Outcome: Hashable {
        case status(Int)
        case cancelled
        case failed(String)
    }

    private static func send(_ stack: HTTPStack, _ url: String) async throws -> Outcome {
        do {
            let response = try await stack.send(Request(.get, url: url))
            _ = try await response.body.collect()
            return .status(response.status.code)
        } catch is CancellationError {
            return .cancelled
        } catch let error as AuthenticationError {
            return .failed(error.code.description)
        }
    }

    /// Runs the storm.
    ///
    /// - Parameters:
    ///   - cancelled: whether the request with this number is cancelled while the refresh waits.
    ///   - during: runs at the same time as the requests.
    ///   - after: runs after all of them.
    private func storm(
        _ server: RotatingServer, cancelled: Set<Int> = [], during: @escaping @Sendable (TokenSource) async throws -> Void = { _ in },
        after: (TokenSource, HTTPStack, String) async throws -> Void = { _, _, _ in }
    ) async throws -> [Outcome: Int] {
        server.state.change { $0.tokens.expire() }  // the first token has expired
        return try await withMockServer { mock in
            mock.dispatch { try await server.respond(to: $0) }
            var configuration = NIOTransport.Configuration()
            configuration.maxConnectionsPerOrigin = 100
            return try await withTransport(try NIOTransport(configuration)) { transport in
                let oauth = OAuthClient(
                    OAuthServer(tokenEndpoint: mock.url("/token")), clientID: "storm", via: transport.timeout(.seconds(60)))
                let tokens = TokenSource(oauth, store: MemoryTokenStore())
                try await tokens.signIn(RotatingServer.first)
                let stack = transport.timeout(.seconds(60)).authenticate(.bearer(tokens))
                let url = mock.url("/me")
                let requests = (0..<Self.count).map { _ in Task { try await Self.send(stack, url) } }
                let other = Task { try await during(tokens) }
                if !cancelled.isEmpty {
                    try await server.state.wait("the refresh to begin") { $0.refreshes > 0 }
                    for number in cancelled { requests[number].cancel() }
                }
                var outcomes: [Outcome: Int] = [:]
                for request in requests { outcomes[try await request.value, default: 0] += 1 }
                try await other.value
                try await after(tokens, stack, url)
                return outcomes
            }
        }
    }

    /// All requests have been refused before the refresh ends.
    private static func allWereRefused(_ state: RotatingServer.State) -> Bool { state.refused >= count }

    @Test func manyRequestsShareOneRefresh() async throws {
        let server = RotatingServer(mayRefresh: { $0.refused >= 200 })
        let outcomes = try await storm(server) { tokens in
            #expect(tokens.current?.refreshToken == "refresh-0")
        } after: { tokens, stack, url in
            let sent = server.state.value.log.count
            #expect(tokens.current?.value == "access-2" && tokens.current?.refreshToken == "refresh-1")
            for _ in 0..<20 {
                let outcome = try await Self.send(stack, url)
                #expect(outcome == .status(200))
            }
            #expect(server.state.value.log[sent...].allSatisfy { $0 == "Bearer access-2" })
        }
        #expect(outcomes == [.status(200): Self.count])
        let state = server.state.value
        #expect(state.refreshes == 1 && !state.tokens.isRevoked)
        // Each request had the old token once at most, and the new one once.
        #expect(
            state.log.count { $0 == "Bearer access-2" } == Self.count + 20 && state.log.count { $0 == "Bearer access-0" } == state.refused)
        #expect(state.refused <= Self.count && Set(state.log) == ["Bearer access-0", "Bearer access-2"])
    }

    /// Some refusals come when the new token is there already: they start no refresh.
    @Test func aLateRefusalAfterTheRefreshStartsNoRefresh() async throws {
        let server = RotatingServer(
            mayRefresh: { $0.refused >= 60 }, mayRefuse: { number, state in number > 30 || state.log.contains("Bearer access-2") })
        let outcomes = try await storm(server)
        #expect(outcomes == [.status(200): Self.count])
        let state = server.state.value
        #expect(state.refreshes == 1 && !state.tokens.isRevoked && state.log.count { $0 == "Bearer access-2" } == Self.count)
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>) func cancelledRequestsLoseNoRotatedToken(seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let cancelled = Set((0..<Self.count).filter { _ in random.next() < 0.3 })
        let server = RotatingServer(mayRefresh: { $0.refused >= 200 })
        let outcomes = try await storm(server, cancelled: cancelled) { _ in
        } after: { tokens, stack, url in
            #expect(tokens.current?.refreshToken == "refresh-1")
            let later = try await Self.send(stack, url)
            #expect(later == .status(200))
        }
        #expect(Set(outcomes.keys) == [.status(200), .cancelled] && outcomes.values.reduce(0, +) == Self.count)
        #expect(outcomes[.cancelled, default: 0] <= cancelled.count)
        #expect(server.state.value.refreshes == 1 && !server.state.value.tokens.isRevoked)
    }

    /// The request that started the refresh is among those that are cancelled.
    @Test func aRefreshWithoutWaitingRequestsIsKept() async throws {
        let isReleased = Watched(false)
        let server = RotatingServer(mayRefresh: { _ in isReleased.value })
        let outcomes = try await storm(server, cancelled: Set(0..<Self.count)) { _ in
        } after: { tokens, stack, url in
            isReleased.change { $0 = true }
            server.state.change { _ in }  // who waits looks again
            let later = try await Self.send(stack, url)
            #expect(later == .status(200))
            #expect(tokens.current?.refreshToken == "refresh-1")
        }
        #expect(outcomes == [.cancelled: Self.count] && server.state.value.refreshes == 1 && !server.state.value.tokens.isRevoked)
    }

    @Test func aFailedRefreshFailsAllWaitingRequestsAndTheNextRequestRefreshesAgain() async throws {
        let server = RotatingServer(mayRefresh: Self.allWereRefused, failsRefresh: { $0 == 1 })
        let outcomes = try await storm(server) { _ in
        } after: { tokens, stack, url in
            #expect(tokens.current?.value == "access-0" && server.state.value.refreshes == 1)
            let later = try await Self.send(stack, url)
            #expect(later == .status(200))
            #expect(server.state.value.refreshes == 2)
        }
        #expect(outcomes == [.failed("no new token could be obtained"): Self.count])
    }

    @Test func aSignOutOverridesARefreshInProgress() async throws {
        let isOut = Watched(false)
        let server = RotatingServer(mayRefresh: { _ in isOut.value })
        let outcomes = try await storm(server) { tokens in
            try await server.state.wait("the refusals") { Self.allWereRefused($0) }
            try await tokens.signOut()
            isOut.change { $0 = true }
            server.state.change { _ in }
        } after: { tokens, stack, url in
            try await server.state.wait("the end of the refresh") { $0.refreshed == $0.refreshes }
            #expect(tokens.current == nil)
            let later = try await Self.send(stack, url)
            #expect(later == .failed("nobody is signed in"))
        }
        #expect(outcomes == [.failed("nobody is signed in"): Self.count] && server.state.value.refreshes == 1)
        #expect(!server.state.value.log.contains("Bearer access-2"))
    }

    /// Two sources have the same refresh token, as two copies of an app that share no store would.
    @Test func aRefreshTokenThatIsUsedTwiceEndsBothSessions() async throws {
        let server = RotatingServer()
        _ = try await storm(server) { _ in
        } after: { tokens, stack, url in
            let copy = try await withTransport(NIOTransport()) { transport in
                let oauth = OAuthClient(
                    OAuthServer(tokenEndpoint: url.replacing("/me", with: "/token")), clientID: "storm",
                    via: transport.timeout(.seconds(20)))
                let tokens = TokenSource(oauth)
                try await tokens.signIn(RotatingServer.first)
                return try await Self.send(transport.authenticate(.bearer(tokens)), url)
            }
            #expect(copy == .failed("the token is not valid any more, and the server gives no new token"))
            let later = try await Self.send(stack, url)
            #expect(later == .failed("the token is not valid any more, and the server gives no new token"))
            #expect(tokens.current == nil)
        }
        #expect(server.state.value.tokens.isRevoked)
    }
}
#endif
