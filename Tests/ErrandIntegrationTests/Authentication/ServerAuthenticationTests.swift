#if NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// Apache's own Basic and Digest.
@Suite(.enabled(if: Stand.apache.isHere, Comment(rawValue: Stand.apache.missing)), .timeLimit(.minutes(5)))
struct ApacheAuthenticationTests {
    static let schemes: [(name: String, scheme: @Sendable (_ password: String) -> any AuthenticationScheme)] = [
        ("basic", { .basic(user: "joe", password: $0) }), ("digest", { .digest(user: "joe", password: $0) }),
        ("basic", { .password(user: "joe", password: $0) }), ("digest", { .password(user: "joe", password: $0) }),
    ]

    private func withStack<Result>(
        _ scheme: any AuthenticationScheme, _ body: (HTTPStack) async throws -> Result
    ) async throws -> Result {
        let url = try Stand.apache.url()
        return try await withTransport(NIOTransport()) { transport in
            try await body(transport.wrapped(by: AuthenticateMiddleware(scheme)).server(url).timeout(.seconds(20)))
        }
    }

    @Test(arguments: schemes.indices) func thePasswordOpensTheFolder(index: Int) async throws {
        let (folder, scheme) = Self.schemes[index]
        try await withStack(scheme("pw")) { stack in
            for _ in 0..<3 {
                let response = try await stack.send(Request(.get, "/\(folder)/secret.txt"))
                #expect(response.status == .ok)
                #expect(try await response.body.collect() == Data("joe's\n".utf8))
            }
        }
    }

    @Test(arguments: schemes.indices) func aWrongPasswordIsSentOnce(index: Int) async throws {
        let (folder, scheme) = Self.schemes[index]
        try await withStack(scheme("wrong")) { stack in
            let response = try await stack.send(Request(.get, "/\(folder)/secret.txt"))
            #expect(response.status == .unauthorized && response.metadata.authenticationStop == .refused)
            #expect(response.metadata.attempts.count <= 1)
            response.discard()
        }
    }

    /// The count of a nonce goes up with each request, over several connections.
    @Test func twoHundredRequestsShareTheirNonces() async throws {
        try await withStack(.digest(user: "joe", password: "pw")) { stack in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    if number >= 8 { _ = try await group.next() }
                    group.addTask {
                        let response = try await stack.send(Request(.get, "/digest/secret.txt?\(number)"))
                        _ = try await response.body.collect()
                        return response.status.code
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            // The first 8 begin without a nonce.
            let last = try await stack.send(Request(.get, "/digest/secret.txt"))
            #expect(last.status == .ok && last.metadata.attempts.isEmpty)
            last.discard()
        }
    }

    /// The nonce lives for a second: the server says that it is stale, and the same password is sent with the next.
    @Test func aStaleNonceIsReplaced() async throws {
        try await withStack(.digest(user: "joe", password: "pw")) { stack in
            for rounds in [1, 0, 1] {
                // Apache sends the next nonce with a response shortly before the end of the old one.
                if rounds == 1 { try await Task.sleep(for: .milliseconds(2_100)) }
                let response = try await stack.send(Request(.get, "/moments/secret.txt"))
                #expect(response.status == .ok && response.metadata.attempts.count == rounds)
                response.discard()
            }
        }
    }
}

/// An OAuth 2 server: discovery, the code with PKCE, refresh, and a code that is used twice.
@Suite(.enabled(if: Stand.oidc.isHere, Comment(rawValue: Stand.oidc.missing)), .timeLimit(.minutes(5)))
struct OAuthServerTests {
    /// What a person's browser does: opens the page, enters a name, and is sent back.
    ///
    /// - Returns: the URL that it was sent to.
    private func browse(_ url: String, as name: String?, _ transport: some HTTPSender) async throws -> String {
        let page = try await transport.send(Request(.get, url: url))
        #expect(page.status == .ok)
        page.discard()
        let form = name.map { "sub=\($0)" } ?? "action=deny"
        let headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let response = try await transport.send(Request(.post, url: url, headers: headers, body: .text(form)))
        response.discard()
        return try #require(response.headers[.location], "\(response.status)")
    }

    private func withClient<Result>(_ body: (OAuthClient, NIOTransport) async throws -> Result) async throws -> Result {
        let issuer = try Stand.oidc.url()
        return try await withTransport(NIOTransport()) { transport in
            let server = try await OAuthServer.discover(issuer: issuer, via: transport)
            #expect(server.issuer == issuer && server.tokenEndpoint.hasPrefix(issuer))
            return try await body(OAuthClient(server, id: "errand", authentication: .basic(secret: "s3cr3t"), via: transport), transport)
        }
    }

    @Test func aPersonSignsInAndTheTokenIsRefreshed() async throws {
        try await withClient { client, transport in
            let source = TokenSource(client, store: MemoryTokenStore())
            let authorization = try client.authorization(redirectTo: "http://127.0.0.1:8765/", scopes: ["openid", "email"])
            let redirect = try await browse(authorization.url, as: "joe", transport)
            let token = try await client.token(for: authorization, redirect: redirect)
            #expect(token.refreshToken != nil && token.idToken != nil && token.expiresAt != nil)
            try await source.signIn(token)

            let api = transport.authenticate(.bearer(source))
            let userInfo = try Stand.oidc.url("/userinfo")
            func subject() async throws -> String? {
                let response = try await api.send(Request(.get, url: userInfo))
                let data = try await response.body.collect()
                return try JSONDecoder().decode(JSONValue.self, from: data)["sub"].stringValue
            }
            #expect(try await subject() == "joe")

            var expired = token
            expired.expiresAt = Date() - 60
            try await source.signIn(expired)
            #expect(try await subject() == "joe")
            let current = try #require(source.current)
            #expect(current.value != token.value && !current.hasExpired(at: Date()))
        }
    }

