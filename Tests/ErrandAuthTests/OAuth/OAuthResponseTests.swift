#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// What the endpoints of an OAuth 2 server say by their bodies, whatever their status is.
@Suite(.timeLimit(.minutes(5))) struct OAuthResponseTests {
    private static let server = OAuthServer(
        issuer: "https://auth.example", tokenEndpoint: "https://auth.example/token",
        authorizationEndpoint: "https://auth.example/authorize",
        deviceAuthorizationEndpoint: "https://auth.example/device", revocationEndpoint: "https://auth.example/revoke")

    private func client(_ sender: some HTTPSender, now: @escaping @Sendable () -> Date = { Date(timeIntervalSince1970: 1_000_000) })
        -> OAuthClient
    {
        OAuthClient(Self.server, clientID: "app", via: sender, now: now)
    }

    private static func reply(_ status: Int, _ body: String) -> StubResponse { .data(Data(body.utf8), status: .init(code: status)) }

    enum Call: CaseIterable, Sendable {
        case code, credentials, assertion, refresh, device, revoke
    }

    private func make(_ call: Call, by client: OAuthClient) async throws {
        switch call {
        case .code:
            let authorization = try client.authorization(redirectURI: "app://x")
            _ = try await client.token(for: authorization, redirect: "app://x?code=c&state=\(authorization.state)")
        case .credentials: _ = try await client.clientCredentials()
        case .assertion: _ = try await client.jwtBearer(JWTAssertion(issuer: "i", signer: .hs256(secret: "k")))
        case .refresh: _ = try await client.refresh(AccessToken("old", refreshToken: "rt"))
        case .device: _ = try await client.deviceAuthorization()
        case .revoke: try await client.revoke(AccessToken("old", refreshToken: "rt"))
        }
    }

    /// As GitHub and Slack respond.
    @Test(arguments: Call.allCases, [200, 201, 203, 400, 401, 403])
    func theErrorInTheBodyDecides(call: Call, status: Int) async throws {
        for (body, code) in [
            (#"{"error":"bad_thing","error_description":"why"}"#, "bad_thing"), (#"{"ok":false,"error":"other"}"#, "other"),
        ] {
            let stub = StubTransport(Stub().responds(Self.reply(status, body)))
            let error = await #expect(throws: OAuthError.self) { try await make(call, by: client(stub)) }
            #expect(error?.code == .init(code) && stub.requests.count == 1)
        }
    }

    /// An issued token replaces a token that does not work any more.
    @Test(arguments: [200, 201, 202, 203, 206, 299, 302, 400, 401, 409, 429, 500, 503]) func aTokenIsReadWithEveryStatus(status: Int)
        async throws
    {
        let body = #"{"access_token":"at2","refresh_token":"rt2","error":null}"#
        let token = try await client(StubTransport(Stub().responds(Self.reply(status, body)))).refresh(
            AccessToken("old", refreshToken: "rt"))
        #expect(token.value == "at2" && token.refreshToken == "rt2")
    }

    @Test(arguments: [
        (200, #"{"access_token":"at","error":"x"}"#, true), (200, #"{"access_token":"at","error":""}"#, true),
        (200, #"{"access_token":"","error":""}"#, false), (400, #"{"access_token":"at","error":"x"}"#, false), (204, "", false),
    ])
    func theStatusDecidesBetweenATokenAndAnError(status: Int, body: String, isToken: Bool) async throws {
        let client = client(StubTransport(Stub().responds(Self.reply(status, body))))
        #expect((try? await client.clientCredentials())?.value == (isToken ? "at" : nil))
    }

    /// A layer of the sender may refuse the status before the body is read.
    @Test func aLayerThatRefusesStatusesDoesNotHideTheError() async throws {
        let stub = StubTransport(Stub().responds(Self.reply(400, #"{"error":"invalid_grant"}"#)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub.validateStatus()).clientCredentials() }
        #expect(error?.code == .invalidGrant)
    }

    @Test(arguments: [
        ("invalid_grant", true), ("bad_refresh_token", true), ("invalid_refresh_token", true), ("token_expired", true),
        ("token_revoked", true),
        ("expired_token", true), ("invalid_client", false), ("slow_down", false), ("server_error", false), ("Invalid_Grant", false),
        ("invalid_grant\u{301}", false), ("other", false),
    ])
    func aRefusedRefreshTokenIsFinalWithAnyStatus(code: String, isFinal: Bool) async throws {
        for status in [200, 400] {
            let body = try JSONEncoder().encode(["error": code])
            let stub = StubTransport(Stub().responds(.data(body, status: .init(code: status))))
            let tokens = TokenSource(client(stub))
            try await tokens.signIn(AccessToken("at1", expiresAt: .distantPast, refreshToken: "rt1"))
            let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
            #expect(error?.code == (isFinal ? .refreshRefused : .refreshFailed))
            #expect((tokens.current == nil) == isFinal && (error?.underlying as? OAuthError)?.code == .init(code))
        }
    }

    /// [GitHub's device flow](https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow)
    /// has errors with the status 200.
    @Test(arguments: [200, 400]) func aDeviceWaitsForEveryStatus(status: Int) async throws {
        let clock = ManualClock()
        let start = clock.now
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                Self.reply(
                    201, #"{"device_code":"dc","user_code":"AB-CD","verification_url":"https://a.example/d","interval":1,"expires_in":99}"#)
            ),
            Stub(.post, "/token").responds(
                Self.reply(status, #"{"error":"authorization_pending"}"#), Self.reply(status, #"{"error":"slow_down"}"#),
                Self.reply(429, #"{"error":"rate_limited"}"#), Self.reply(429, #"{"error":"slow_down"}"#),
                Self.reply(201, #"{"access_token":"at"}"#)))
        let client = client(stub) { Date(timeIntervalSince1970: 1_000_000) + (start.duration(to: clock.now) / .seconds(1)) }
        let authorization = try await client.deviceAuthorization()
        #expect(authorization.verificationURI == "https://a.example/d")
        let token = try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        // 1 + 1 + 6 + 12 + 17.
        #expect(token.value == "at" && start.duration(to: clock.now) == .seconds(37))
    }

    @Test func aRevocationNeedsNoBody() async throws {
        for body in ["", "<html>", "{}", "[]", #"{"ok":true}"#] {
            try await client(StubTransport(Stub().responds(Self.reply(200, body)))).revoke(AccessToken("at"))
        }
        // More than is read.
        let endless = StubTransport(Stub().responds(.data(Data(repeating: 0x20, count: OAuthClient.responseLimitBytes + 1))))
        try await client(endless).revoke(AccessToken("at"))
    }

    // MARK: Members that say nothing

    @Test func emptyMembersCountAsMissing() async throws {
        let body = #"{"access_token":"at","token_type":"","refresh_token":"","id_token":"","scope":"","expires_in":""}"#
        let new = try await client(StubTransport(Stub().responds(Self.reply(200, body)))).refresh(
            AccessToken("old", refreshToken: "rt1", scopes: ["a"]))
        #expect(new.refreshToken == "rt1" && new.idToken == nil && new.scopes == ["a"] && new.expiresAt == nil)
        let error = await #expect(throws: OAuthError.self) {
            try await client(StubTransport()).refresh(AccessToken("old", refreshToken: ""))
        }
        #expect(error?.code == .noRefreshToken)

        let stub = StubTransport(Stub().responds(.status(.ok)))
        try await client(stub).revoke(AccessToken("at", refreshToken: ""))
        #expect(stub.requests[0].formItems.first { $0.name == "token" }?.value == "at")
    }

    @Test(arguments: [#""error_description":"","error_uri":"""#, #""error_description":7,"error_uri":[]"#, #""error_description":null"#])
    func anErrorNeedsOnlyItsCode(members: String) async throws {
        let stub = StubTransport(Stub().responds(Self.reply(400, #"{"error":"invalid_grant",\#(members)}"#)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).clientCredentials() }
        #expect(error?.code == .invalidGrant && error?.message == "" && error?.uri == nil)
    }

    @Test(arguments: [
        #"{"device_code":"","user_code":"u","verification_uri":"v"}"#, #"{"device_code":"d","user_code":"","verification_uri":"v"}"#,
        #"{"device_code":"d","user_code":"u","verification_uri":""}"#,
    ])
    func aDeviceNeedsAllItsCodes(body: String) async throws {
        let stub = StubTransport(Stub().responds(Self.reply(200, body)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).deviceAuthorization() }
        #expect(error?.code == .invalidResponse)
    }

    @Test func anEmptyErrorInARedirectCountsAsMissing() async throws {
        let stub = StubTransport(Stub().responds(Self.reply(200, #"{"access_token":"at"}"#)))
        let authorization = try client(stub).authorization(redirectURI: "app://x")
        let redirect = "app://x?error=&error_description=&code=c&state=\(authorization.state)"
        #expect(try await client(stub).token(for: authorization, redirect: redirect).value == "at")
    }

    @Test func anEmptyEndpointCountsAsMissing() async throws {
        let metadata =
            #"{"issuer":"https://auth.example","token_endpoint":"https://auth.example/t","revocation_endpoint":"","authorization_endpoint":7}"#
        let server = try await OAuthServer.discover(
            issuer: "https://auth.example", via: StubTransport(Stub().responds(Self.reply(200, metadata))))
        #expect(server.revocationEndpoint == nil && server.authorizationEndpoint == nil)
    }

    // MARK: Members that nobody needs

    private static let needed = #""access_token":"at2","token_type":"Bearer","expires_in":60,"refresh_token":"rt2","scope":"a b""#
    private static let manyMarks = "a" + String(repeating: "\u{301}\u{316}", count: 200)
    private static let tooDeep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    /// If the server rotates refresh tokens, the old refresh token is already invalid.
    @Test(arguments: [
        ("marks", #"{"x":"\#(manyMarks)",\#(needed)}"#), ("marks in a name", #"{\#(needed),"\#(manyMarks)":1}"#),
        ("a long name", #"{"\#(String(repeating: "ä", count: 300))":{"access_token":"other"},\#(needed)}"#),
        ("depth", #"{\#(needed),"x":\#(tooDeep)}"#), ("depth before", #"{"x":\#(tooDeep),\#(needed)}"#),
        ("mixed depth", #"{"x":\#(String(repeating: #"{"a":["#, count: 100))\#(String(repeating: "]}", count: 100)),\#(needed)}"#),
        ("a trailing NUL", "{\(needed)}\0"), ("NULs and spaces", " {\(needed)} \n\0\0"),
        ("a trailing comment", "{\(needed)} // served by a1"),
        ("a trailing element", "{\(needed)}\n<!-- cached [x] -->"), ("a number of JavaScript", #"{"x":NaN,\#(needed)}"#),
        ("a quotation mark in a text", #"{"x":"\"}{",\#(needed)} //"#), ("an octet in a text", "{\"x\":\"\t\u{1}\",\(needed)}"),
        ("a byte order mark", "\u{FEFF}{\(needed),\"x\":\(tooDeep)}"),
    ])
    func aTokenSurvivesInvalidUnusedMembers(what: String, body: String) async throws {
        let new = try await client(StubTransport(Stub().responds(Self.reply(200, body)))).refresh(
            AccessToken("old", refreshToken: "rt1", scopes: ["c"]))
        #expect(new.value == "at2" && new.refreshToken == "rt2" && new.scopes == ["a", "b"], "\(what)")
        #expect(new.expiresAt == Date(timeIntervalSince1970: 1_000_060), "\(what)")
    }

    @Test func aTokenSurvivesInvalidUTF8() async throws {
        let body = Data("{\"x\":\"".utf8) + [0xFF, 0xC0] + Data("\",\(Self.needed)}".utf8)
        let new = try await client(StubTransport(Stub().responds(.data(body)))).refresh(AccessToken("old", refreshToken: "rt1"))
        #expect(new.value == "at2" && new.refreshToken == "rt2")
    }

    /// A required member that can't be read is treated as missing.
    @Test func anUnreadableScopeCountsAsMissing() async throws {
        for scope in [#""\#(Self.manyMarks)""#, Self.tooDeep, "NaN"] {
            let body = #"{"access_token":"at2","refresh_token":"rt2","scope":\#(scope),"expires_in":60}"#
            let new = try await client(StubTransport(Stub().responds(Self.reply(200, body)))).refresh(
                AccessToken("old", refreshToken: "rt1", scopes: ["c"]))
            #expect(new.value == "at2" && new.refreshToken == "rt2" && new.scopes == ["c"] && new.expiresAt != nil)
        }
    }

    @Test func errorsAndDeviceCodesSurviveOtherInvalidMembers() async throws {
        let stub = StubTransport(
            Stub().responds(Self.reply(400, #"{"x":\#(Self.tooDeep),"error":"invalid_grant","error_description":"why"}"#)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).clientCredentials() }
        #expect(error?.code == .invalidGrant && error?.message == "why")
        let device = #"{"x":\#(Self.tooDeep),"device_code":"d","user_code":"u","verification_url":"https://a.example/d"} "#
        let code = try await client(StubTransport(Stub().responds(Self.reply(200, device)))).deviceAuthorization()
        #expect(code.userCode == "u" && code.verificationURI == "https://a.example/d")
    }

    /// The client can't know what the server means.
    @Test(arguments: [
        "{\(needed)", "{\(needed),}x", "{\(needed)}{\(needed)}", "{\(needed)} // {", "x{\(needed)}", "[{\(needed)}]", #"{"x":"\#(needed)}"#,
        #"{"x":[},\#(needed)}"#, #"{"x":{],\#(needed)}"#, #"{"x":,\#(needed)}"#, #"{"x":[\#(needed)}"#, #"{"data":{\#(needed)}} //"#,
        "{} //", "", "\0",
        #"{"x":"\"#, #"{"access_token":{"access_token":"at2"}} //"#,
    ])
    func anInvalidObjectHasNoToken(body: String) async throws {
        let stub = StubTransport(Stub().responds(Self.reply(200, body)))
        let error = await #expect(throws: OAuthError.self) { try await client(stub).clientCredentials() }
        #expect(error?.code == .invalidResponse)
    }

    @Test(arguments: [("Bearer ", true), (" bearer", true), ("\tBEARER\t", true), (" ", true), ("Bearer x", false), ("mac ", false)])
    func spacesAroundTheTypeOfATokenSayNothing(type: String, isBearer: Bool) async throws {
        let body = try JSONEncoder().encode(["access_token": "at", "token_type": type])
        let client = client(StubTransport(Stub().responds(.data(body))))
        #expect((try? await client.clientCredentials())?.value == (isBearer ? "at" : nil))
    }

    // MARK: Texts that are slow to compare

    private static let marks = String(repeating: "\u{300}\u{316}", count: 60_000)

    /// With Swift's own comparison, each of these bodies takes minutes.
    @Test func combiningMarksTakeNoTime() async throws {
        let began = ContinuousClock.now
        for body in [
            #"{"access_token":"x","a\#(Self.marks)":1}"#, #"{"access_token":"x","token_type":"a\#(Self.marks)"}"#,
            #"{"error":"a\#(String(repeating: "\u{300}\u{316}", count: 10_000))"}"#,
        ] {
            for status in [200, 400] {
                let client = client(StubTransport(Stub().responds(Self.reply(status, body))))
                _ = try? await client.clientCredentials()
                _ = try? await client.deviceAuthorization()
                _ = try? await client.revoke(AccessToken("at"))
            }
        }
        let metadata = #"{"issuer":"a\#(Self.marks)","token_endpoint":"t"}"#
        _ = try? await OAuthServer.discover(issuer: "https://auth.example", via: StubTransport(Stub().responds(Self.reply(200, metadata))))
        let (code, other) = (OAuthError.Code("a" + Self.marks), OAuthError.Code("a" + Self.marks + "b"))
        #expect(code != other && code != .invalidGrant && Set([code, other]).count == 2)
        let authorization = try client(StubTransport()).authorization(redirectURI: "app://x")
        #expect(!authorization.matches(redirect: "app://x?state=a\(Self.marks)&a\(Self.marks)=b"))
        #expect(began.duration(to: .now) < .seconds(20))
    }
}

/// The parts of a server's text that are hidden.
@Suite struct EchoedSecretsTests {
    @Test(arguments: [
        ("hunter2hunter2", "the secret hunter2hunter2 is wrong", "the secret REDACTED is wrong"),
        ("a b&c+dé", "no a+b%26c%2Bd%C3%A9, a%20b%26c%2Bd%C3%A9, a+b%26c%2bd%c3%a9; a b&c+dé", "no REDACTED, REDACTED, REDACTED; REDACTED"),
        ("??>>??>>", "Pz8+Pj8/Pj4= Pz8+Pj8/Pj4 Pz8-Pj8_Pj4", "REDACTED REDACTED REDACTED"),
        ("secret", "\u{301}secret\u{301}", "\u{301}REDACTED\u{301}"),
        // Below 6 octets: the whole text or nothing.
        ("d", "authorization pending", "authorization pending"), ("d", "the code d is old", "REDACTED"), ("d", "d", "REDACTED"),
        ("12345", "x=12345;", "REDACTED"), ("12345", "x123456", "x123456"), ("", "nothing", "nothing"), ("abc", "", ""),
    ])
    func secretsOfTheRequestAreHidden(secret: String, text: String, expected: String) {
        #expect(EchoedSecrets([secret]).hidden(in: text) == expected)
    }

    private func error(_ code: String, _ description: String, authentication: OAuthClient.Authentication) async throws -> OAuthError {
        let body = try JSONEncoder().encode(["error": code, "error_description": description])
        let stub = StubTransport(Stub().responds(.data(body, status: .badRequest)))
        let client = OAuthClient(
            OAuthServer(tokenEndpoint: "https://auth.example/token"), clientID: "app", authentication: authentication, via: stub)
        let error = await #expect(throws: OAuthError.self) { try await client.clientCredentials() }
        return try #require(error)
    }

    @Test func aSecretNeverChangesACode() async throws {
        for secret in ["d", "i", "_", "client", "invalid", "invalid_client", "n"] {
            for authentication in [OAuthClient.Authentication.post(secret: secret), .basic(secret: secret)] {
                let error = try await error("invalid_client", "", authentication: authentication)
                #expect(error.code == .invalidClient, "\(secret)")
            }
        }
        // If the server repeats a value in place of a code, the value is not shown.
        let odd = try await error("no secret s3cr3t-value", "", authentication: .post(secret: "s3cr3t-value"))
        var dumped = ""
        dump(odd.code, to: &dumped)
        for text in ["\(odd)", "\(odd.code)", dumped, odd.localizedDescription] { #expect(!text.contains("s3cr3t"), "\(text)") }
    }

    @Test func theSecretOfBasicIsHiddenInAllItsForms() async throws {
        let (secret, encoded) = ("hunter2 hunter2/+", "hunter2+hunter2%2F%2B")
        let header = Data("app:\(encoded)".utf8).base64EncodedString()
        let plain = Data("app:\(secret)".utf8).base64EncodedString()
        let description = "not \(secret), not \(encoded), not Basic \(header), not \(plain)"
        let error = try await error("invalid_client", description, authentication: .basic(secret: secret))
        #expect(error.message == "not REDACTED, not REDACTED, not Basic REDACTED, not REDACTED")
    }

    /// [RFC 8628, section 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5): a device code of one letter.
    @Test func aShortCodeOfADeviceDoesNotEndTheSignIn() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.post, "/device").responds(
                .json(["device_code": "d", "user_code": "U", "verification_uri": "https://a.example/d", "interval": 1] as JSONValue)),
            Stub(.post, "/token").responds(.json(["error": "authorization_pending"], status: .badRequest), .json(["access_token": "at"])))
        let client = OAuthClient(
            OAuthServer(tokenEndpoint: "https://auth.example/token", deviceAuthorizationEndpoint: "https://auth.example/device"),
            clientID: "app", via: stub)
        let authorization = try await client.deviceAuthorization()
        let token = try await clock.advancingToSleepers { try await client.token(for: authorization, clock: clock) }
        #expect(token.value == "at")
    }
}
#endif
