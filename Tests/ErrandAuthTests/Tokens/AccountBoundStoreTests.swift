#if Auth
import Crypto
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

/// A store that processes share: its keys are keyed digests, and it keeps nothing of a volatile identity.
private final class SharedStore: AccountBoundStore {
    private let key = SymmetricKey(size: .bits256)
    private let values = Mutex<[Data: String]>([:])
    private let forgotten = Mutex<[CredentialIdentity]>([])
    let failure: TestError?
    private let hook: @Sendable () async -> Void

    init(failure: TestError? = nil, hook: @escaping @Sendable () async -> Void = {}) { (self.failure, self.hook) = (failure, hook) }

    private func digest(_ identity: CredentialIdentity, _ url: String) -> Data? {
        identity.canonicalOctets.map { Data(HMAC<SHA256>.authenticationCode(for: $0 + Array(url.utf8), using: key)) }
    }

    var toldOf: [CredentialIdentity] { forgotten.withLock { $0 } }
    var keys: Set<Data> { values.withLock { Set($0.keys) } }

    func value(_ identity: CredentialIdentity?, _ url: String) -> String? {
        guard let identity, let digest = digest(identity, url) else { return nil }
        return values.withLock { $0[digest] }
    }

    func store(_ value: String, _ identity: CredentialIdentity?, _ url: String) {
        guard let identity, let digest = digest(identity, url) else { return }
        values.withLock { $0[digest] = value }
    }

    func forget(_ identity: CredentialIdentity) async throws {
        await hook()
        forgotten.withLock { $0.append(identity) }
        if let failure { throw failure }
    }
}

/// Responds from the store if the store has a response.
private struct CachingMiddleware: HTTPMiddleware {
    let store: SharedStore
    let hits: Counter

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let (identity, url) = (request.options.credentialIdentity, request.head.path ?? "")
        if let stored = store.value(identity, url) {
            hits.add()
            return Response(head: HTTPResponse(status: .ok), data: Data(stored.utf8), request: request)
        }
        let response = try await next.send(request)
        let data = try await response.body.collect(upTo: 1_000)
        store.store(String(decoding: data, as: UTF8.self), identity, url)
        return Response(head: response.head, data: data, request: request)
    }
}

