#if Auth
import Errand
import ErrandTesting
import Foundation
import Testing

// The samples of the article "SigningIn", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Credentials: Encodable, Sendable {
    var email: String
    var password: String
}

nonisolated struct IssuedTokens: Codable, Sendable {
    var accessToken: String
    var refreshToken: String
    var expiresIn: Double

    var token: AccessToken { AccessToken(accessToken, expiresAt: Date() + expiresIn, refreshToken: refreshToken) }
}

nonisolated struct Member: Codable, Sendable, Equatable {
    var name: String
}

nonisolated enum ClubAPI {
    static func signIn(_ credentials: Credentials) -> Endpoint<IssuedTokens> { .post("/session", body: .json(credentials)) }
    static func refresh(_ token: String) -> Endpoint<IssuedTokens> { .post("/session/refresh", body: .json(["token": token])) }
    static let signOut = Endpoint<Void>.delete("/session")
    static let me = Endpoint<Member>.get("/me")
}

/// The clients of one account. An app makes this value once, at its start.
nonisolated struct Club: Sendable {
    let open: APIClient  // sends no credentials: for the sign-in and the refresh
    let api: APIClient  // sends the token, and refreshes it
    let tokens: TokenSource

    init(over network: HTTPStack = .default, store: some TokenStore) {
        let server = "https://club.example/v1"
        let open = APIClient(network.retry().timeout(.seconds(30)).server(server))
        let tokens = TokenSource(store: store) { old in
            guard let refreshToken = old.refreshToken else { throw OAuthError(.noRefreshToken) }
            return try await open.value(ClubAPI.refresh(refreshToken)).token
        }
        (self.open, self.tokens) = (open, tokens)
        api = APIClient(network.authenticate(.bearer(tokens)).retry().timeout(.seconds(30)).server(server))
    }
}

// swift-format-ignore
@MainActor final class AccountModel {
    enum Screen: Equatable { case loading, signIn, member }

    private(set) var screen = Screen.loading
    private(set) var message: String?
    private let club: Club

    init(_ club: Club) { self.club = club }

    /// Call it when the app starts. It sends no request.
    func start() async {
        do {
            screen = try await club.tokens.load() == nil ? .signIn : .member
        } catch {
            (screen, message) = (.signIn, error.localizedDescription)
        }
    }

    /// Run it for as long as the app runs: it also learns that a server has ended the session.
    func followAccount() async {
        for await change in club.tokens.changes {
            switch change {
            case .signedIn, .refreshed: (screen, message) = (.member, nil)
            case .signedOut(because: let error): (screen, message) = (.signIn, error == nil ? nil : "Sign in again.")
            }
        }
    }

    func signIn(email: String, password: String) async {
        do {
            let issued = try await club.open.value(ClubAPI.signIn(Credentials(email: email, password: password)))
            try await club.tokens.signIn(issued.token)
            (screen, message) = (.member, nil)
        } catch where error.isUnauthorized {
            message = "The email address or the password is wrong."
        } catch {
            message = error.localizedDescription
        }
    }

    func loadMember() async -> Member? {
        do {
            return try await club.api.value(ClubAPI.me)
        } catch where error.needsSignIn {
            (screen, message) = (.signIn, "Sign in again.")
        } catch {
            message = error.localizedDescription  // the person stays signed in: the network may be down
        }
        return nil
    }

    func signOut() async {
        try? await club.api.value(ClubAPI.signOut)  // the server may be out of reach: the app signs out nevertheless
        do {
            try await club.tokens.signOut()
            (screen, message) = (.signIn, nil)
        } catch {
            (screen, message) = (.signIn, error.localizedDescription)  // the store could not be emptied
        }
    }
}

func signIn(over api: APIClient, _ credentials: Credentials) async throws -> AccessToken {
    try await api.value(ClubAPI.signIn(credentials).with(\.authenticate, .off)).token
}

@MainActor @Test func aMemberSignsInAndOut() async throws {
    let first = IssuedTokens(accessToken: "a1", refreshToken: "r1", expiresIn: 3600)
    let second = IssuedTokens(accessToken: "a2", refreshToken: "r2", expiresIn: 3600)
    let stub = StubTransport(
        Stub(.post, "/v1/session").json(["password": "right"]).responds(.json(first)),
        Stub(.post, "/v1/session").responds(.status(.unauthorized)),
        Stub(.post, "/v1/session/refresh").json(["token": "r1"]).responds(.json(second)),
        Stub(.delete, "/v1/session").responds(.status(.noContent)),
        Stub(.get, "/v1/me").header(.authorization, "Bearer a2").responds(.json(Member(name: "Ada"))),
        Stub(.get, "/v1/me").responds(.status(.unauthorized)))
    let store = MemoryTokenStore()
    let account = AccountModel(Club(over: .sorted(around: stub), store: store))
    await account.start()
    #expect(account.screen == .signIn)
    await account.signIn(email: "ada@club.example", password: "wrong")
    #expect(account.message == "The email address or the password is wrong.")
    await account.signIn(email: "ada@club.example", password: "right")
    #expect(await account.loadMember() == Member(name: "Ada"))  // after one refresh
    #expect(store.load()?.value == "a2")
    await account.signOut()
    #expect(account.screen == .signIn)
    #expect(store.load() == nil)
}
#endif
