#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Sources that need a sign-in, and sources that obtain a token without one.
@Suite(.timeLimit(.minutes(5))) struct TokenObtainingTests {
    private func request() throws -> Request { try Request(.get, url: "https://a.example/x") }

    @Test func aRefreshGetsTheTokenOfTheAccount() async throws {
        let seen = Mutex<[AccessToken]>([])
        let tokens = TokenSource(store: MemoryTokenStore()) { old in
            seen.withLock { $0.append(old) }
            return AccessToken("new", refreshToken: "r1")
        }
        try await tokens.signIn(AccessToken("old", expiresAt: .distantPast, refreshToken: "r0"))
        #expect(try await tokens.token().value == "new")
        #expect(seen.withLock { $0.map(\.refreshToken) } == ["r0"])
    }

    @Test func noRefreshBeginsWhileNobodyIsSignedIn() async throws {
        let counter = Counter()
        let tokens = TokenSource { _ in AccessToken("\(counter.add())") }
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let error = await #expect(throws: AuthenticationError.self) { try await stub.authenticate(.bearer(tokens)).send(request()) }
        #expect(error?.code == .signedOut && counter.value == 0 && stub.requests.isEmpty)
    }

    @Test func aSourceThatObtainsNeedsNoSignIn() async throws {
        let seen = Mutex<[String?]>([])
        let counter = Counter()
        let tokens = TokenSource.obtaining { old in
            seen.withLock { $0.append(old?.value) }
            return AccessToken("\(counter.add())")
        }
        let stub = StubTransport(Stub().responds(.status(.ok), .status(.unauthorized), .status(.ok), repeatingLast: true))
        let stack = stub.authenticate(.bearer(tokens))
        for _ in 0..<2 { #expect(try await stack.send(request()).status == .ok) }
        try await tokens.signOut()
        #expect(try await stack.send(request()).status == .ok)
        #expect(seen.withLock { $0 } == [nil, "1", nil])
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer 1", "Bearer 1", "Bearer 2", "Bearer 3"])
    }

    @Test func aStoredTokenIsUsedBeforeOneIsObtained() async throws {
        let store = MemoryTokenStore(AccessToken("kept"))
        let tokens = TokenSource.obtaining(store: store) { _ in AccessToken("new") }
        #expect(try await tokens.token().value == "kept")
        let first = TokenSource.obtaining(AccessToken("first"), store: store) { _ in AccessToken("new") }
        #expect(try await first.token().value == "first")
        #expect(store.load()?.value == "first")
    }
}
#endif