/// The number of requests that a store has answered.
@Suite(.timeLimit(.minutes(5))) struct AccountBoundStoreTests {
    private func source(_ name: String, account: String?) -> TokenSource {
        TokenSource(AccessToken("token-of-\(name)"), account: account) { _ in throw CancellationError() }
    }

    private func identity(of tokens: TokenSource) async throws -> CredentialIdentity {
        let scheme = BearerScheme(tokens)
        return try #require(try await scheme.proof(for: try Request(.get, url: "https://a.example/"))).identity
    }

    // MARK: Identities

    /// Two processes sign two accounts in, in opposite order, and share a store.
    @Test func noAccountGetsResponsesOfAnotherAccountInAThousandRuns() async throws {
        let store = SharedStore()
        let server = StubTransport(
            Stub().responds(.custom { request in (HTTPResponse(status: .ok), Data((request.headers[.authorization] ?? "").utf8)) }))
        let hits = Counter()
        var wrong = 0
        for run in 0..<1_000 {
            // Each run is a process: its sources are new.
            var sources: [String: TokenSource] = [:]
            for name in run % 2 == 0 ? ["joe", "ann"] : ["ann", "joe"] { sources[name] = source(name, account: "service/\(name)") }
            for number in 0..<10 {
                let name = number % 2 == 0 ? "joe" : "ann"
                let stack = server.wrapped(by: CachingMiddleware(store: store, hits: hits)).authenticate(.bearer(sources[name]!))
                let response = try await stack.send(try Request(.get, url: "https://a.example/\(number / 2)"))
                if try await response.body.collect(upTo: 100) != Data("Bearer token-of-\(name)".utf8) { wrong += 1 }
            }
        }
        #expect(wrong == 0 && hits.value == 9_990 && server.requests.count == 10 && store.keys.count == 10)
    }

    @Test func aVolatileIdentityReachesNoDurableStore() async throws {
        let (store, hits) = (SharedStore(), Counter())
        let server = StubTransport(Stub().responds(.status(.ok, text: "private")))
        for _ in 0..<3 {
            let stack = server.wrapped(by: CachingMiddleware(store: store, hits: hits)).authenticate(.bearer(source("joe", account: nil)))
            _ = try await stack.send(try Request(.get, url: "https://a.example/"))
        }
        #expect(store.keys.isEmpty && hits.value == 0 && server.requests.count == 3)
    }

    @Test func aSchemeIsDurableOnlyWithTheNameOfAnAccount() async throws {
        let request = try Request(.get, url: "https://a.example/")
        let challenge = ServerChallenge(
            HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]))
        for account in [nil, "service/joe"] {
            let schemes: [any AuthenticationScheme] = [
                .basic(user: "joe", password: "hunter2", account: account), .digest(user: "joe", password: "hunter2", account: account),
                .password(user: "joe", password: "hunter2", account: account), .bearer("hunter2", account: account),
                .apiKey("hunter2", in: .query("k"), account: account), .bearer(source("joe", account: account)),
            ]
            for scheme in schemes {
                var proof = try await scheme.proof(for: request)
                if proof == nil { proof = try await scheme.proof(for: request, inResponseTo: challenge) }
                let identity = try #require(proof).identity
                #expect(identity.isDurable == (account != nil), "\(scheme)")
                let octets = String(decoding: identity.canonicalOctets ?? [], as: UTF8.self)
                #expect(!octets.contains("hunter2") && octets.contains("service/joe") == (account != nil), "\(scheme)")
                #expect(!"\(identity)".contains("joe"))
            }
        }
    }

    @Test func anIdentitySurvivesARefreshAndOnlyANamedIdentitySurvivesASignIn() async throws {
        for account in [nil, "service/joe"] {
            let tokens = TokenSource(AccessToken("old", expiresAt: .distantPast), account: account) { _ in AccessToken("new") }
            let first = try await identity(of: tokens)
            #expect(try await identity(of: tokens) == first)
            try await tokens.signIn(AccessToken("other"))
            #expect(try await (identity(of: tokens) == first) == (account != nil))
        }
    }

    // MARK: Signing out

    @Test(arguments: [nil, "service/joe"]) func signingOutReachesEveryStore(_ account: String?) async throws {
        let tokens = source("joe", account: account)
        let identity = try await identity(of: tokens)
        let stores = (0..<3).map { _ in SharedStore() }
        #expect(try await tokens.signOut(clearing: stores)?.value == "token-of-joe")
        for store in stores { #expect(store.toldOf == [identity]) }
        #expect(tokens.current == nil)
    }

    @Test func everyStoreIsClearedAndTheFirstErrorIsThrown() async throws {
        let (first, second) = (TestError("first"), TestError("second"))
        let stores = [SharedStore(), SharedStore(failure: first), SharedStore(failure: second), SharedStore()]
        let tokens = source("joe", account: "service/joe")
        let identity = try await identity(of: tokens)
        await #expect(throws: first) { try await tokens.signOut(clearing: stores) }
        for store in stores { #expect(store.toldOf == [identity]) }
        #expect(tokens.current == nil)
    }

    @Test func everyStoreIsClearedIfTheTokenCannotBeRemoved() async throws {
        let store = RecordingTokenStore(AccessToken("kept"), removalError: TestError("full"))
        let tokens = TokenSource(store: store, account: "service/joe") { _ in throw CancellationError() }
        let stores = [SharedStore(), SharedStore(failure: TestError("second"))]
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.signOut(clearing: stores) }
        #expect(error?.code == .storeFailed && stores.allSatisfy { $0.toldOf.count == 1 })
    }

    @Test func everyStoreIsClearedIfTheCallerIsCancelled() async throws {
        let (begun, mayGo) = (Signal(), Signal())
        let stores = [
            SharedStore {
                begun.signal()
                await mayGo.waitIgnoringCancellation()
            }, SharedStore(),
        ]
        let tokens = source("joe", account: "service/joe")
        let signOut = Task { try await tokens.signOut(clearing: stores) }
        await begun.waitIgnoringCancellation()
        signOut.cancel()
        mayGo.signal()
        _ = try await signOut.value
        #expect(stores.allSatisfy { $0.toldOf.count == 1 })
        // The same holds in a task that is already cancelled.
        let other = source("ann", account: "service/ann")
        let late = Task {
            _ = try? await untilCancelled()
            return try await other.signOut(clearing: stores)
        }
        late.cancel()
        _ = try await late.value
        #expect(stores.allSatisfy { $0.toldOf.count == 2 })
    }

    @Test func aSignOutClearsTheAccountOfTheStoredToken() async throws {
        let (memory, store) = (MemoryTokenStore(AccessToken("stored")), SharedStore())
        let tokens = TokenSource(store: memory, account: "service/joe") { _ in throw CancellationError() }
        try await tokens.signOut(clearing: [store])
        #expect(memory.load() == nil && store.toldOf == [CredentialIdentity(scheme: "bearer", account: "service/joe")])
    }
}
#endif