    @Test func aCodeIsAcceptedOnce() async throws {
        try await withClient { client, transport in
            let authorization = try client.authorization(redirectTo: "http://127.0.0.1:8765/", scopes: ["openid"])
            let redirect = try await browse(authorization.url, as: "joe", transport)
            _ = try await client.token(for: authorization, redirect: redirect)
            let error = await #expect(throws: OAuthError.self) { try await client.token(for: authorization, redirect: redirect) }
            #expect(error?.code == .invalidGrant)
        }
    }

    /// The verifier of another sign-in does not fit the challenge.
    @Test func aCodeIsBoundToItsSignIn() async throws {
        try await withClient { client, transport in
            let first = try client.authorization(redirectTo: "http://127.0.0.1:8765/", scopes: ["openid"])
            let other = try client.authorization(redirectTo: "http://127.0.0.1:8765/", scopes: ["openid"])
            let redirect = try await browse(first.url, as: "joe", transport)
            let mismatch = await #expect(throws: OAuthError.self) { try await client.token(for: other, redirect: redirect) }
            #expect(mismatch?.code == .stateMismatch)
        }
    }

    /// This server leaves out the `state`, which RFC 6749, section 4.1.2.1, requires: somebody else may have sent the browser there.
    @Test func aRefusalWithoutTheStateIsNotBelieved() async throws {
        try await withClient { client, transport in
            let authorization = try client.authorization(redirectTo: "http://127.0.0.1:8765/", scopes: ["openid"])
            let redirect = try await browse(authorization.url, as: nil, transport)
            #expect(redirect.contains("error=access_denied"))
            let error = await #expect(throws: OAuthError.self) { try await client.token(for: authorization, redirect: redirect) }
            #expect(error?.code == .stateMismatch)
        }
    }

    @Test func aRefreshTokenThatIsUnknownSignsOut() async throws {
        try await withClient { client, _ in
            let source = TokenSource(client)
            try await source.signIn(AccessToken("a", expiresAt: Date() - 1, refreshToken: "unknown"))
            let error = await #expect(throws: AuthenticationError.self) { try await source.token() }
            #expect(error?.reason == .refreshRefused && source.current == nil, "\(String(describing: error))")
        }
    }
}

/// S3, by a server that checks each signature.
@Suite(.enabled(if: Stand.moto.isHere, Comment(rawValue: Stand.moto.missing)), .timeLimit(.minutes(5)))
struct S3Tests {
    private func withStack<Result>(secret: String? = nil, _ body: (HTTPStack) async throws -> Result) async throws -> Result {
        let key = try Stand.moto.accessKey()
        let credentials = AWSCredentials(accessKeyID: key.id, secretAccessKey: secret ?? key.secret)
        return try await withTransport(NIOTransport()) { transport in
            try await body(
                transport.sign(with: .awsV4(credentials, region: "us-east-1", service: "s3")).retry().server(try Stand.moto.url())
                    .timeout(.seconds(20)))
        }
    }

    @Test func objectsAreStoredReadListedAndRemoved() async throws {
        try await withStack { stack in
            func send(_ method: HTTPRequest.Method, _ path: PathTemplate, query: URLQuery = URLQuery(), body: RequestBody = .empty)
                async throws
                -> (status: Int, data: Data)
            {
                let response = try await stack.send(Request(method, path, query: query, body: body))
                return (response.status.code, try await response.body.collect())
            }
            #expect(try await send(.put, "/shelf").status == 200)
            let names = [
                "plain.txt", "two words.txt", "a+b=c&d.txt", "100%.txt", "Grüße/日本.txt", "a//b", "~tilde_-.", "quote'(1)*!.txt", "q?x#y",
            ]
            for name in names {
                let stored = try await send(.put, "/shelf/\(name)", body: .text(name))
                #expect(stored.status == 200, "\(name): \(String(decoding: stored.data, as: UTF8.self))")
                let read = try await send(.get, "/shelf/\(name)")
                #expect(read.status == 200 && read.data == Data(name.utf8), "\(name)")
            }
            let list = try await send(.get, "/shelf", query: ["list-type": "2", "prefix": "two words", "delimiter": "/"])
            let keys = String(decoding: list.data, as: UTF8.self)
            #expect(list.status == 200 && keys.contains("<Key>two words.txt</Key>"), "\(keys)")
            #expect(try await send(.delete, "/shelf/plain.txt").status == 204)
            #expect(try await send(.get, "/shelf/plain.txt").status == 404)
        }
    }

    @Test func aFileIsSignedAndStreamed() async throws {
        let folder = try TestFolder("s3")
        let file = folder.file("large")
        let content = Data.seeded(3_000_000)
        try content.write(to: URL(fileURLWithPath: file))
        try await withStack { stack in
            let made = try await stack.send(Request(.put, "/files"))
            #expect(made.status == .ok)
            made.discard()
            let stored = try await stack.send(Request(.put, "/files/large", body: .file(atPath: file)))
            #expect(stored.status == .ok)
            stored.discard()
            let part = try await stack.send(Request(.get, "/files/large", headers: [.range: "bytes=1000000-1000099"]))
            #expect(part.status == .partialContent)
            #expect(try await part.body.collect() == content[1_000_000..<1_000_100])
        }
    }

    @Test func aWrongSecretIsRefused() async throws {
        try await withStack(secret: "wrong") { stack in
            let response = try await stack.send(Request(.put, "/other"))
            #expect(response.status == .forbidden)
            #expect(String(decoding: try await response.body.collect(), as: UTF8.self).contains("SignatureDoesNotMatch"))
        }
    }
}
#endif
