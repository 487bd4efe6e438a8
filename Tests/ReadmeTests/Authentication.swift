#if Auth
import Errand
import Foundation
import _CryptoExtras

// The samples of the article "Authentication", unchanged: `ReadmeTests` compares each sample with this file.

func makeClient(password: String) throws -> APIClient {
    let stack = HTTPStack.default
        .authenticate(.basic(user: "joe", password: password))
        .retry()
        .server("https://api.example/v1")
    return APIClient(stack)
}

nonisolated struct Tokens: Codable, Sendable {
    var access: String
    var refresh: String
    var lifetime: Double
}

func makeSource(_ auth: APIClient, store: some TokenStore) -> TokenSource {
    TokenSource(store: store) { old in
        guard let refreshToken = old.refreshToken else { throw OAuthError(.noRefreshToken) }
        let tokens: Tokens = try await auth.value(.post("/refresh", body: .json(["token": refreshToken])))
        return AccessToken(tokens.access, expiresAt: Date() + tokens.lifetime, refreshToken: tokens.refresh)
    }
}

func followAccount(_ source: TokenSource, show: (String) -> Void) async {
    for await change in source.changes {
        switch change {
        case .signedIn: show("You are signed in.")
        case .refreshed: break
        case .signedOut(because: nil): show("You are signed out.")
        case .signedOut: show("Sign in again to go on.")
        }
    }
}

func endSession(_ source: TokenSource, _ oauth: OAuthClient) async throws {
    // From here on, the app is signed out, whatever the server says.
    guard let token = try await source.signOut(), oauth.server.revocationEndpoint != nil else { return }
    try await oauth.revoke(token)
}

func signIn(_ source: TokenSource, _ oauth: OAuthClient, browse: (String) async throws -> String) async throws {
    let authorization = try oauth.authorization(redirectURI: "http://127.0.0.1:8765/", scopes: ["read"])
    let redirect = try await browse(authorization.url)  // opens a browser, and returns the URL that it was sent to
    try await source.signIn(oauth.token(for: authorization, redirect: redirect))
}

func makeOAuth() async throws -> (OAuthClient, TokenSource) {
    let server = try await OAuthServer.discover(issuer: "https://auth.example", via: HTTPStack.default)
    let oauth = OAuthClient(server, clientID: "my-app", via: HTTPStack.default.retry())
    return (oauth, TokenSource(oauth, store: FileTokenStore(atPath: "token.json")))
}

func makeService(_ oauth: OAuthClient) -> TokenSource {
    TokenSource(clientCredentials: oauth, scopes: ["orders"])
}

func signInOnTelevision(_ source: TokenSource, _ oauth: OAuthClient, show: (String) -> Void) async throws {
    let device = try await oauth.deviceAuthorization(scopes: ["read"])
    show("Open \(device.verificationURI) and type \(device.userCode)")
    try await source.signIn(oauth.token(for: device))
}

func makeServiceAccount(_ oauth: OAuthClient, email: String, pem: String) throws -> TokenSource {
    let key = try _RSA.Signing.PrivateKey(pemRepresentation: pem)  // of swift-crypto's module _CryptoExtras
    let signer = JWTSigner(algorithm: "RS256") { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
    let assertion = JWTAssertion(issuer: email, claims: ["scope": "read"], signer: signer)
    return TokenSource.obtaining { _ in try await oauth.jwtBearer(assertion) }
}

func sendWithOtherCredentials(_ request: Request, _ stack: HTTPStack, ask: @escaping @Sendable (String) async -> String?) async throws
    -> Response
{
    var request = request
    request.options.onChallenge = { challenge in
        guard let password = await ask(challenge.challenges.first?.realm ?? "") else { return .returnResponse }
        return .use(.basic(user: "joe", password: password))
    }
    return try await stack.send(request)
}

func makeBucket(_ credentials: AWSCredentials) -> HTTPStack {
    HTTPStack.bare
        .sign(with: .awsV4(credentials, region: "eu-central-1", service: "s3"))
        .decompress()
        .redirect()
        .retry()
        .server("https://bucket.s3.eu-central-1.amazonaws.com")
}
#endif
