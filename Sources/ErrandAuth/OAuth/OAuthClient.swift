#if Auth
public import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// A client of an OAuth 2 server, which gets, refreshes and revokes tokens.
///
/// The client follows [RFC 6749](https://www.rfc-editor.org/rfc/rfc6749) with the rules of
/// [RFC 9700](https://www.rfc-editor.org/rfc/rfc9700).
///
/// ```swift
/// let oauth = OAuthClient(server, clientID: "my-app", via: HTTPStack.default)
/// let tokens = TokenSource(oauth, store: FileTokenStore(atPath: path))
///
/// // A person signs in, in a browser: authorization code with PKCE.
/// let authorization = try oauth.authorization(redirectURI: "http://127.0.0.1:8765/", scopes: ["read"])
/// let redirect = try await browse(authorization.url)          // yours: opens a browser, and returns the URL that it was sent to
/// try await tokens.signIn(oauth.token(for: authorization, redirect: redirect))
///
/// let api = APIClient(.default.authenticate(.bearer(tokens)).server("https://api.example"))
/// ```
///
/// A service without a person uses ``clientCredentials(scopes:parameters:)``, or ``jwtBearer(_:scopes:)`` with the key of the service. A
/// device without a browser uses ``deviceAuthorization(scopes:)``.
public struct OAuthClient: Sendable {
    /// The maximum size of a response body: 1 MiB.
    static let responseLimitBytes = 1 << 20

    /// The proof of the client's identity at the token endpoint.
    public enum Authentication: Sendable, CustomStringConvertible, HidesStorage {
        /// No proof (`none`), for a public client, such as an app.
        case none
        /// The client ID and a secret, each form-encoded, in `Authorization: Basic`
        /// ([RFC 6749, section 2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)): `client_secret_basic`.
        case basic(secret: String)
        /// The client ID and a secret, as members of the form in the request's body
        /// ([RFC 6749, section 2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)): `client_secret_post`.
        case post(secret: String)
        /// A signed assertion ([RFC 7523, section 2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)): `private_key_jwt`, or,
        /// with ``JWTSigner/hs256(secret:keyID:)``, `client_secret_jwt`. By default, the audience is the token endpoint. Some
        /// servers expect their issuer as the audience.
        case assertion(JWTSigner, audience: String? = nil)

        /// The name of the proof. The name contains no secrets.
        public var description: String {
            switch self {
            case .none: "none"
            case .basic: "basic"
            case .post: "post"
            case .assertion: "assertion"
            }
        }
    }

