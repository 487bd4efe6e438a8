#if Auth
import Crypto
import Errand
import ErrandFormats
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing
import _CryptoExtras

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct OAuthClientTests {
    private static let server = OAuthServer(
        issuer: "https://auth.example", tokenEndpoint: "https://auth.example/token",
        authorizationEndpoint: "https://auth.example/authorize?a=1",
        deviceAuthorizationEndpoint: "https://auth.example/device", revocationEndpoint: "https://auth.example/revoke")

    private func client(
        _ stub: StubTransport, _ server: OAuthServer = server, id: String = "app", authentication: OAuthClient.Authentication = .none,
        now: @escaping @Sendable () -> Date = { Date(timeIntervalSince1970: 1_000_000) }
    ) -> OAuthClient {
        OAuthClient(
            server, clientID: id, authentication: authentication, via: stub, now: now, randomBytes: { Array(repeating: 7, count: $0) })
    }

    private func token(_ json: JSONValue = ["access_token": "at", "token_type": "Bearer", "expires_in": 3600]) -> StubResponse {
        .json(json)
    }

    private func form(_ recorded: RecordedRequest) -> [String: String] {
        Dictionary(uniqueKeysWithValues: recorded.formItems.map { ($0.name, $0.value ?? "") })
    }

    // MARK: Authorization code

    /// The example of [RFC 7636, appendix B](https://www.rfc-editor.org/rfc/rfc7636#appendix-B).
    @Test func theCodeChallengeMatchesTheStandard() throws {
        let bytes: [UInt8] = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240, 91, 88, 5, 88,
            83,
            132, 141, 121,
        ]
        let client = OAuthClient(
            Self.server, clientID: "app", authentication: .none, via: StubTransport(), now: { Date() }, randomBytes: { _ in bytes })
        let authorization = try client.authorization(redirectURI: "app://x", scopes: ["a", "b c"], parameters: ["prompt": "login"])
        #expect(authorization.verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        let url = try HTTPURL(authorization.url)
        let query = URLQuery(percentEncoded: url.query ?? "")
        #expect(query["code_challenge"] == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" && query["code_challenge_method"] == "S256")
        #expect(query["a"] == "1" && query["scope"] == "a b c" && query["prompt"] == "login" && query["redirect_uri"] == "app://x")
        #expect(query["response_type"] == "code" && query["client_id"] == "app" && query["state"]?.utf8.count == 43)
    }

    @Test(arguments: ["?", "#", "?\u{301}", "#\u{301}"]) func aRefusedEndpointIsShownWithoutItsQuery(mark: String) {
        let error = #expect(throws: OAuthError.self) { try OAuthServer.checkSecure("http://a.example/token\(mark)key=hidden") }
        #expect(error?.description.contains("http://a.example/token") == true && error?.description.contains("hidden") == false)
    }

    @Test func aCodeIsExchangedForAToken() async throws {
        let stub = StubTransport(
            Stub(.post, "/token").responds(
                token([
                    "access_token": "at", "token_type": "bearer", "expires_in": "60", "refresh_token": "rt", "scope": "a b",
                    "id_token": "id",
                ])))
        let client = client(stub)
        let authorization = try client.authorization(redirectURI: "http://127.0.0.1:1/cb")
        let token = try await client.token(
            for: authorization, redirect: "http://127.0.0.1:1/cb?code=c%2B1&state=\(authorization.state)&iss=https%3A%2F%2Fauth.example")
        #expect(
            token
                == AccessToken(
                    "at", expiresAt: Date(timeIntervalSince1970: 1_000_060), refreshToken: "rt", scopes: ["a", "b"], idToken: "id",
                    obtainedAt: Date(timeIntervalSince1970: 1_000_000)))
        #expect(
            form(stub.requests[0]) == [
                "grant_type": "authorization_code", "code": "c+1", "redirect_uri": "http://127.0.0.1:1/cb",
                "code_verifier": authorization.verifier, "client_id": "app",
            ])
    }

    @Test(arguments: [
        ("code=c&state=other", OAuthError.Code.stateMismatch), ("code=c", .stateMismatch), ("", .stateMismatch),
        ("error=access_denied&error_description=no%0Away&state=S", .accessDenied), ("state=S", .invalidResponse),
        ("code=&state=S", .invalidResponse),
        ("code=c&state=S&iss=https://evil.example", .issuerMismatch), ("code=c&state=S&state=S", .stateMismatch),
        ("code=c&state=S&code=d", .invalidResponse), ("state=S&code=c&iss=https://auth.example&iss=https://evil.example", .invalidResponse),
    ]) func aRedirectThatCannotBeUsedIsRefused(query: String, code: OAuthError.Code) async throws {
        let client = client(StubTransport())
        let authorization = try client.authorization(redirectURI: "app://x")
        let error = await #expect(throws: OAuthError.self) {
            try await client.token(
                for: authorization, redirect: "app://x?" + query.replacing("state=S", with: "state=\(authorization.state)"))
        }
        #expect(error?.code == code && !"\(error!)".contains("\n") && !"\(error!)".contains("app://"))
    }

    @Test func aRedirectIsAForm() async throws {
        let client = client(StubTransport())
        let authorization = try client.authorization(redirectURI: "app://x")
        let refused = "app://x?error=access_denied&error_description=The+user+said+no&state=\(authorization.state)"
        let error = await #expect(throws: OAuthError.self) { try await client.token(for: authorization, redirect: refused) }
        #expect(error?.message == "The user said no")
        #expect(authorization.matches(redirect: refused) && !authorization.matches(redirect: "app://x?state=other"))
    }

    @Test(arguments: ["state", "redirect_uri", "code_challenge", "client_id", "scope"]) func extraParametersReplaceNoStandardParameter(
        name: String
    ) {
        let error = #expect(throws: OAuthError.self) {
            try client(StubTransport()).authorization(redirectURI: "app://x", scopes: ["a"], parameters: [name: "x"])
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func aRedirectWithoutTheAnnouncedIssuerIsRefused() async throws {
        var server = Self.server
        server.namesIssuer = true
        let client = client(StubTransport(), server)
        let authorization = try client.authorization(redirectURI: "app://x")
        let error = await #expect(throws: OAuthError.self) {
            try await client.token(for: authorization, redirect: "app://x?code=c&state=\(authorization.state)")
        }
        #expect(error?.code == .issuerMismatch)
        let named = "app://x?code=c&state=\(authorization.state)&iss=https://auth.example"
        let stub = StubTransport(Stub().responds(token()))
        #expect(try await self.client(stub, server).token(for: authorization, redirect: named).value == "at")
    }

    // MARK: Clients

    @Test func aClientAuthenticatesItself() async throws {
        let stub = StubTransport(Stub().responds(token()))
        _ = try await client(stub, id: "a:p p", authentication: .basic(secret: "s%c&t")).clientCredentials(scopes: ["x"])
        #expect(stub.requests[0].headers[.authorization] == "Basic " + Data("a%3Ap+p:s%25c%26t".utf8).base64EncodedString())
        #expect(form(stub.requests[0]) == ["grant_type": "client_credentials", "scope": "x"])
        _ = try await client(stub, authentication: .post(secret: "s&t")).clientCredentials(parameters: ["audience": "api"])
        #expect(
            form(stub.requests[1]) == ["grant_type": "client_credentials", "audience": "api", "client_id": "app", "client_secret": "s&t"])
        #expect(stub.requests[1].headers[.authorization] == nil)
    }

    @Test func anAssertionIsSignedForTheTokenEndpoint() async throws {
        let stub = StubTransport(Stub().responds(token()))
        let key = P256.Signing.PrivateKey()
        let signer = try JWTSigner.es256(pem: key.pemRepresentation, keyID: "k1")
        _ = try await client(stub).jwtBearer(
            JWTAssertion(issuer: "service@example", subject: "joe", claims: ["scope": "read", "iss": "evil"], signer: signer))
        let sent = form(stub.requests[0])
        #expect(sent["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        let parts = try #require(sent["assertion"]).split(separator: ".").map(String.init)
        func decoded(_ text: String) throws -> Data {
            let plain = text.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)))
        }
        #expect(try JSONDecoder().decode(JSONValue.self, from: decoded(parts[0])) == ["alg": "ES256", "typ": "JWT", "kid": "k1"])
        let body = try JSONDecoder().decode(JSONValue.self, from: decoded(parts[1]))
        #expect(
            body["iss"] == "service@example" && body["sub"] == "joe" && body["aud"] == "https://auth.example/token"
                && body["scope"] == "read")
        #expect(body["iat"] == 1_000_000 && body["exp"] == 1_000_300 && body["jti"].stringValue?.isEmpty == false)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded(parts[2]))
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    /// A key of RSA, by the function of the article.
    @Test func anAssertionIsSignedByAKeyOfRSA() async throws {
        let stub = StubTransport(Stub().responds(token()))
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let signer = JWTSigner(algorithm: "RS256") { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
        _ = try await client(stub).jwtBearer(JWTAssertion(issuer: "service@example", signer: signer))
        let parts = try #require(form(stub.requests[0])["assertion"]).split(separator: ".").map(String.init)
        let plain = parts[2].replacing("-", with: "+").replacing("_", with: "/")
        let octets = try #require(Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)))
        let signature = _RSA.Signing.RSASignature(rawRepresentation: octets)
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    /// This machine's clock is ten minutes behind.
    @Test func anAssertionIsSignedAgainByTheClockOfTheServer() async throws {
        let date = HTTPDate(secondsSinceEpoch: 1_000_600).description
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    var head = HTTPResponse(status: .badRequest)
                    head.headerFields[.date] = date
                    // A proxy may add the field a second time.
                    head.headerFields.append(HTTPField(name: .date, value: date))
                    return (head, Data(#"{"error":"invalid_grant","error_description":"exp is in the past"}"#.utf8))
                }, token()))
        let assertion = JWTAssertion(issuer: "s", signer: .hs256(secret: "k"))
        #expect(try await client(stub).jwtBearer(assertion).value == "at")
        let issued = try stub.requests.map { try Self.claims(form($0)["assertion"])["iat"] }
        #expect(issued == [1_000_000, 1_000_600])
    }

    /// A refused assertion is not signed again for a clock that is right.
    @Test(arguments: [(0, 1), (1, 1), (29, 1), (30, 2), (-29, 1), (-30, 2)])
    func anAssertionIsSignedAgainAfterThirtySeconds(seconds: Int64, requests: Int) async throws {
        let date = HTTPDate(secondsSinceEpoch: 1_000_000 + seconds).description
        for (code, status) in [("invalid_grant", HTTPResponse.Status.badRequest), ("invalid_client", .unauthorized)] {
            let stub = StubTransport(
                Stub().responds(
                    .custom { _ in (HTTPResponse(status: status, headerFields: [.date: date]), Data(#"{"error":"\#(code)"}"#.utf8)) }))
            let error = await #expect(throws: OAuthError.self) {
                if code == "invalid_grant" {
                    _ = try await client(stub).jwtBearer(JWTAssertion(issuer: "s", signer: .hs256(secret: "k")))
                } else {
                    _ = try await client(stub, authentication: .assertion(.hs256(secret: "k"))).clientCredentials()
                }
            }
            #expect(error?.code == .init(code) && stub.requests.count == requests)
        }
    }

    /// The claims of a JSON web token.
    private static func claims(_ token: String?) throws -> JSONValue {
        let parts = try #require(token).split(separator: ".").map(String.init)
        let plain = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        let data = try #require(Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)))
        return try JSONDecoder().decode(JSONValue.self, from: data)
    }

    @Test func aClientCanAuthenticateByAnAssertion() async throws {
        let stub = StubTransport(Stub().responds(token()))
        let signer = JWTSigner.hs256(secret: "k", keyID: "1")
        _ = try await client(stub, authentication: .assertion(signer)).refresh(AccessToken("old", refreshToken: "rt"))
        _ = try await client(stub, authentication: .assertion(signer, audience: "https://auth.example")).clientCredentials()
        let first = form(stub.requests[0])
        #expect(first["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" && first["client_id"] == "app")
        let claims = try Self.claims(first["client_assertion"])
        #expect(claims["iss"] == "app" && claims["sub"] == "app" && claims["aud"] == "https://auth.example/token")
        #expect(try Self.claims(form(stub.requests[1])["client_assertion"])["aud"] == "https://auth.example")
    }

    /// This machine's clock is ten minutes behind.
    @Test func theAssertionOfAClientIsSignedAgainByTheClockOfTheServer() async throws {
        let date = HTTPDate(secondsSinceEpoch: 1_000_600).description
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    var head = HTTPResponse(status: .unauthorized)
                    head.headerFields[.date] = date
                    return (head, Data(#"{"error":"invalid_client"}"#.utf8))
                }, token()))
        #expect(try await client(stub, authentication: .assertion(.hs256(secret: "k"))).clientCredentials().value == "at")
        let issued = try stub.requests.map { try Self.claims(form($0)["client_assertion"])["iat"] }
        #expect(issued == [1_000_000, 1_000_600])
    }

    /// The key and the token of [RFC 7515, appendix A.1](https://www.rfc-editor.org/rfc/rfc7515#appendix-A.1).
    @Test func anAssertionIsSignedWithASecretAsInTheStandard() async throws {
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
            .replacing("-", with: "+").replacing("_", with: "/")
        let secret = try #require(Data(base64Encoded: key + "=="))
        let input =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature = try await JWTSigner.hs256(secret: secret).sign(Data(input.utf8))
        #expect(Base64.encodeForURLs(signature) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }

    @Test(arguments: [(-5, 1), (0, 1), (90, 90), (86_400, 3_600)]) func theLifeOfAnAssertionIsBounded(seconds: Int, expected: Int)
        async throws
    {
        let assertion = JWTAssertion(issuer: "s", lifetime: .seconds(seconds), signer: .hs256(secret: "k"))
        let claims = try Self.claims(try await assertion.signed(audience: "a", id: "1", at: Date(timeIntervalSince1970: 100)))
        #expect(claims["exp"] == .number(JSONNumber(100 + expected)))
    }

    // MARK: Refresh

    @Test func aRefreshKeepsMembersMissingInTheResponse() async throws {
        let stub = StubTransport(Stub().responds(token()))
        let new = try await client(stub).refresh(AccessToken("old", refreshToken: "r+t", scopes: ["a"]))
        #expect(new.value == "at" && new.refreshToken == "r+t" && new.scopes == ["a"])
        #expect(form(stub.requests[0]) == ["grant_type": "refresh_token", "refresh_token": "r+t", "client_id": "app"])
        let error = await #expect(throws: OAuthError.self) { try await client(stub).refresh(AccessToken("old")) }
        #expect(error?.code == .noRefreshToken)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant","error_description":"revoked\u0000"}"#, OAuthError.Code.invalidGrant),
        (401, #"{"error":"invalid_client"}"#, .invalidClient),
        (400, #"{"error":"custom_error","error_uri":"https://x"}"#, .init("custom_error")),
        (200, "{}", .invalidResponse), (200, "<html>", .invalidResponse), (200, #"{"access_token":"a","token_type":"mac"}"#, .unsupported),
    ]) func errorsOfTheServerAreTyped(status: Int, body: String, code: OAuthError.Code) async throws {
        let stub = StubTransport(Stub().responds(.data(Data(body.utf8), status: .init(code: status))))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).clientCredentials() }
        #expect(error?.code == code && error?.description.utf8.contains(0) == false)
        #expect(error?.isFinal == (code == .invalidGrant))
    }

    /// As GitHub says it. The endpoint is one with a secret in its URL.
    @Test func aRefusalNamesItsRequest() async throws {
        let refusal = #"{"error":"bad_refresh_token","error_description":"The refresh token is incorrect or expired."}"#
        let stub = StubTransport(Stub().responds(.data(Data(refusal.utf8)), .data(Data("{}".utf8))))
        let server = OAuthServer(issuer: "https://auth.example", tokenEndpoint: "https://auth.example/token?client_secret=S1")
        let tokens = TokenSource(client(stub, server))
        try await tokens.signIn(AccessToken("at1", expiresAt: .distantPast, refreshToken: "rt1"))
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        let text =
            "POST https://auth.example/token?client_secret=REDACTED: OAuth 2: bad_refresh_token: "
            + "The refresh token is incorrect or expired."
        #expect((error?.underlying as? OAuthError)?.description == text && error?.description.contains(text) == true, "\(error!)")
        let other = await #expect(throws: OAuthError.self) { try await client(stub, server).clientCredentials() }
        #expect(other?.request == "POST https://auth.example/token?client_secret=REDACTED" && other?.code == .invalidResponse)
        #expect(OAuthError(.stateMismatch).request == nil)
    }

    /// GitHub separates scopes by commas. The RFC allows a comma within a scope.
    @Test(arguments: [
        ("repo,gist", ["repo", "gist"], ["repo", "gist"]), ("gist", ["repo", "gist"], ["gist"]), ("user,gist", ["user"], ["user", "gist"]),
        ("a b", ["a", "b"], ["a", "b"]), ("a,b c", ["a", "c"], ["a,b", "c"]), ("a,b", ["c"], ["a,b"]), ("a,b", ["a,b"], ["a,b"]),
        ("a,b", ["a", "x,y"], ["a,b"]), ("a,b", [], ["a,b"]),
    ])
    func scopesAreSeparatedAsTheServerDoes(sent: String, askedFor: [String], scopes: [String]) async throws {
        let stub = StubTransport(Stub().responds(token(["access_token": "at", "scope": .string(sent)])))
        #expect(try await client(stub).clientCredentials(scopes: askedFor).scopes == scopes)
    }

    @Test func aBrokenServerIsAStatusError() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, text: #"{"error":"invalid_grant"}"#)))
        await #expect(throws: StatusError.self) { try await client(stub).clientCredentials() }
    }

    /// An invalid lifetime says nothing about the expiry of the token.
    static let lifetimes: [(String, Double?)] = [
        ("-5", nil), ("0", nil), ("1e300", 3_153_600_000), (#""60""#, 60), ("1.5", 1.5), (#""x""#, nil), ("{}", nil), ("null", nil),
    ]

    @Test(arguments: lifetimes)
    func lifetimesAreBounded(text: String, seconds: Double?) async throws {
        let stub = StubTransport(
            Stub().responds(.data(Data(#"{"access_token":"a","expires_in":\#(text),"scope":["x"],"refresh_token":"r"}"#.utf8))))
        let token = try await client(stub).clientCredentials(scopes: ["asked"])
        #expect(token.expiresAt == seconds.map { Date(timeIntervalSince1970: 1_000_000 + $0) })
        #expect(token.refreshToken == "r" && token.scopes == ["asked"])
    }

    // MARK: Redirects

    /// The body of a token request is sent only to the configured server.
    @Test(arguments: [302, 307, 308]) func aRequestForATokenIsNotRedirected(status: Int) async throws {
        let stub = StubTransport(
            Stub().responds(.status(.init(code: status), headers: [.location: "https://evil.example/"])))
        let client = OAuthClient(Self.server, clientID: "app", authentication: .post(secret: "s"), via: stub.redirect())
        await #expect(throws: StatusError.self) { try await client.refresh(AccessToken("old", refreshToken: "rt")) }
        await #expect(throws: StatusError.self) { try await client.revoke(AccessToken("old", refreshToken: "rt")) }
        await #expect(throws: StatusError.self) { try await client.deviceAuthorization() }
        #expect(stub.requests.map(\.request.url?.host.description) == ["auth.example", "auth.example", "auth.example"])
        await #expect(throws: OAuthError.self) { try await OAuthServer.discover(issuer: "https://auth.example", via: stub.redirect()) }
        #expect(stub.requests.allSatisfy { $0.request.url?.host.description == "auth.example" })
    }

    /// An app in one page responds to any path with itself.
    @Test func thePlaceOfOpenIDConnectIsAskedAfterAPage() async throws {
        let metadata: JSONValue = ["issuer": "https://auth.example", "token_endpoint": "https://auth.example/token"]
        let page = StubResponse.data(Data("<html>".utf8))
        let stub = StubTransport(Stub().responds(page, .json(metadata), page, page))
        let server = try await OAuthServer.discover(issuer: "https://auth.example", via: stub)
        #expect(server.tokenEndpoint == "https://auth.example/token")
        let error = await #expect(throws: OAuthError.self) { try await OAuthServer.discover(issuer: "https://auth.example", via: stub) }
        #expect(error?.code == .invalidResponse && stub.requests.count == 4)
    }

    /// The response comes from a gateway, or from a network whose users must sign in.
    @Test func aRefusalWithoutAnErrorOfOAuthDoesNotSignOut() async throws {
        let stub = StubTransport(Stub().responds(.status(.unauthorized, text: "<html>")))
        let tokens = TokenSource(client(stub))
        try await tokens.signIn(AccessToken("at1", expiresAt: .distantPast, refreshToken: "rt1"))
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        #expect(error?.code == .refreshFailed && (error?.underlying as? OAuthError)?.code == .invalidClient)
        #expect(tokens.current?.refreshToken == "rt1")
    }

    @Test func aSourceRefreshesByOAuthAndSignsOutIfTheServerRefuses() async throws {
        let stub = StubTransport(
            Stub(.post, "/token").responds(
                token(["access_token": "at2", "refresh_token": "rt2"]), .json(["error": "invalid_grant"], status: .badRequest)),
            Stub().matching("token") { $0.headers[.authorization] == "Bearer at2" }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized)))
        let tokens = TokenSource(client(stub))
        try await tokens.signIn(AccessToken("at1", refreshToken: "rt1"))
        let stack = stub.authenticate(.bearer(tokens))
        #expect(try await stack.send(try Request(.get, url: "https://api.example/")).status == .ok)
        #expect(tokens.current?.refreshToken == "rt2")
        let second = try await tokens.issue(by: nil, for: nil)
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.issue(refusing: second, by: nil, for: nil) }
        #expect(error?.code == .refreshRefused && (error?.underlying as? OAuthError)?.code == .invalidGrant && tokens.current == nil)
    }

    @Test func aRevocationThatIsRefusedIsAnError() async throws {
        let stub = StubTransport(Stub(.post, "/revoke").responds(.json(["error": "unsupported_token_type"], status: .badRequest)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).revoke(AccessToken("at")) }
        #expect(error?.code == .init("unsupported_token_type") && error?.errorDescription == "Could not sign out at the server.")
        #expect(error?.description == "POST https://auth.example/revoke: OAuth 2: unsupported_token_type")
        let without = OAuthServer(issuer: "https://auth.example", tokenEndpoint: "https://auth.example/token")
        let missing = await #expect(throws: OAuthError.self) { try await client(stub, without).revoke(AccessToken("at")) }
        #expect(missing?.code == .unsupported && missing?.errorDescription == "Could not sign out at the server.")
        #expect(OAuthError(.unsupported).errorDescription == "Could not sign in.")
        #expect(form(stub.requests[0]) == ["token": "at", "token_type_hint": "access_token", "client_id": "app"])
    }

    @Test func aTokenIsRevoked() async throws {
        let stub = StubTransport(Stub(.post, "/revoke").responds(.status(.ok)))
        try await client(stub).revoke(AccessToken("at", refreshToken: "rt"))
        #expect(form(stub.requests[0]) == ["token": "rt", "token_type_hint": "refresh_token", "client_id": "app"])
    }

    // MARK: Devices

    @Test func aDeviceWaitsAsLongAsTheServerSays() async throws {
        let clock = ManualClock()
        let start = clock.now
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(
                    [
                        "device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://auth.example/d", "expires_in": 600,
                        "interval": 2,
                    ] as JSONValue)),
            Stub(.post, "/token").responds(
                .json(["error": "authorization_pending"], status: .badRequest), .json(["error": "slow_down"], status: .badRequest),
                .failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)),
                .status(.serviceUnavailable), token()))
        let client = client(stub, now: { Date(timeIntervalSince1970: 1_000_000) + (start.duration(to: clock.now) / .seconds(1)) })
        let authorization = try await client.deviceAuthorization(scopes: ["a"])
        #expect(authorization.userCode == "AB-CD" && authorization.verificationURI == "https://auth.example/d")
        let token = try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        #expect(token.value == "at")
        // 2 + 2 + 7 + 14 + 28.
        #expect(start.duration(to: clock.now) == .seconds(53) && token.scopes == ["a"])
        #expect(form(stub.requests[1])["device_code"] == "dc")
    }

    /// A layer of the client refuses a request for some time.
    @Test func aDeviceWaitsForALayerThatRefusesTheRequest() async throws {
        let clock = ManualClock()
        let start = clock.now
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(
                    ["device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://auth.example/d", "interval": 2] as JSONValue)),
            Stub(.post, "/token").responds(.failure(Refusal()), token()))
        let client = client(stub)
        let authorization = try await client.deviceAuthorization()
        _ = try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        #expect(start.duration(to: clock.now) == .seconds(6))
    }

    private struct Refusal: TemporaryRefusal {
        var request: Request?
        var retryAfter: Duration?
        var attempts: [AttemptRecord] = []
        var phase: ExchangePhase { .queue }
        var delivery: Delivery { .notSent }
        var description: String { "refused" }
    }

    @Test func aDeviceDoesNotWaitForACertificateThatIsNotValid() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(["device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://auth.example/d"] as JSONValue)),
            Stub(.post, "/token").responds(.failure(TransportError(.tls, phase: .connect, request: nil, delivery: .notSent))))
        let client = client(stub)
        let authorization = try await client.deviceAuthorization()
        #expect(authorization.expiresAt == Date(timeIntervalSince1970: 1_001_800))
        let error = await #expect(throws: TransportError.self) {
            try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        }
        #expect(error?.code == .tls && stub.requests.count == 2)
    }

    @Test func aDeviceGivesUpWhenItsCodesExpire() async throws {
        let clock = ManualClock()
        let start = clock.now
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(
                    ["device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://auth.example/d", "expires_in": 11] as JSONValue
                )),
            Stub(.post, "/token").responds(.json(["error": "authorization_pending"], status: .badRequest)))
        let client = client(stub, now: { Date(timeIntervalSince1970: 1_000_000) + (start.duration(to: clock.now) / .seconds(1)) })
        let authorization = try await client.deviceAuthorization()
        let error = await #expect(throws: OAuthError.self) {
            try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        }
        #expect(error?.code == .expiredToken && stub.requests.count == 3)
        #expect(error?.description == "OAuth 2: expired_token: the code for the device has expired")
        #expect(error?.errorDescription == "The code has expired. Sign in again.")
    }

    @Test func aServerMaySayThatTheCodeOfADeviceHasExpired() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(["device_code": "dc", "user_code": "AB-CD", "verification_uri": "https://auth.example/d"] as JSONValue)),
            Stub(.post, "/token").responds(.json(["error": "expired_token"], status: .badRequest)))
        let client = client(stub)
        let authorization = try await client.deviceAuthorization()
        let error = await #expect(throws: OAuthError.self) {
            try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        }
        #expect(error?.description == "POST https://auth.example/token: OAuth 2: expired_token: the code for the device has expired")
    }

    // MARK: Discovery

    @Test func aServerDescribesItself() async throws {
        let metadata: JSONValue = [
            "issuer": "https://auth.example/t", "token_endpoint": "https://auth.example/token",
            "authorization_endpoint": "https://auth.example/authorize", "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": true,
        ]
        for path in ["/.well-known/oauth-authorization-server/t", "/t/.well-known/openid-configuration"] {
            let stub = StubTransport(
                Stub().matching("path") { $0.path == path }.responds(.json(metadata)), Stub().responds(.status(.notFound)))
            let server = try await OAuthServer.discover(issuer: "https://auth.example/t", via: stub)
            #expect(server.tokenEndpoint == "https://auth.example/token" && server.namesIssuer && server.revocationEndpoint == nil)
        }
    }

    @Test(arguments: [
        (#"{"issuer":"https://evil.example","token_endpoint":"https://a.example/t"}"#, OAuthError.Code.issuerMismatch),
        (#"{"issuer":"https://auth.example"}"#, .invalidResponse), ("[]", .invalidResponse),
        (#"{"issuer":"https://auth.example","token_endpoint":"http://a.example/t"}"#, .unsupported),
        (
            #"{"issuer":"https://auth.example","token_endpoint":"https://a.example/t","code_challenge_methods_supported":["plain"]}"#,
            .unsupported
        ),
    ]) func aDescriptionThatCannotBeUsedIsRefused(body: String, code: OAuthError.Code) async throws {
        let stub = StubTransport(Stub().responds(.data(Data(body.utf8))))
        let error = await #expect(throws: OAuthError.self) { try await OAuthServer.discover(issuer: "https://auth.example", via: stub) }
        #expect(error?.code == code)
        await #expect(throws: OAuthError.self) { try await OAuthServer.discover(issuer: "http://auth.example", via: stub) }
    }

    // MARK: Secrets

    @Test func noDescriptionShowsASecret() async throws {
        let secret = "s3cr3t-value"
        // As real servers do.
        let description = JSONValue.string("The refresh token \(secret) has expired")
        let stub = StubTransport(Stub().responds(.json(["error": "invalid_grant", "error_description": description], status: .badRequest)))
        let client = client(stub, authentication: .post(secret: secret))
        let authorization = try client.authorization(redirectURI: "app://x")
        var texts = [
            "\(client)", "\(authorization)", "\(AccessToken(secret, refreshToken: secret))",
            "\(OAuthClient.Authentication.basic(secret: secret))",
            "\(JWTSigner.hs256(secret: secret))",
            "\(JWTAssertion(issuer: "i", claims: ["x": .string(secret)], signer: .hs256(secret: secret)))",
        ]
        let assertion = JWTAssertion(issuer: "i", claims: ["x": .string(secret)], signer: .hs256(secret: secret))
        let source = TokenSource(client)
        var changes = source.changes.makeAsyncIterator()
        try await source.signIn(AccessToken(secret, expiresAt: .distantPast, refreshToken: secret))
        let signedIn = await changes.next()
        let error = await #expect(throws: AuthenticationError.self) { try await source.token() }
        let signedOut = await changes.next()
        texts += ["\(signedIn as Any)", "\(signedOut as Any)", "\(error as Any)", error?.localizedDescription ?? ""]
        #expect(texts.joined().contains("The refresh token REDACTED has expired"))
        let challenge = ServerChallenge(
            HTTPResponse(status: .unauthorized),
            refused: AuthenticationProof(headers: [.authorization: secret], identity: .init(scheme: "x", secret)))
        for value in [
            client as Any, AccessToken(secret, refreshToken: secret), JWTSigner.hs256(secret: secret), authorization, assertion, source,
            OAuthClient.Authentication.basic(secret: secret), OAuthClient.Authentication.assertion(.hs256(secret: secret)),
            signedIn as Any, signedOut as Any, error as Any, challenge,
        ] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        for text in texts { #expect(!text.contains(secret) && !text.contains(authorization.verifier), "\(text)") }
    }
}
#endif
