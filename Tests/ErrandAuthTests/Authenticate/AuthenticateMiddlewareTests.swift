#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct AuthenticateMiddlewareTests {
    private func request(_ url: String = "https://a.example/x", body: RequestBody = .empty) throws -> Request {
        try Request(body.isEmpty ? .get : .post, url: url, body: body)
    }

    /// A server that accepts requests with the field, and sends a challenge to all other requests.
    private func server(_ field: String, asking challenge: String? = #"Basic realm="office""#) -> StubTransport {
        var fields = HTTPFields()
        fields[.wwwAuthenticate] = challenge
        return StubTransport(
            Stub().matching("credentials") { $0.headers[.authorization] == field }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized, headers: fields)))
    }

    private static let joe = "Basic am9lOnNlY3JldA=="

    // MARK: Challenges

    @Test func basicIsSentWithTheFirstRequestUnlessItWaitsForTheChallenge() async throws {
        for isPreemptive in [true, false] {
            let stub = server(Self.joe)
            let stack = stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: isPreemptive))
            let response = try await stack.send(try request())
            #expect(response.status == .ok && stub.requests.count == (isPreemptive ? 1 : 2))
            #expect(stub.requests.first?.headers[.authorization] == (isPreemptive ? Self.joe : nil))
            #expect(response.metadata.attempts.count == (isPreemptive ? 0 : 1))
            #expect(response.request.options.resendCount == (isPreemptive ? 0 : 1))
        }
    }

    @Test func aProofThatWasRefusedIsNotSentAgain() async throws {
        let stub = server("never")
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret")).send(try request())
        #expect(response.status == .unauthorized && response.metadata.authenticationStop == .refused && stub.requests.count == 1)
    }

    @Test func aChallengeOfAnotherSchemeIsReturned() async throws {
        let stub = server("never", asking: #"Negotiate, Custom realm="a""#)
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: false)).send(try request())
        #expect(response.status == .unauthorized && response.metadata.authenticationStop == .noCredentials && stub.requests.count == 1)
    }

    /// A scheme with another proof for each challenge.
    private struct EndlessScheme: AuthenticationScheme {
        func proof(for request: Request) -> AuthenticationProof? { nil }
        func proof(for request: Request, inResponseTo challenge: ServerChallenge) -> AuthenticationProof? {
            AuthenticationProof(
                headers: [.authorization: "Endless \(challenge.round)"], identity: CredentialIdentity(scheme: "endless", "joe"))
        }
    }

    /// A scheme of a third party without credentials.
    private struct SilentScheme: AuthenticationScheme {
        var sendsRequests: Bool
        func proof(for request: Request) -> AuthenticationProof? { nil }
    }

    /// Requests of a scheme may need the connection of the challenge.
    @Test func aChallengeIsReadFirstOnlyForASchemeThatSendsRequests() async throws {
        struct PlainScheme: AuthenticationScheme {
            func proof(for request: Request) -> AuthenticationProof? { nil }
        }
        #expect(PlainScheme().sendsRequests)
        let schemes: [(any AuthenticationScheme, openBodies: Int)] = [
            (SilentScheme(sendsRequests: true), 0), (SilentScheme(sendsRequests: false), 1), (PlainScheme(), 0),
            (.basic(user: "joe", password: "secret", isPreemptive: false), 1), (.digest(user: "joe", password: "secret"), 1),
            (.password(user: "joe", password: "secret"), 1), (.apiKey("key", in: .query("k")), 1), (.bearer("token"), 1),
            (.bearer(TokenSource(AccessToken("token")) { _ in throw CancellationError() }), 0),
        ]
        for (scheme, openBodies) in schemes {
            let stub = StubTransport(Stub().responds(.stream([Data(count: 5_000), Data(count: 5_000)], status: .unauthorized)))
            let stack = stub.wrapped(by: AuthenticateMiddleware(scheme))
            guard let response = try? await stack.send(try request()) else {
                // The refresh has failed.
                #expect(stub.openBodyCount == openBodies, "\(scheme)")
                continue
            }
            #expect(stub.openBodyCount == openBodies, "\(scheme)")
            #expect(try await response.body.collect(upTo: 10_000).count == 10_000, "\(scheme)")
        }
    }

    @Test func aCallHasTwentyRoundsAtMost() async throws {
        let stub = server("never")
        let response = try await stub.authenticate(EndlessScheme()).send(try request())
        #expect(response.metadata.authenticationStop == .tooManyRounds && stub.requests.count == 21)
        #expect(response.metadata.attempts.map(\.number) == Array(1...20))
    }

    @Test func aBodyThatCanBeReadOnceOnlyIsNotSentAgain() async throws {
        let stub = server(Self.joe)
        let body = RequestBody.stream(
            AsyncStream<Data> {
                $0.yield(Data("once".utf8))
                $0.finish()
            })
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: false)).send(
            try request(body: body))
        #expect(response.status == .unauthorized && response.metadata.authenticationStop == .bodyCannotBeReplayed)
        #expect(stub.requests.count == 1)

        let again = try await server(Self.joe).authenticate(.basic(user: "joe", password: "secret", isPreemptive: false))
            .send(try request(body: .text("again")))
        #expect(again.status == .ok)
    }

    @Test func theBodyOfAChallengeIsReleased() async throws {
        let stub = StubTransport(
            Stub().matching("credentials") { $0.headers[.authorization] != nil }.responds(.status(.ok)),
            Stub().responds(.data(Data(count: 1_000_000), status: .unauthorized, headers: [.wwwAuthenticate: #"Basic realm="a""#])))
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: false)).send(try request())
        response.body.abandon()
        #expect(response.status == .ok && stub.openBodyCount == 0)
    }

    /// Two requests that were sent before the first challenge get the same nonce.
    @Test func twoResponsesToOneNonceHaveTheirOwnCounts() async throws {
        let scheme = DigestScheme(user: "joe", password: "secret")
        let challenge = ServerChallenge(
            HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]))
        var counts: [String?] = []
        for _ in 0..<2 {
            let field = try await scheme.proof(for: try request(), inResponseTo: challenge)?.headers[.authorization]
            counts.append(field.flatMap { AuthenticationChallenge.parse([$0]).first?["nc"] })
        }
        #expect(counts == ["00000001", "00000002"])
    }

    // MARK: The strongest scheme

    @Test func aPasswordIsProvedByDigestIfDigestIsOffered() async throws {
        let challenge = #"Basic realm="a", Digest realm="a", nonce="n", qop="auth""#
        let stub = StubTransport(
            Stub().matching("digest") { $0.headers[.authorization]?.hasPrefix("Digest ") == true }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: challenge])))
        let stack = stub.authenticate(.password(user: "joe", password: "secret"))
        for _ in 0..<2 { #expect(try await stack.send(try request()).status == .ok) }
        #expect(stub.requests.map { $0.headers[.authorization]?.prefix(6) } == [nil, "Digest", "Digest"])
        #expect(stub.requests.last?.headers[.authorization]?.contains("nc=00000002") == true)
    }

    @Test func aPasswordIsSentByBasicWithoutAnotherOffer() async throws {
        let stub = server(Self.joe)
        let stack = stub.authenticate(.password(user: "joe", password: "secret"))
        for _ in 0..<2 { #expect(try await stack.send(try request()).status == .ok) }
        #expect(stub.requests.map { $0.headers[.authorization] } == [nil, Self.joe, Self.joe])
        // The other origin has sent no challenge.
        _ = try await stack.send(try request("https://b.example/x"))
        #expect(stub.requests.map { $0.headers[.authorization] }.suffix(2) == [nil, Self.joe])
    }

    /// An attacker between the client and the server asks for the password in plain text.
    @Test func anOriginThatHasOfferedDigestNeverGetsThePassword() async throws {
        let stub = StubTransport(
            Stub().responds(
                .status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]), .status(.ok),
                .status(.unauthorized, headers: [.wwwAuthenticate: #"Basic realm="a""#])))
        let stack = stub.authenticate(.password(user: "joe", password: "secret"))
        #expect(try await stack.send(try request()).status == .ok)
        #expect(try await stack.send(try request()).metadata.authenticationStop == .refused)
        #expect(stub.requests.map { $0.headers[.authorization]?.prefix(6) } == [nil, "Digest", "Digest"])
    }

    @Test func aDigestThatIsNotKnownKeepsThePassword() async throws {
        let stub = server(Self.joe, asking: #"Digest realm="a", nonce="n", algorithm=SHA-7, Basic realm="a""#)
        let response = try await stub.authenticate(.password(user: "joe", password: "secret")).send(try request())
        #expect(response.status == .unauthorized && response.metadata.authenticationStop == .noCredentials)
    }

    /// The handler's scheme keeps its nonce, and the scheme of the stack does not get it.
    @Test func theSchemeOfAProofIsNotifiedOfItsSuccess() async throws {
        let stub = StubTransport(
            Stub().matching("digest") { $0.headers[.authorization]?.hasPrefix("Digest ") == true }.responds(.status(.ok)),
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#])))
        let own = DigestScheme(user: "ann", password: "secret")
        var request = try request()
        request.options.onChallenge = { _ in .use(own) }
        #expect(try await stub.authenticate(.digest(user: "joe", password: "other")).send(request).status == .ok)
        request.options.onChallenge = nil
        request.options.authenticate = .use(own)
        #expect(try await stub.authenticate().send(request).status == .ok)
        #expect(stub.requests.count == 3)
    }

    @Test func aPasswordDoesNotFollowADigestThatWasRefused() async throws {
        let stub = server("never", asking: #"Basic realm="a", Digest realm="a", nonce="n", qop="auth""#)
        let response = try await stub.authenticate(.password(user: "joe", password: "secret")).send(try request())
        #expect(response.metadata.authenticationStop == .refused)
        #expect(stub.requests.map { $0.headers[.authorization]?.prefix(6) } == [nil, "Digest"])
    }

    // MARK: Receivers of the credentials

    @Test func aRedirectToAnotherOriginGetsNoCredentials() async throws {
        let stub = StubTransport(
            Stub().matching("first") { $0.request.url?.origin == "https://a.example" }.responds(.redirect(to: "https://b.example/y")),
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: #"Basic realm="a""#])))
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret")).redirect().send(try request())
        #expect(response.status == .unauthorized)
        #expect(stub.requests.map { $0.headers[.authorization] } == [Self.joe, nil])
    }

    @Test func aForeignURLGetsNoCredentialsOfTheServer() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.authenticate(.basic(user: "joe", password: "secret")).server("https://a.example/v1")
        _ = try await stack.send(try Request(.get, "/x"))
        _ = try await stack.send(try request("https://a.example/y"))
        _ = try await stack.send(try request("https://b.example/z"))
        #expect(stub.requests.map { $0.headers[.authorization] } == [Self.joe, Self.joe, nil])
    }

    @Test func onlyListedOriginsGetCredentials() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let origins: Set<Origin> = ["https://a.example", "https://b.example"]
        let stack = stub.authenticate(.basic(user: "joe", password: "secret"), origins: origins).redirect()
        for url in ["https://a.example/", "https://b.example/", "https://c.example/", "http://a.example/", "https://a.example:8443/"] {
            _ = try await stack.send(try request(url))
        }
        #expect(stub.requests.map { $0.headers[.authorization] != nil } == [true, true, false, false, false])
    }

    /// The credentials are sent neither before nor after the challenge.
    @Test func schemesDoNotReplaceCredentialsOfTheApp() async throws {
        let source = TokenSource { _ in throw CancellationError() }
        let challenge = #"Basic realm="a", Digest realm="a", nonce="n", qop="auth""#
        for scheme in [
            .basic(user: "joe", password: "secret", isPreemptive: false), .digest(user: "joe", password: "secret"),
            .password(user: "joe", password: "secret"), .bearer(source),
        ] as [any AuthenticationScheme] {
            let stub = server("never", asking: challenge)
            var request = try request()
            request.headers[.authorization] = "Own"
            let response = try await HTTPStack(stub).wrapped(by: AuthenticateMiddleware(scheme)).send(request)
            #expect(response.status == .unauthorized)
            #expect(stub.requests.map { $0.headers[.authorization] } == ["Own"], "\(scheme)")
        }
    }

    @Test func credentialsOfTheAppAreSentUnchanged() async throws {
        let stub = server("Own")
        var request = try request()
        request.headers[.authorization] = "Own"
        let response = try await stub.authenticate(.basic(user: "joe", password: "secret")).send(request)
        #expect(response.status == .ok && stub.requests.count == 1)
    }

    /// At the default stack, whose redirects are outside.
    @Test func theDefaultStackIsInItsOrder() throws {
        let tokens = TokenSource { _ in throw CancellationError() }
        let stack = HTTPStack.default.authenticate(.bearer(tokens)).retry().server("https://a.example")
        #expect(stack.orderProblems.isEmpty)
        let signed = HTTPStack.bare.sign(with: .awsV4(AWSCredentials(accessKeyID: "i", secretAccessKey: "s"), region: "r", service: "s3"))
        #expect(signed.decompress().redirect().retry().server("https://a.example").orderProblems.isEmpty)
        #expect(stack.authenticate().orderProblems.contains { $0.contains("authenticate") })
    }

    /// The server repeats the key in its Location.
    @Test func aKeyThatALocationRepeatsIsNotShown() async throws {
        let stub = StubTransport(
            Stub().responds(.redirect(to: "/hop?appid=K3YSECRET"), .redirect(to: "/hop2?appid=K3YSECRET"), .status(.ok)))
        let response = try await stub.authenticate(.apiKey("K3YSECRET", in: .query("appid"))).redirect().send(try request())
        var text = "\(response.metadata.redirects) \(response.request)"
        dump(response, to: &text)
        #expect(!text.contains("K3YSECRET") && stub.requests.count == 3, "\(text)")
    }

    @Test func eachHopOfARedirectHasItsOwnProof() async throws {
        let stub = StubTransport(
            Stub(.get, "/first").responds(.redirect(to: "/second")),
            Stub(.get, "/second").matching("for this path") { $0.headers[.authorization]?.contains(#"uri="/second""#) == true }.responds(
                .status(.ok)),
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#])))
        let stack = HTTPStack.sorted(around: stub).redirect().authenticate(.digest(user: "joe", password: "secret"))
        #expect(try await stack.send(try request("https://a.example/first")).status == .ok)
    }

    /// The text that an operator reads.
    @Test func aStatusErrorSaysWhyTheChallengeWasReturned() async throws {
        func text(_ scheme: some AuthenticationScheme, asking challenge: String, url: String = "https://a.example/x") async throws -> String
        {
            let stub = StubTransport(
                Stub().responds(.status(challenge.contains("scope") ? .forbidden : .unauthorized, headers: [.wwwAuthenticate: challenge])))
            let stack = stub.authenticate(scheme).validateStatus().server("https://a.example")
            let error = await #expect(throws: StatusError.self) { try await stack.send(try Request(.get, url: url)) }
            return try #require(error).description
        }
        let status = "GET https://a.example/x: status 401 Unauthorized; "
        let basic = #"Basic realm="a""#
        #expect(
            try await text(.digest(user: "joe", password: "secret"), asking: basic)
                == status + "no credentials were sent: the server asks for Basic, and the scheme is digest")
        #expect(
            try await text(.basic(user: "joe", password: "secret"), asking: basic).hasPrefix(status + "the server refused the credentials"))
        #expect(
            try await text(.basic(user: "joe", password: "secret"), asking: basic, url: "https://b.example/")
                .hasPrefix("GET https://b.example/: status 401 Unauthorized; no credentials were sent: they are for another origin"))
        #expect(
            try await text(.bearer("t"), asking: #"Bearer error="insufficient_scope", scope="orders""#)
                .hasSuffix("status 403 Forbidden; the token lacks the scope 'orders'"))
    }

    // MARK: Options

    @Test func aRequestReplacesOrDropsTheCredentials() async throws {
        let stub = server(Self.joe)
        let stack = stub.authenticate(.bearer("other"))
        var own = try request()
        own.options.authenticate = .use(.basic(user: "joe", password: "secret"))
        #expect(try await stack.send(own).status == .ok)
        var none = try request()
        none.options.authenticate = .off
        #expect(try await stack.send(none).status == .unauthorized)
        #expect(stub.requests.map { $0.headers[.authorization] } == [Self.joe, nil])

        #expect(try await stub.authenticate().send(own).status == .ok)
        await #expect(throws: UnsupportedOptionError.self) { try await stub.retry().send(own) }
    }

    @Test func aHandlerDecidesAboutEachChallenge() async throws {
        let stub = server(Self.joe)
        var request = try request()
        let seen = Mutex<[String]>([])
        request.options.onChallenge = { challenge in
            seen.withLock { $0.append("\(challenge)") }
            return .use(.basic(user: "joe", password: "secret"))
        }
        #expect(try await stub.authenticate().send(request).status == .ok)
        #expect(seen.withLock { $0 } == ["401, Basic realm"])

        request.options.onChallenge = { _ in .returnResponse }
        let declined = try await stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: false)).send(request)
        #expect(declined.status == .unauthorized && declined.metadata.authenticationStop == .declined)
        request.options.onChallenge = { _ in .useScheme }
        #expect(try await stub.authenticate(.basic(user: "joe", password: "secret", isPreemptive: false)).send(request).status == .ok)
    }

    @Test func aHandlerThatThrowsFailsTheCallAndReleasesTheResponse() async throws {
        let stub = server("never")
        var request = try request()
        request.options.onChallenge = { _ in throw TestError() }
        let sent = request
        await #expect(throws: TestError.self) { try await stub.authenticate().send(sent) }
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Schemes

    @Test func anAPIKeyIsInItsFieldOrItem() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.authenticate(.apiKey("k&1", in: .header(.custom("X-Key"), prefix: "Key "))).send(try request())
        let response = try await stub.authenticate(.apiKey("k&1", in: .query("appid"))).send(try request("https://a.example/x?a=1"))
        #expect(stub.requests[0].headers[.custom("X-Key")] == "Key k&1")
        #expect(stub.requests[1].request.url?.description == "https://a.example/x?a=1&appid=k%261")
        #expect("\(response.request)".contains("appid=REDACTED"))
    }

    @Test func credentialsThatCannotBeSentFailTheRequestUnsent() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        func check(_ scheme: some AuthenticationScheme) async throws {
            let error = await #expect(throws: AuthenticationError.self) { try await stub.authenticate(scheme).send(try request()) }
            #expect(error?.code == .invalidCredentials("") && error?.request != nil && error?.delivery == .notSent)
        }
        try await check(.basic(user: "j:oe", password: "secret"))
        try await check(.basic(user: "joe", password: "sec\r\nret"))
        try await check(.bearer("a\nb"))
        try await check(.bearer(""))
        try await check(.bearer("Bearer abc"))
        try await check(.bearer("tökn"))
        try await check(.apiKey("a\u{0}", in: .header(.custom("X-Key"))))
        #expect(stub.requests.isEmpty)
    }

    @Test func digestUsesOneChallengeForSeveralRequests() async throws {
        let stub = StubTransport(
            Stub().matching("credentials") { $0.headers[.authorization] != nil }.responds(.status(.ok)),
            Stub().responds(
                .status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n1", qop="auth", algorithm=SHA-256"#])))
        let stack = stub.authenticate(.digest(user: "joe", password: "secret"))
        for _ in 0..<3 { #expect(try await stack.send(try request()).status == .ok) }
        let counts = stub.requests.map { recorded in
            recorded.headers[.authorization].flatMap { AuthenticationChallenge.parse([$0]).first?["nc"] }
        }
        #expect(counts == [nil, "00000001", "00000002", "00000003"])
        // Another origin has a nonce of its own.
        _ = try await stack.send(try request("https://b.example/"))
        #expect(stub.requests[4].headers[.authorization] == nil)
    }

    @Test func aStaleNonceIsReplacedAndTheNextOneIsUsed() async throws {
        func digest(_ nonce: String, stale: Bool) -> HTTPFields {
            [.wwwAuthenticate: #"Digest realm="a", nonce="\#(nonce)", qop="auth"\#(stale ? ", stale=true" : "")"#]
        }
        let stub = StubTransport(
            Stub().responds(
                .status(.unauthorized, headers: digest("n1", stale: false)),
                .status(.ok, headers: [.authenticationInfo: #"nextnonce="n2""#]),
                .status(.unauthorized, headers: digest("n3", stale: true)), .status(.ok)))
        let stack = stub.authenticate(.digest(user: "joe", password: "secret"))
        for _ in 0..<2 { #expect(try await stack.send(try request()).status == .ok) }
        let nonces = stub.requests.map { recorded in
            recorded.headers[.authorization].flatMap { AuthenticationChallenge.parse([$0]).first?["nonce"] }
        }
        #expect(nonces == [nil, "n1", "n2", "n3"])
    }

    @Test func aWrongPasswordOfDigestIsSentOnceForEachCall() async throws {
        let stub = server("never", asking: #"Digest realm="a", nonce="n1", qop="auth""#)
        let stack = stub.authenticate(.digest(user: "joe", password: "wrong"))
        #expect(try await stack.send(try request()).metadata.authenticationStop == .refused)
        #expect(stub.requests.count == 2)
    }

    /// A password that was right once, and is refused now, is not sent with the old nonce first.
    @Test func aRefusedNonceOfDigestIsForgotten() async throws {
        let challenge: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]
        let later: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="m", qop="auth""#]
        let stub = StubTransport(
            Stub().responds(
                .status(.unauthorized, headers: challenge), .status(.ok), .status(.unauthorized, headers: later),
                .status(.unauthorized, headers: later), .status(.unauthorized, headers: later), .status(.unauthorized, headers: later)))
        let stack = stub.authenticate(.digest(user: "joe", password: "secret"))
        let statuses = [
            try await stack.send(try request()).status, try await stack.send(try request()).status,
            try await stack.send(try request()).status,
        ]
        #expect(statuses == [.ok, .unauthorized, .unauthorized])
        let nonces = stub.requests.map { recorded in
            recorded.headers[.authorization].flatMap { AuthenticationChallenge.parse([$0]).first?["nonce"] }
        }
        #expect(nonces == [nil, "n", "n", "m", nil, "m"])
    }

    /// Accepts only the next count of a nonce. For another count, the server does not say that the nonce is stale.
    private final class StrictNonceSender: HTTPSender {
        private let counts = Mutex<[String: Int]>([:])

        func send(_ request: Request) async throws -> Response {
            let proof = request.headers[.authorization].flatMap { AuthenticationChallenge.parse([$0]).first }
            let (nonce, count) = (proof?["nonce"] ?? "", Int(proof?["nc"] ?? "", radix: 16) ?? 0)
            await Task.yield()
            let fresh = counts.withLock { counts -> String? in
                if let last = counts[nonce] {
                    counts[nonce] = last + 1
                    if last + 1 == count { return nil }
                }
                counts["n\(counts.count)"] = 0
                return "n\(counts.count - 1)"
            }
            guard let fresh else { return Response(head: HTTPResponse(status: .ok), request: request) }
            let fields: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="\#(fresh)", qop="auth""#]
            return Response(head: HTTPResponse(status: .unauthorized, headerFields: fields), request: request)
        }
    }

    @Test func aNonceIsSharedOnlyAfterItsAcceptance() async throws {
        let stack = HTTPStack(StrictNonceSender()).authenticate(.digest(user: "joe", password: "secret"))
        let request = try request()
        try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for _ in 0..<500 { group.addTask { try await stack.send(request).status } }
            for try await status in group { #expect(status == .ok) }
        }
    }

    // MARK: Identity and secrets

    @Test func onlyRequestsOfTheSameAccountShareAnExchange() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok).delayed(by: .milliseconds(50))))
        let coalesced = stub.coalesce()
        let stacks = ["joe", "joe", "ann"].map { coalesced.authenticate(.apiKey($0, in: .query("key"))) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for stack in stacks { group.addTask { _ = try await stack.send(try Request(.get, url: "https://a.example/")) } }
            try await group.waitForAll()
        }
        #expect(stub.requests.count == 2)
    }

    @Test func noDescriptionShowsASecret() async throws {
        let secret = "s3cr3t-value"
        let schemes: [any AuthenticationScheme] = [
            .basic(user: "joe", password: secret), .digest(user: "joe", password: secret), .bearer(secret),
            .apiKey(secret, in: .header(.custom("X-Key"))), .apiKey(secret, in: .query("k")),
            .bearer(TokenSource(AccessToken(secret, refreshToken: secret)) { _ in throw CancellationError() }),
        ]
        for scheme in schemes {
            let stub = server("never", asking: #"Digest realm="a", nonce="n1", qop="auth""#)
            let stack = stub.authenticate(scheme)
            var texts = ["\(scheme)", "\(stack)", "\(try await scheme.proof(for: try request()) as Any)"]
            for value in [scheme as Any, stack, try await scheme.proof(for: try request()) as Any] {
                var text = ""
                dump(value, to: &text)
                texts.append(text)
            }
            do {
                let response = try await stack.validateStatus().send(try request())
                var text = ""
                dump(response, to: &text)
                texts.append(text)
            } catch {
                var text = "\(error) \(error.localizedDescription)"
                dump(error, to: &text)
                texts.append(text)
            }
            for text in texts { #expect(!text.contains(secret) && !text.contains("czNjcjN0"), "\(text)") }
        }
    }
}
#endif