    /// The server.
    public let server: OAuthServer
    /// The identifier of the client.
    public let clientID: String
    private let authentication: Authentication
    private let sender: HTTPStack
    private let skew: ClockSkew
    private let now: @Sendable () -> Date
    private let randomBytes: @Sendable (Int) -> [UInt8]

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - server: the server.
    ///   - clientID: the identifier that the server has given to the client.
    ///   - authentication: the proof of the client's identity. `none`, the default, is for apps.
    ///   - sender: the sender that sends the requests to the server. The sender must not authenticate with the tokens of this client. The
    ///     sender may retry, and needs no base URL. Redirects are not followed, because the requests have secrets in their bodies.
    ///   - now: a closure that returns the current date.
    public init(
        _ server: OAuthServer, clientID: String, authentication: Authentication = .none, via sender: some HTTPSender,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            server, clientID: clientID, authentication: authentication, via: sender, now: now, randomBytes: randomOctets)
    }

    init(
        _ server: OAuthServer, clientID: String, authentication: Authentication, via sender: some HTTPSender,
        now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.server = server
        self.clientID = clientID
        self.authentication = authentication
        self.sender = HTTPStack(sender)
        (self.now, self.randomBytes) = (now, randomBytes)
        skew = ClockSkew()
    }

    /// The current date.
    var date: Date { now() }

    // MARK: A person in a browser

    /// Begins a sign-in in a browser, for an authorization code with PKCE ([RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)).
    /// The code challenge method is always S256.
    ///
    /// - Parameters:
    ///   - redirectURI: the URL to which the server redirects the browser at the end of the sign-in. The URL must be registered at
    ///     the server.
    ///   - scopes: the scopes that the token must have.
    ///   - parameters: further parameters for the authorization endpoint, such as `prompt`. These parameters can't replace
    ///     parameters of the client.
    /// - Returns: the URL to open, and the values that ``token(for:redirect:)`` needs. Use each authorization once.
    /// - Throws: ``OAuthError`` if the server has no secure authorization endpoint, if an argument is not valid, or if `parameters` has a
    ///   parameter of the client.
    public func authorization(
        redirectURI: String, scopes: [String] = [], parameters: URLQuery = URLQuery()
    ) throws -> OAuthAuthorization {
        guard let endpoint = server.authorizationEndpoint else {
            throw OAuthError(.unsupported, "the server has no authorization endpoint")
        }
        try OAuthServer.checkSecure(endpoint)
        guard redirectURI.wholeMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:[!-~]+/) != nil else {
            throw OAuthError(.invalidRequest, "the redirect URI '\(redirectURI.shownSafely(limit: 80))' is not an absolute URL")
        }
        let (state, verifier) = (Base64.encodeForURLs(randomBytes(32)), Base64.encodeForURLs(randomBytes(32)))
        var query: URLQuery = [
            "response_type": "code", "client_id": clientID, "redirect_uri": redirectURI, "state": state,
            "code_challenge": Base64.encodeForURLs(OctetHash.of(verifier.utf8, by: .sha256)), "code_challenge_method": "S256",
        ]
        if !scopes.isEmpty { query.append("scope", scopes.joined(separator: " ")) }
        for item in parameters.items {
            guard query[item.name] == nil else { throw OAuthError(.invalidRequest, "the client itself sets the parameter '\(item.name)'") }
            query.append(item.name, item.value)
        }
        let request = Request(.get, url: try HTTPURL(endpoint), query: query)
        return OAuthAuthorization(
            url: request.url?.description ?? endpoint, redirectURI: redirectURI, state: state, verifier: verifier, scopes: scopes)
    }

    /// Ends a sign-in in a browser: checks the redirect, and gets a token for the code.
    ///
    /// - Parameters:
    ///   - authorization: the result of ``authorization(redirectURI:scopes:parameters:)``.
    ///   - redirect: the URL to which the server has redirected the browser, with its query.
    /// - Throws: ``OAuthError`` if the `state` or the issuer is wrong, if the redirect or the response is invalid, or if the person or the
    ///   server refuses the sign-in; the errors of the sender.
    public func token(for authorization: OAuthAuthorization, redirect: String) async throws -> AccessToken {
        let code = try authorization.code(in: redirect, server: server)
        return try await token(
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", authorization.redirectURI),
                ("code_verifier", authorization.verifier),
            ], scopes: authorization.scopes)
    }

    // MARK: Without a person

    /// Gets a token for the client itself ([RFC 6749, section 4.4](https://www.rfc-editor.org/rfc/rfc6749#section-4.4)).
    ///
    /// - Parameters:
    ///   - scopes: the scopes that the token must have.
    ///   - parameters: further parameters, such as `audience` or `resource`.
    /// - Throws: ``OAuthError``; the errors of the sender.
    public func clientCredentials(scopes: [String] = [], parameters: URLQuery = URLQuery()) async throws -> AccessToken {
        let pairs = [("grant_type", "client_credentials")] + Self.scope(scopes) + parameters.items.map { ($0.name, $0.value ?? "") }
        return try await token(pairs, scopes: scopes)
    }

    /// Gets a token in exchange for a signed assertion, for example the assertion of a service account
    /// ([RFC 7523, section 2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)).
    ///
    /// - Parameters:
    ///   - assertion: the assertion, which names the client and the account. If the assertion names no audience, the token endpoint becomes
    ///     the audience.
    ///   - scopes: the scopes that the token must have. Some servers expect the scopes in the assertion's claims.
    /// - Throws: ``OAuthError``; the errors of the signer and of the sender.
    public func jwtBearer(_ assertion: JWTAssertion, scopes: [String] = []) async throws -> AccessToken {
        try await withCorrectedClock(after: .invalidGrant) {
            let text = try await signed(assertion)
            return try await token(
                [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", text)] + Self.scope(scopes), scopes: scopes)
        }
    }

    // MARK: Refresh and revocation

    /// Gets a new token with the refresh token of an old token ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
    ///
    /// A server may replace the refresh token, and may revoke all tokens if the old refresh token is used again. Therefore, use a
    /// ``TokenSource``. If the response has no refresh token, or an empty refresh token, the new token has the old refresh token.
    ///
    /// - Throws: ``OAuthError``; the errors of the sender.
    public func refresh(_ old: AccessToken) async throws -> AccessToken {
        guard let refreshToken = old.refreshToken, !refreshToken.isEmpty else {
            throw OAuthError(.noRefreshToken, "the token can't be refreshed")
        }
        var new = try await token([("grant_type", "refresh_token"), ("refresh_token", refreshToken)], scopes: old.scopes)
        if new.refreshToken == nil { new.refreshToken = refreshToken }
        return new
    }

    /// Revokes the refresh token of `token` ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)). If `token` has no refresh token, revokes
    /// the access token.
    ///
    /// When a refresh token is revoked, most servers also revoke the access tokens that belong to this refresh token. At other servers, the
    /// access tokens stay valid until they expire.
    ///
    /// - Throws: ``OAuthError`` if the server has no secure revocation endpoint, or refuses the revocation; the errors of the sender.
    public func revoke(_ token: AccessToken) async throws {
        do {
            try await revokeAtServer(token)
        } catch var error as OAuthError {
            error.purpose = .signOut
            throw error
        }
    }

    private func revokeAtServer(_ token: AccessToken) async throws {
        guard let endpoint = server.revocationEndpoint else { throw OAuthError(.unsupported, "there is no revocation endpoint") }
        let refreshToken = token.refreshToken.flatMap { $0.isEmpty ? nil : $0 }
        let pairs = [
            ("token", refreshToken ?? token.value), ("token_type_hint", refreshToken == nil ? "access_token" : "refresh_token"),
        ]
        try await post(pairs, to: endpoint, needsBody: false) { try $0.check() }
    }

    // MARK: Requests

    static func scope(_ scopes: [String]) -> [(String, String)] { scopes.isEmpty ? [] : [("scope", scopes.joined(separator: " "))] }

    /// Posts a form with the client's identity, and reads the response.
    ///
    /// - Parameter needsBody: whether a truncated body is an error if the response has the status 2xx.
    /// - Throws: ``OAuthError`` if the endpoint is not secure; the errors of `read`, of the signer and of the sender.
    func post<Result>(
        _ pairs: [(String, String)], to endpoint: String, needsBody: Bool = true, _ read: (OAuthResponse) throws -> Result
    ) async throws -> Result {
        try OAuthServer.checkSecure(endpoint)
        func result() async throws -> Result {
            let response = try await send(pairs, to: endpoint, needsBody: needsBody)
            do {
                return try read(response)
            } catch var error as OAuthError {
                error.request = response.request
                throw error
            }
        }
        guard case .assertion = authentication else { return try await result() }
        return try await withCorrectedClock(after: .invalidClient, result)
    }

    private func send(_ pairs: [(String, String)], to endpoint: String, needsBody: Bool) async throws -> OAuthResponse {
        var pairs = pairs
        var headers: HTTPFields = [.contentType: FormURLEncoded.mediaType, .accept: "application/json", .cacheControl: "no-store"]
        var secrets: [String] = []
        switch authentication {
        case .none: pairs.append(("client_id", clientID))
        case .basic(let secret):
            let value = FormURLEncoded.encode(clientID) + ":" + FormURLEncoded.encode(secret)
            let credentials = Data(value.utf8).base64EncodedString()
            headers[.authorization] = "Basic " + credentials
            secrets = [secret, credentials, Data("\(clientID):\(secret)".utf8).base64EncodedString()]
        case .post(let secret): pairs += [("client_id", clientID), ("client_secret", secret)]
        case .assertion(let signer, let audience):
            let assertion = JWTAssertion(issuer: clientID, subject: clientID, audience: audience, signer: signer)
            pairs += [
                ("client_id", clientID), ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", try await signed(assertion)),
            ]
        }
        secrets += pairs.filter { Self.secretNames.contains($0.0) }.map(\.1)
        let body = FormURLEncoded.encode(pairs.map { (name: $0.0, value: $0.1) })
        var request = try Request(.post, url: endpoint, headers: headers, body: .text(body))
        request.options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: Self.secretNames.sorted()))
        request.options.forbidsRedirects = true
        return try await response(to: request, needsBody: needsBody, sent: EchoedSecrets(secrets))
    }

    private func response(to request: Request, needsBody: Bool, sent: EchoedSecrets) async throws -> OAuthResponse {
        let response: Response
        do {
            response = try await sender.send(request)
        } catch let error as StatusError {
            // A layer of the sender has thrown an error for the status. The body still decides the result.
            skew.record(error.head, at: now())
            return OAuthResponse(error, sent: sent, to: "\(request)")
        }
        skew.record(response.head, at: now())
        guard response.status.kind == .successful else {
            return OAuthResponse(try await StatusError(reading: response), sent: sent, to: "\(request)")
        }
        do {
            let body = try await response.body.collect(upTo: Self.responseLimitBytes)
            return OAuthResponse(response.status, body: body, sent: sent, to: "\(request)")
        } catch  where !needsBody && !(error is CancellationError) {
            return OAuthResponse(response.status, body: Data(), sent: sent, to: "\(request)")
        }
    }

    private func signed(_ assertion: JWTAssertion) async throws -> String {
        try await assertion.signed(audience: server.tokenEndpoint, id: Base64.encodeForURLs(randomBytes(16)), at: now() + skew.seconds)
    }

    /// The names of secret parameters in requests and in responses.
    private static let secretNames: Set = [
        "access_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier", "device_code", "id_token",
        "refresh_token",
        "token", "user_code", "verification_uri_complete",
    ]

    /// - Parameter scopes: the requested scopes. If the response names no scopes, the token has the requested scopes.
    func token(_ pairs: [(String, String)], scopes: [String]) async throws -> AccessToken {
        try await post(pairs, to: server.tokenEndpoint) { response in
            let read = try response.value(TokenResponse.self, orElse: "the response has no token")
            let type = read.tokenType?.trimmingOptionalWhitespace() ?? ""
            guard type.isEmpty || type.isExactlyIgnoringCase("bearer") else {
                throw OAuthError(.unsupported, "the token is not of the type Bearer")
            }
            let now = now()
            return AccessToken(
                read.accessToken, expiresAt: read.expiresIn.map { now + $0.seconds }, refreshToken: read.refreshToken,
                scopes: read.scope.map { Self.scopes(in: $0, askedFor: scopes) } ?? scopes, idToken: read.idToken, obtainedAt: now)
        }
    }

    /// Returns the scopes that a response names. Scopes are separated by spaces
    /// ([RFC 6749, section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)). GitHub separates scopes by commas. The RFC allows a
    /// comma within a scope. Therefore, commas separate scopes only if a part is a requested scope, and no requested scope has a comma.
    private static func scopes(in text: String, askedFor scopes: [String]) -> [String] {
        let comma = UInt8(ascii: ",")
        let parts = text.split(atOctet: UInt8(ascii: " ")).map(String.init)
        guard parts.count == 1, !scopes.contains(where: { $0.utf8.contains(comma) }) else { return parts }
        let divided = text.split(atOctet: comma).map(String.init)
        return divided.contains { part in scopes.contains { $0.isExactly(part) } } ? divided : parts
    }

    /// Runs work that sends an assertion. If the server refuses the assertion, and the response changes the measured clock difference by at
    /// least 30 s, runs the work once more.
    private func withCorrectedClock<Result>(after refusal: OAuthError.Code, _ work: () async throws -> Result) async throws -> Result {
        let before = skew.seconds
        do {
            return try await work()
        } catch let error as OAuthError where error.code == refusal {
            guard abs(skew.seconds - before) >= 30 else { throw error }
            return try await work()
        }
    }
}

extension OAuthClient: CustomStringConvertible, HidesStorage {
    /// `OAuth client my-app`.
    public var description: String { "OAuth client \(clientID.shownSafely(limit: 80))" }
}
#endif
