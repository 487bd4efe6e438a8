#if SWIFT_NIO && Auth
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing
internal import _CryptoExtras

/// Authlib's OAuth 2: what the client sends is checked by an implementation of the standards that others wrote.
@Suite(.enabled(if: RealServer.oauth.isHere, Comment(rawValue: RealServer.oauth.missing)), .timeLimit(.minutes(5)))
struct OAuthServerTests {
    private let redirect = "http://127.0.0.1:8765/"

    private func withClient(
        _ id: String = "public", _ authentication: OAuthClient.Authentication = .none,
        _ body: (OAuthClient, NIOTransport, _ base: String) async throws -> Void
    ) async throws {
        let base = try RealServer.oauth.url()
        try await withTransport(NIOTransport()) { transport in
            let server = try await OAuthServer.discover(issuer: base, via: transport)
            try await body(OAuthClient(server, clientID: id, authentication: authentication, via: transport), transport, base)
        }
    }

    /// Where the server sends the browser of joe.
    private func browse(_ url: String, _ transport: NIOTransport) async throws -> String {
        let response = try await transport.send(Request(.get, url: url))
        response.body.abandon()
        return try #require(response.headers[.location], "\(response.status)")
    }

    private func post(_ url: String, _ form: [String: String], _ transport: NIOTransport) async throws {
        let headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let response = try await transport.send(Request(.post, url: url, headers: headers, body: .text(FormURLEncoded.encode(form))))
        response.body.abandon()
        #expect(response.status == .ok)
    }

    private func isAccepted(_ token: AccessToken, _ transport: NIOTransport, _ base: String) async throws -> Bool {
        let response = try await transport.authenticate(.bearer(token.value)).send(Request(.get, url: "\(base)/me"))
        response.body.abandon()
        return response.status == .ok
    }

    static let clients: [(id: String, authentication: OAuthClient.Authentication)] = [
        ("public", .none), ("basic", .basic(secret: "s3cret")), ("post", .post(secret: "s3cret")),
    ]

    @Test(arguments: clients.indices) func aCodeIsBoundToItsVerifier(index: Int) async throws {
        let (id, authentication) = Self.clients[index]
        try await withClient(id, authentication) { client, transport, base in
            let authorization = try client.authorization(redirectURI: redirect, scopes: ["read", "write"])
            let token = try await client.token(for: authorization, redirect: browse(authorization.url, transport))
            #expect(token.scopes == ["read", "write"] && token.refreshToken != nil)
            #expect(try await isAccepted(token, transport, base))

            // A code that was stolen from another sign-in: its state fits, and its verifier does not.
            let (own, stolen) = (
                try client.authorization(redirectURI: redirect),
                try await browse(client.authorization(redirectURI: redirect).url, transport)
            )
            let code = try #require(Request(.get, url: stolen).query["code"])
            let state = try #require(Request(.get, url: own.url).query["state"])
            let error = await #expect(throws: OAuthError.self) {
                try await client.token(for: own, redirect: "\(redirect)?code=\(code)&state=\(state)")
            }
            #expect(error?.code == .invalidGrant, "\(String(describing: error))")
        }
    }

    @Test func aWrongSecretIsRefused() async throws {
        try await withClient("basic", .basic(secret: "wrong")) { client, _, _ in
            let error = await #expect(throws: OAuthError.self) { try await client.clientCredentials() }
            #expect(error?.code == .invalidClient && !"\(String(describing: error))".contains("wrong"))
        }
        try await withClient("basic", .basic(secret: "s3cret")) { client, transport, base in
            let token = try await client.clientCredentials(scopes: ["read"])
            #expect(try await isAccepted(token, transport, base))
        }
    }

    @Test func aRefreshTokenIsUsableOnce() async throws {
        try await withClient { client, transport, base in
            let authorization = try client.authorization(redirectURI: redirect, scopes: ["read"])
            let first = try await client.token(for: authorization, redirect: browse(authorization.url, transport))
            let second = try await client.refresh(first)
            #expect(second.refreshToken != first.refreshToken && second.scopes == ["read"])
            #expect(try await isAccepted(second, transport, base))
            #expect(try await isAccepted(first, transport, base) == false)
            let error = await #expect(throws: OAuthError.self) { try await client.refresh(first) }
            #expect(error?.code == .invalidGrant)
        }
    }

    @Test func aTokenThatWasRevokedIsRefused() async throws {
        try await withClient { client, transport, base in
            let authorization = try client.authorization(redirectURI: redirect)
            let source = TokenSource(client, store: MemoryTokenStore())
            try await source.signIn(client.token(for: authorization, redirect: browse(authorization.url, transport)))
            let token = try #require(try await source.signOut())
            #expect(try await isAccepted(token, transport, base))
            try await client.revoke(token)
            #expect(try await isAccepted(token, transport, base) == false)
            await #expect(throws: OAuthError.self) { try await client.refresh(token) }
        }
    }

    /// The second request is told to slow down, and the person enters the code after the third.
    @Test func aDeviceWaitsForThePerson() async throws {
        let clock = ManualClock()
        try await withClient { client, transport, base in
            let authorization = try await client.deviceAuthorization(scopes: ["read"])
            #expect(authorization.verificationURI == "\(base)/device")
            let start = clock.now
            async let token = client.token(for: authorization, clock: clock)
            for seconds in [5, 5, 10, 10] {
                try await clock.sleepers(atLeast: 1)
                if start.duration(to: clock.now) == .seconds(20) {
                    try await post("\(base)/approve", ["user_code": authorization.userCode], transport)
                }
                clock.advance(by: .seconds(seconds))
            }
            let signedIn = try await token
            #expect(try await isAccepted(signedIn, transport, base))
            #expect(start.duration(to: clock.now) == .seconds(30))
        }
    }

    @Test func aServiceAccountSignsByRSA() async throws {
        let (key, other) = (try _RSA.Signing.PrivateKey(keySize: .bits2048), try _RSA.Signing.PrivateKey(keySize: .bits2048))
        func signer(_ key: _RSA.Signing.PrivateKey) -> JWTSigner {
            JWTSigner(algorithm: "RS256") { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
        }
        try await withClient { client, transport, base in
            try await post("\(base)/key", ["issuer": "service@example", "pem": key.publicKey.pemRepresentation], transport)
            let token = try await client.jwtBearer(
                JWTAssertion(issuer: "service@example", subject: "joe", signer: signer(key)), scopes: ["read"])
            #expect(try await isAccepted(token, transport, base))
            for assertion in [
                JWTAssertion(issuer: "service@example", signer: signer(other)),
                JWTAssertion(issuer: "service@example", audience: "https://other.example", signer: signer(key)),
                JWTAssertion(issuer: "nobody@example", signer: signer(key)),
            ] {
                let error = await #expect(throws: OAuthError.self) { try await client.jwtBearer(assertion) }
                #expect(error?.code == .invalidGrant, "\(String(describing: error))")
            }
        }
    }
}
#endif
