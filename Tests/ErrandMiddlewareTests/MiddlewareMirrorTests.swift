import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

/// No middleware shows a secret that it was given, or that goes through it.
@Suite(.timeLimit(.minutes(5))) struct MiddlewareMirrorTests {
    private static let secret = "hunter2hunter2"

    private static func texts(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    private static let jar: CookieJar = {
        let jar = CookieJar()
        try? jar.set(Cookie(name: "a", value: secret, domain: "a.example", created: HTTPDate(secondsSinceEpoch: 0)))
        return jar
    }()

    private static let configured: [any HTTPMiddleware] = [
        ServerMiddleware(
            "https://a.example/?token=\(secret)", headers: [.authorization: secret, .userAgent: secret], query: ["sig": secret]),
        ServerMiddleware(path: "/v1?token=\(secret)", headers: [.cookie: secret]),
        FallbackMiddleware(to: StubTransport().server("https://b.example/?token=\(secret)", headers: [.authorization: secret])),
        FallbackMiddleware { request, _ in
            Response(head: HTTPResponse(status: .ok, headerFields: [.setCookie: secret]), data: Data(secret.utf8), request: request)
        },
        TransformMiddleware.request { $0.head.headerFields[.authorization] = secret },
        AuthenticateMiddleware(.basic(user: secret, password: secret)),
        AuthenticateMiddleware(.digest(user: secret, password: secret)),
        AuthenticateMiddleware(.password(user: secret, password: secret)),
        AuthenticateMiddleware(.bearer(secret)),
        AuthenticateMiddleware(.bearer(TokenSource(AccessToken(secret, refreshToken: secret)) { _ in AccessToken(secret) })),
        AuthenticateMiddleware(.apiKey(secret, in: .header(.custom("X-Key")))),
        CookiesMiddleware(jar),
        SignMiddleware(
            .awsV4(
                AWSCredentials(accessKeyID: secret, secretAccessKey: secret, sessionToken: secret), region: "eu-central-1", service: "s3")),
        HSTSMiddleware(HSTSList(preloaded: (try? HSTSHost("\(secret).example")).map { [$0] } ?? [])),
        ValidateMiddleware([
            ResponseValidator("a token") { request, _, _ in request.head.path == secret ? .retry(.immediate, atMost: 1) : .next }
        ]),
    ]

    @Test(arguments: configured.indices) func settingsOfAMiddlewareAreNotShown(_ index: Int) {
        for text in Self.texts(of: Self.configured[index]) { #expect(!text.contains(Self.secret), "\(text)") }
    }

    /// The same holds while an exchange is in progress, because some middleware keep values of the exchange.
    @Test(arguments: EveryMiddlewareTests.middleware) func requestsOfAMiddlewareAreNotShown(_ subject: MiddlewareUnderTest) async throws {
        let isBelow = Watched(false)
        let continues = Watched(false)
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    isBelow.change { $0 = true }
                    try await continues.wait { $0 }
                    return (HTTPResponse(status: .ok, headerFields: [.setCookie: "id=\(Self.secret)"]), Data(Self.secret.utf8))
                }))
        let stack = subject.wrap(stub).retry()
        var request = try Request(
            .get, url: "https://a.example/x?token=\(Self.secret)", headers: [.authorization: "Bearer \(Self.secret)", .cookie: Self.secret])
        request.options.idempotencyKey = try .value(Self.secret)
        let sent = request
        let task = Task { try await stack.send(sent) }
        try await isBelow.wait { $0 }
        for text in Self.texts(of: stack) { #expect(!text.contains(Self.secret), "\(text)") }
        continues.change { $0 = true }
        let response = try await task.value
        for text in Self.texts(of: stack) + ["\(response)"] { #expect(!text.contains(Self.secret), "\(text)") }
    }

    @Test func aKeyIsNotShown() throws {
        for text in try Self.texts(of: IdempotencyKey.value(Self.secret)) { #expect(!text.contains(Self.secret), "\(text)") }
        #expect("\(IdempotencyKey.attached)" == "attached")
        #expect("\(try IdempotencyKey.value(Self.secret))" == "value(REDACTED)")
    }
}
