import Errand
import Foundation

/// A person signs in with a browser, and stays signed in.
///
/// All clients of the account use one token. The token is refreshed once for all requests that need a token. A new token is saved before
/// the first request uses the token.
///
/// In SwiftUI, make `Account` `@Observable`, run `follow()` in a `.task`, and open the URL with `ASWebAuthenticationSession`. `browse`
/// returns the callback URL of this session. On Apple's platforms, keep the token in the keychain: write a type that conforms to
/// `TokenStore` with three functions.
enum SignIn {
    nonisolated struct Profile: Decodable, Sendable, Equatable {
        var name: String
    }

    static let profile: Endpoint<Profile> = .get("/account")

    /// The values that an app makes once, at its start.
    struct Service: Sendable {
        let oauth: OAuthClient
        let tokens: TokenSource
        let api: APIClient

        init(issuer: String, api server: URL, store: some TokenStore) async throws {
            let stack = HTTPStack.default.retry().timeout(.seconds(30))
            oauth = OAuthClient(try await .discover(issuer: issuer, via: stack), clientID: "errand-example", via: stack)
            tokens = TokenSource(oauth, store: store)
            api = APIClient(HTTPStack.default.authenticate(.bearer(tokens)).retry().timeout(.seconds(30)).server(server))
        }
    }

    enum State: Sendable, Equatable {
        case unknown
        case signedOut(because: String?)
        case signedIn
    }

    @MainActor final class Account {
        private(set) var state = State.unknown
        private let service: Service

        init(_ service: Service) { self.service = service }

        // If the server refuses a refresh in the background, the account is signed out too, and the app shows the sign-in on every screen
        func follow() async {
            for await change in service.tokens.changes {
                switch change {
                case .signedIn, .refreshed: state = .signedIn
                case .signedOut(because: let error): state = .signedOut(because: error.map { $0.localizedDescription })
                }
            }
        }

        /// - Parameter browse: opens the page, and returns the URL to which the browser is finally redirected.
        func signIn(redirect: String = "http://127.0.0.1:8765/", browse: (String) async throws -> String) async {
            do {
                let authorization = try service.oauth.authorization(redirectURI: redirect, scopes: ["read"])
                let url = try await browse(authorization.url)
                try await service.tokens.signIn(service.oauth.token(for: authorization, redirect: url))
                state = .signedIn
            } catch {
                state = .signedOut(because: error.localizedDescription)
            }
        }

        func load() async -> Profile? {
            do {
                return try await service.api.value(SignIn.profile)
            } catch  where error.needsSignIn {
                state = .signedOut(because: error.localizedDescription)
            } catch {
                // No other error signs the account out. For example, the network may be down
            }
            return nil
        }

        func signOut() async {
            // Signing out succeeds on this device, even if the server refuses the revocation
            if let token = try? await service.tokens.signOut() { try? await service.oauth.revoke(token) }
            state = .signedOut(because: nil)
        }
    }
}
