import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Which requests share an exchange.
@Suite(.timeLimit(.minutes(5))) struct CoalesceKeyTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        let name: String
        let share: Bool
        var fields = CoalesceMiddleware.Fields.all
        var method = HTTPRequest.Method.get
        var urls = ("https://a.example/x?q=1", "https://a.example/x?q=1")
        var both: @Sendable (inout Request) throws -> Void = { _ in }
        var first: @Sendable (inout Request) throws -> Void = { _ in }
        var second: @Sendable (inout Request) throws -> Void = { _ in }

        var testDescription: String { "\(name) \(share ? "share" : "don't")" }

        func requests() throws -> [Request] {
            var requests = [try Request(method, url: urls.0), try Request(method, url: urls.1)]
            for index in requests.indices { try both(&requests[index]) }
            try first(&requests[0])
            try second(&requests[1])
            return requests
        }
    }

    private static func name(_ name: String) -> HTTPField.Name { HTTPField.Name(name)! }

    private static func field(
        _ name: String, _ first: String?, _ second: String?, share: Bool, by fields: CoalesceMiddleware.Fields = .all,
        secret: Bool = false
    ) -> Pair {
        Pair(
            name: "\(name): \(first ?? "none"), \(second ?? "none"), \(fields)\(secret ? ", declared" : "")", share: share, fields: fields,
            both: { if secret { $0.options.sensitivity = Sensitivity(fields: [Self.name(name)]) } },
            first: { $0.head.headerFields[Self.name(name)] = first }, second: { $0.head.headerFields[Self.name(name)] = second })
    }

    private static func options(_ name: String, share: Bool, _ change: @escaping @Sendable (inout RequestOptions) -> Void) -> Pair {
        Pair(name: name, share: share, second: { change(&$0.options) })
    }

    private struct Unequal: Sendable {}
    private enum TenantKey: OptionKey { static var defaultValue: String? { nil } }
    private enum UnequalKey: OptionKey { static var defaultValue: OptionOverride<Unequal> { .inherited } }

    static let methods: [Pair] = [
        Pair(name: "GET", share: true), Pair(name: "HEAD", share: true, method: .head),
        Pair(name: "OPTIONS", share: true, method: .options),
        Pair(name: "QUERY", share: true, method: .query), Pair(name: "TRACE", share: false, method: .trace),
        Pair(name: "POST", share: false, method: .post), Pair(name: "PUT", share: false, method: .put),
        Pair(name: "DELETE", share: false, method: .delete), Pair(name: "PATCH", share: false, method: .patch),
        Pair(name: "GET and HEAD", share: false, second: { $0.head.method = .head }),
        Pair(name: "an Upgrade", share: false, both: { $0.options.upgrade = UpgradeRequest(protocolName: "x") }),
        Pair(name: "no authority", share: false, both: { $0.head.authority = nil }),
    ]

    static let urls: [Pair] = [
        Pair(name: "another query", share: false, urls: ("https://a.example/x?q=1", "https://a.example/x?q=2")),
        Pair(name: "another path", share: false, urls: ("https://a.example/x", "https://a.example/y")),
        Pair(name: "another host", share: false, urls: ("https://a.example/x", "https://b.example/x")),
        Pair(name: "another port", share: false, urls: ("https://a.example/x", "https://a.example:8443/x")),
        Pair(name: "another scheme", share: false, urls: ("https://a.example/x", "http://a.example/x")),
    ]

    static let fields: [Pair] = [
        field("Accept", "text/html", "text/html", share: true), field("Accept", "text/html", "text/plain", share: false),
        field("Accept", "text/html", nil, share: false),
        field("Authorization", "Bearer 1", "Bearer 2", share: false), field("Authorization", "Bearer 1", nil, share: false),
        field("Authorization", "Bearer 1", "Bearer 1", share: true), field("Cookie", "a=1", "a=2", share: false),
        field("X-Api-Key", "1", "2", share: false), field("X-Tenant-Token", "1", "2", share: false),
        field("traceparent", "00-1-2-01", "00-1-3-01", share: true), field("tracestate", "a=1", nil, share: true),
        field("baggage", "a=1", "a=2", share: true), field("X-Request-ID", "1", "2", share: true),
        field("Range", "bytes=0-1", "bytes=0-2", share: false), field("If-None-Match", "\"a\"", "\"b\"", share: false),
        field("User-Agent", "a", "b", share: false), field("User-Agent", "a", "b", share: true, by: .all(except: [.userAgent])),
        field("X-Request-ID", "1", "2", share: true, by: .all(except: [.userAgent])),
        field("User-Agent", "a", "b", share: true, by: .only([.accept])), field("Accept", "a/b", "b/c", share: false, by: .only([.accept])),
        // No choice leaves these out.
        field("Authorization", "Bearer 1", "Bearer 2", share: false, by: .only([])),
        field("Authorization", "Bearer 1", "Bearer 2", share: false, by: .all(except: [.authorization])),
        field("Cookie", "a=1", "a=2", share: false, by: .only([.accept])), field("X-Api-Key", "1", "2", share: false, by: .only([])),
        field("X-Tenant", "1", "2", share: true, by: .only([])), field("X-Tenant", "1", "2", share: false, by: .only([]), secret: true),
        field("X-Request-ID", "1", "2", share: false, secret: true), field("Range", "bytes=0-1", nil, share: false, by: .only([])),
        field("If-Modified-Since", "x", "y", share: false, by: .all(except: [.ifModifiedSince])),
        field("Content-Type", "a/b", "b/c", share: false, by: .only([])),
        Pair(
            name: "a flagged field", share: false, fields: .only([]),
            both: { $0.head.headerFields.append(.init(secret: "X-Who", $0.id.description)) }),
        Pair(
            name: "the same fields in another order", share: true,
            first: { $0.head.headerFields = [.accept: "a/b", .userAgent: "x"] },
            second: { $0.head.headerFields = [.userAgent: "x", .accept: "a/b"] }),
        Pair(
            name: "the same values of one field in another order", share: false,
            first: { $0.head.headerFields = [.accept: "a/b", .accept: "b/c"] },
            second: { $0.head.headerFields = [.accept: "b/c", .accept: "a/b"] }),
        Pair(
            name: "another case of a name", share: true, first: { $0.head.headerFields[Self.name("X-A")] = "1" },
            second: { $0.head.headerFields[Self.name("x-a")] = "1" }),
    ]

    static let bodies: [Pair] = [
        Pair(name: "QUERY, the same body", share: true, method: .query, both: { $0.body = .text("q") }),
        Pair(name: "QUERY, another body", share: false, method: .query, first: { $0.body = .text("q") }, second: { $0.body = .text("r") }),
        Pair(
            name: "QUERY, long bodies that differ in the last byte", share: false, method: .query,
            first: { $0.body = .data(Data(count: 100_000) + [1]) }, second: { $0.body = .data(Data(count: 100_000) + [2]) }),
        Pair(name: "an empty body and none", share: true, second: { $0.body = .data(Data()) }),
        Pair(
            name: "a streamed body", share: false, method: .query,
            both: { $0.body = .stream { _ in try await RequestBody.text("q").open() } }),
        Pair(
            name: "a body that is read once", share: false, method: .query,
            both: { $0.body = .stream(AsyncStream<Data> { $0.finish() }) }),
    ]

    private static let decided = RedirectPolicy.standard.deciding { _ in .standard }

    static let options: [Pair] = [
        options("a template", share: true) { $0.urlTemplate = "/x" },
        options("a number", share: true) { $0.number = .off }, options("a log", share: true) { $0.log = .off },
        options("a timeout", share: true) { $0.timeout = .use(.seconds(600)) },
        Pair(name: "a deadline", share: true, second: { $0.deadline = Deadline(after: .seconds(60)) }),
        options("no retry", share: false) { $0.retry = .off }, options("no redirect", share: false) { $0.redirect = .off },
        options("no check of the status", share: false) { $0.validateStatus = .off },
        options("no validation", share: false) { $0.validate = .off }, options("no fallback", share: false) { $0.fallback = .off },
        options("no server", share: false) { $0.server = .off },
        options("a declared name", share: false) { $0.sensitivity = Sensitivity(fields: [.userAgent]) },
        options("no circuit breaker", share: false) { $0.circuitBreaker = .off },
        options("no limit", share: false) { $0.concurrencyLimit = .off }, options("no transform", share: false) { $0.transform = .off },
        options("an attempt's timeout", share: false) { $0.attemptTimeout = .use(.seconds(1)) },
        options("a delay", share: false) { $0.delay = .use(.seconds(0)) },
        options("limits of phases", share: false) { $0.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(1))) },
        options("no limits of phases", share: false) { $0.phaseTimeouts = .off },
        options("another retry policy", share: true) { $0.retry = .use(RetryPolicy(maxAttempts: 9)) },
        options("another redirect policy", share: false) { $0.redirect = .use(RedirectPolicy(allowsDowngrade: true)) },
        options("a redirect policy of the app's own", share: false) { $0.redirect = .use(decided) },
        Pair(name: "the same redirect policy of the app's own", share: true) { $0.options.redirect = .use(decided) },
        Pair(
            name: "two redirect policies of the app's own", share: false, first: { $0.options.redirect = .use(decided) },
            second: { $0.options.redirect = .use(RedirectPolicy.standard.deciding { _ in .standard }) }),
        options("another hedge policy", share: false) { $0.hedge = .use(HedgePolicy(.fixed(.seconds(9)))) },
        options("no recording", share: false) { $0.record = .off },
        options("a tenant of somebody else's", share: false) { $0[TenantKey.self] = "blue" },
        Pair(name: "the same tenant", share: true) { $0.options[TenantKey.self] = "blue" },
        Pair(name: "options that can't be compared", share: false) { $0.options[UnequalKey.self] = .use(Unequal()) },
        options("an Accept to fall back on", share: false) { $0.fallbackHeaders = [.accept: "a/b"] },
        options("credentials to fall back on", share: false) { $0.fallbackHeaders = [.authorization: "a"] },
        Pair(name: "the same limits of phases", share: true) {
            $0.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(1)))
        },
        Pair(
            name: "other limits of phases", share: false,
            first: { $0.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(1))) },
            second: { $0.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(2))) }),
        Pair(
            name: "a field and the same to fall back on", share: true, first: { $0.head.headerFields[.accept] = "a/b" },
            second: { $0.options.fallbackHeaders = [.accept: "a/b"] }),
    ]

    @Test(arguments: methods + urls + fields + bodies + options) func equalRequestsAloneShareAnExchange(_ pair: Pair) async throws {
        let desk = ParkedSender()
        let middleware = CoalesceMiddleware(by: pair.fields)
        let stack = HTTPStack(desk).wrapped(by: middleware)
        let calls = try pair.requests().map { request in Task { try await stack.send(request).body.collect() } }
        await eventually { pair.share ? middleware.state.callers == 2 && !desk.requests.isEmpty : desk.requests.count == 2 }
        #expect(desk.requests.count == (pair.share ? 1 : 2))
        for index in 0..<desk.requests.count { await desk.respond(index, text: "x") }
        for call in calls { #expect(try await call.value == Data("x".utf8)) }
    }

    @Test func anAdditionalKeyDistinguishesRequests() async throws {
        let desk = ParkedSender()
        let stack = HTTPStack(desk).coalesce(additionalKey: { $0.options.urlTemplate })
        let calls = try ["/a", "/b"].map { template in
            var request = try request()
            request.options.urlTemplate = template
            let sent = request
            return Task { try await stack.send(sent).body.collect() }
        }
        await eventually { desk.requests.count == 2 }
        for index in 0..<2 { await desk.respond(index, text: "x") }
        for call in calls { _ = try await call.value }
    }

    @Test func theDescriptionNamesTheFields() {
        let stack = StubTransport().coalesce()
        #expect(stack.description == "coalesce > StubTransport" && stack.contains(.coalesce))
        #expect("\(CoalesceMiddleware.Fields.all(except: [.userAgent]))" == "all fields but User-Agent")
        #expect("\(CoalesceMiddleware.Fields.only([.accept, .userAgent]))" == "only Accept, User-Agent")
    }

    @Test func noDescriptionShowsASecret() async throws {
        var request = try Request(.get, url: "https://a.example/x?token=s3cr3t")
        request.head.headerFields[.authorization] = "Bearer s3cr3t"
        let middleware = CoalesceMiddleware()
        let desk = ParkedSender()
        let (stack, sent) = (HTTPStack(desk).wrapped(by: middleware), request)
        let call = Task { try await stack.send(sent) }
        await middleware.callers(1)
        var text = "\(stack) \(middleware) \(middleware.state)"
        dump(middleware, to: &text)
        dump(stack, to: &text)
        #expect(!text.contains("s3cr3t"))
        await desk.respond(text: "x")
        _ = try await call.value
    }
}

extension HTTPField {
    fileprivate init(secret name: String, _ value: String) {
        self.init(name: HTTPField.Name(name)!, value: value)
        indexingStrategy = .disallow
    }
}
