#if SWIFT_NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// oidc-provider-mock. A browser is played with plain requests.
@Suite(.enabled(if: RealServer.oidc.isHere, Comment(rawValue: RealServer.oidc.missing)), .timeLimit(.minutes(5)))
struct OIDCProviderTests {
    private static let redirect = "http://127.0.0.1:8765/back?from=stand"

    private func withClient<Result>(
        _ authentication: OAuthClient.Authentication = .post(secret: "s e+cret"), _ body: (OAuthClient, HTTPStack) async throws -> Result
    ) async throws -> Result {
        let issuer = try RealServer.oidc.url()
        return try await withWire { stack, _ in
            let server = try await OAuthServer.discover(issuer: issuer, via: stack)
            return try await body(OAuthClient(server, clientID: "stand-app", authentication: authentication, via: stack), stack)
        }
    }

    /// Opens the page, sends its form, and returns where the browser is sent to.
    private func browse(_ url: String, _ form: String, _ stack: HTTPStack) async throws -> String {
        let page = try await stack.send(Request(.get, url: url))
        #expect(page.status == .ok)
        _ = try await page.body.collect()
        let headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let response = try await stack.send(Request(.post, url: url, headers: headers, body: .text(form)))
        #expect(response.status == .found)
        _ = try await response.body.collect()
        return try #require(response.head.headerFields[.location])
    }

    private func signIn(_ oauth: OAuthClient, _ stack: HTTPStack, user: String) async throws -> AccessToken {
        let authorization = try oauth.authorization(redirectURI: Self.redirect, scopes: ["openid", "email"])
        return try await oauth.token(for: authorization, redirect: try await browse(authorization.url, "sub=\(user)", stack))
    }

    private func signedInUser(_ stack: HTTPStack, _ scheme: BearerScheme) async throws -> String? {
        struct User: Decodable { let sub: String }
        let response = try await stack.authenticate(scheme).send(Request(.get, url: RealServer.oidc.url("/userinfo")))
        let data = try await response.body.collect()
        return response.status == .ok ? try JSONDecoder().decode(User.self, from: data).sub : nil
    }

    @Test func theServerIsDiscovered() async throws {
        try await withClient { oauth, _ in
            let base = try RealServer.oidc.url()
            #expect(oauth.server.issuer == base && oauth.server.tokenEndpoint == base + "/oauth2/token")
            #expect(oauth.server.authorizationEndpoint == base + "/oauth2/authorize" && oauth.server.revocationEndpoint == nil)
        }
        // It names itself by the host that it was asked by.
        let port = try RealServer.oidc.port()
        try await withWire { stack, _ in
            let error = try await failure(OAuthError.self) {
                try await OAuthServer.discover(issuer: "http://127.0.0.1:\(port)/", via: stack)
            }
            #expect(error.code == .issuerMismatch)
        }
    }

    @Test(arguments: [true, false]) func aPersonSignsIn(isBasic: Bool) async throws {
        try await withClient(isBasic ? .basic(secret: "s:e+cr%et é") : .post(secret: "s e+cret")) { oauth, stack in
            let token = try await signIn(oauth, stack, user: "joe-\(isBasic)")
            #expect(token.refreshToken != nil && token.idToken?.split(separator: ".").count == 3 && token.expiresAt != nil)
            #expect(token.scopes == ["openid", "email"])
            let user1 = try await signedInUser(stack, .bearer(token.value))
            #expect(user1 == "joe-\(isBasic)")
        }
    }

    @Test func aCodeIsAcceptedOnce() async throws {
        try await withClient { oauth, stack in
            let authorization = try oauth.authorization(redirectURI: Self.redirect, scopes: ["openid"])
            let redirect = try await browse(authorization.url, "sub=ann", stack)
            _ = try await oauth.token(for: authorization, redirect: redirect)
            let error = try await failure(OAuthError.self) { try await oauth.token(for: authorization, redirect: redirect) }
            #expect(error.code == .invalidGrant && error.isFinal)
        }
    }

    @Test func aRedirectOfAnotherSignInIsRefused() async throws {
        try await withClient { oauth, stack in
            let first = try oauth.authorization(redirectURI: Self.redirect, scopes: ["openid"])
            let second = try oauth.authorization(redirectURI: Self.redirect, scopes: ["openid"])
            let redirect = try await browse(first.url, "sub=ann", stack)
            let mixedUp = try await failure(OAuthError.self) { try await oauth.token(for: second, redirect: redirect) }
            #expect(mixedUp.code == .stateMismatch)
            // This server leaves the state out when a person refuses (RFC 6749, section 4.1.2.1, requires it).
            let refusal = try await browse(first.url, "action=deny", stack)
            #expect(refusal.contains("error=access_denied") && !refusal.contains("state="))
            let refused = try await failure(OAuthError.self) { try await oauth.token(for: first, redirect: refusal) }
            #expect(refused.code == .stateMismatch)
        }
    }

    /// This server revokes the old access token with each refresh, and says so with 400.
    @Test func aRefusedTokenIsRefreshedOnce() async throws {
        try await withClient(.basic(secret: "secret")) { oauth, stack in
            let first = try await signIn(oauth, stack, user: "eve")
            _ = try await oauth.refresh(first)  // from now on, the first access token is refused
            let user2 = try await signedInUser(stack, .bearer(first.value))
            #expect(user2 == nil)
            let tokens = TokenSource(oauth)
            try await tokens.signIn(first)
            let scheme = BearerScheme(tokens) { $0.status == .badRequest }
            try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<20 { group.addTask { try await signedInUser(stack, scheme) } }
                for try await user in group { #expect(user == "eve") }
            }
            let current = try #require(tokens.current)
            #expect(current.value != first.value && current.refreshToken != nil && current.scopes == first.scopes)
        }
    }

    @Test func revokedTokensEndTheSession() async throws {
        try await withClient(.basic(secret: "secret")) { oauth, stack in
            let tokens = TokenSource(oauth)
            try await tokens.signIn(try await signIn(oauth, stack, user: "bob"))
            let scheme = BearerScheme(tokens) { $0.status == .badRequest }
            let user3 = try await signedInUser(stack, scheme)
            #expect(user3 == "bob")
            // It has no endpoint of RFC 7009.
            let token = try #require(tokens.current)
            let error = try await failure(OAuthError.self) { try await oauth.revoke(token) }
            #expect(error.code == .unsupported)

            let revoked = try await stack.send(Request(.post, url: RealServer.oidc.url("/users/bob/revoke-tokens")))
            #expect(revoked.status == .noContent)
            revoked.body.abandon()
            let ended = try await failure(AuthenticationError.self) { try await signedInUser(stack, scheme) }
            #expect(ended.code == .refreshRefused && tokens.current == nil)
            #expect((ended.underlying as? OAuthError)?.code == .invalidGrant)
            let later = try await failure(AuthenticationError.self) { try await signedInUser(stack, scheme) }
            #expect(later.code == .signedOut || later.code == .refreshRefused)
        }
    }

    @Test func aClientWithoutASecretIsRefused() async throws {
        try await withClient(.none) { oauth, stack in
            let error = try await failure(OAuthError.self) { try await signIn(oauth, stack, user: "joe") }
            #expect(error.code == .invalidClient && !error.message.isEmpty)
        }
    }
}
#endif
