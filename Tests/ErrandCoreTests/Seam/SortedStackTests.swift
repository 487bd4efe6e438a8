import Errand
import ErrandTesting
import TestSupport
import Testing

/// A stack that sorts its layers: the same stack, in whatever order its modifiers are written.
@Suite(.timeLimit(.minutes(5))) struct SortedStackTests {
    private let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))

    private static func rules(of stack: HTTPStack) -> [MiddlewarePlace: [MiddlewareNeighbor]] {
        Dictionary(stack.layers.map { ($0.place, $0.neighbors) }) { first, _ in first }
    }

    #if Auth
    private static let aws = AWSSignatureV4.awsV4(AWSCredentials(accessKeyID: "a", secretAccessKey: "b"), region: "c", service: "d")
    #endif

    /// What the library's middleware says of itself, and rules for the places of middleware to come.
    private static let libraryRules: [MiddlewarePlace: [MiddlewareNeighbor]] = {
        var stack = StubTransport().phaseTimeouts(firstByte: .seconds(1)).delay(by: .zero).concurrencyLimit(1)
            .waitForNetwork(upTo: .seconds(1), monitor: ScriptedPathMonitor()).rateLimit().circuitBreaker()
            .hedge().coalesce().decompress().compressRequests().redirect().retry().validate(ResponseValidator("any") { _, _, _ in .next })
            .fallback(data: Data(), statuses: [503]).validateStatus().timeout(.seconds(1)).profile().events { _ in nil }.number().userAgent(
                "Shop/2.1"
            )
            .server("https://a.example")
        #if Auth
        stack = stack.cookies(CookieJar()).authenticate(.bearer("token")).hsts(HSTSList()).sign(with: aws)
        #endif
        #if Telemetry
        stack = stack.metrics().trace().traceCall().log(to: recordingLogger().0)
        #endif
        return Self.rules(of: stack)
    }()

    private static let places = MiddlewarePlace.canonicalOrder.filter { $0 != .unplaced }

    private func layer(_ place: MiddlewarePlace, passed: RecordingList<String>? = nil) -> PlacedMiddleware {
        PlacedMiddleware(place.description, at: place, Self.libraryRules[place] ?? [], passed: passed)
    }

    private func sorted(_ layers: [any HTTPMiddleware]) -> HTTPStack {
        HTTPStack.sorted(around: stub).wrapped { layers }
    }

    private func labels(_ stack: HTTPStack) -> [String] { stack.layers.dropLast().map(\.label) }

    // MARK: The order

    @Test func placesAreUnique() {
        #expect(Set(MiddlewarePlace.canonicalOrder).count == MiddlewarePlace.canonicalOrder.count)
        #expect(Self.libraryRules.keys.allSatisfy { MiddlewarePlace.canonicalOrder.contains($0) }, "every middleware has a place")
    }

    @Test func eachPairOfPlacesIsSorted() {
        for (index, outer) in Self.places.enumerated() {
            for inner in Self.places[(index + 1)...] {
                let plain = HTTPStack.sorted(around: stub)
                for stack in [
                    plain.wrapped(by: layer(outer)).wrapped(by: layer(inner)), plain.wrapped(by: layer(inner)).wrapped(by: layer(outer)),
                    sorted([layer(inner), layer(outer)]),
                ] {
                    #expect(labels(stack) == [outer.description, inner.description] && stack.orderProblems == [])
                }
            }
        }
    }

    @Test func anyPermutationIsTheSameStack() async throws {
        var generator = SeededGenerator(seed: 37)
        let unplaced = ["first", "second", "third"]
        // The later of two that belong at one place is outside.
        let expected = MiddlewarePlace.canonicalOrder.flatMap { $0 == .unplaced ? ["third", "second", "first"] : [$0.description] }
        for round in 0..<5_000 {
            let passed = RecordingList<String>()
            var names = unplaced[...]
            let kinds = (Self.places.map(Optional.some) + unplaced.map { _ in nil }).shuffled(using: &generator)
            let stack = sorted(
                kinds.map { place in
                    if let place { layer(place, passed: passed) } else { PlacedMiddleware(names.removeFirst(), passed: passed) }
                })
            guard labels(stack) == expected, stack.orderProblems == [] else {
                Issue.record("\(kinds.map { $0?.description ?? "unplaced" }): \(stack)")
                return
            }
            if round % 100 == 0 {
                _ = try await stack.send(Request(.get, url: "https://a.example/"))
                #expect(passed.all == expected)
            }
        }
    }

    /// The middleware itself, not a double at its place.
    @Test func modifiersCanBeWrittenInAnyOrder() async throws {
        var generator = SeededGenerator(seed: 38)
        var modifiers: [@Sendable (HTTPStack) -> HTTPStack] = [
            { $0.phaseTimeouts(firstByte: .seconds(1)) }, { $0.delay(by: .zero) }, { $0.concurrencyLimit(1) }, { $0.rateLimit() },
            { $0.circuitBreaker() }, { $0.hedge() }, { $0.coalesce() }, { $0.decompress() }, { $0.compressRequests() }, { $0.redirect() },
            { $0.retry() }, { $0.validate(ResponseValidator("any") { _, _, _ in .next }) }, { $0.fallback(data: Data(), statuses: [503]) },
            { $0.validateStatus() },
            { $0.timeout(.seconds(1)) }, { $0.profile() }, { $0.events { _ in nil } }, { $0.number() }, { $0.userAgent("Shop/2.1") },
            { $0.server("https://a.example") },
            { $0.transformRequest { _ in } },
        ]
        #if Auth
        modifiers += [{ $0.authenticate(.bearer("token")) }, { $0.hsts(HSTSList()) }, { $0.sign(with: Self.aws) }]
        #endif
        #if Telemetry
        modifiers += [{ $0.metrics() }, { $0.trace() }, { $0.traceCall() }, { $0.log(to: recordingLogger().0) }]
        #endif
        let expected = modifiers.reduce(HTTPStack.sorted(around: stub)) { $1($0) }
        #expect(expected.orderProblems == [])
        for _ in 0..<100 {
            let stack = modifiers.shuffled(using: &generator).reduce(HTTPStack.sorted(around: stub)) { $1($0) }
            #expect(stack.description == expected.description)
        }
        let response = try await expected.send(Request(.get, "/x"))
        #expect(response.status == .ok && response.metadata.requestNumber == 1)
    }

    // MARK: Layers of others

    @Test func rulesPlaceAThirdPartyLayer() {
        let signature = PlacedMiddleware("signature", at: MiddlewarePlace("com.example.signature"), [.inside(.retry, because: "x")])
        let audit = PlacedMiddleware("audit", [.outside(.retry, because: "x"), .outside(.redirect, because: "x")])
        let both = PlacedMiddleware("both", [.outside(.log, because: "x"), .inside(.cache, because: "x"), .inside(.retry, because: "x")])
        for isFirst in [true, false] {
            func stack(_ layer: PlacedMiddleware, _ modify: (HTTPStack) -> HTTPStack) -> [String] {
                let plain = HTTPStack.sorted(around: stub)
                return labels(isFirst ? modify(plain.wrapped(by: layer)) : modify(plain).wrapped(by: layer)).map {
                    String($0.prefix { $0 != "(" })
                }
            }
            #expect(stack(signature) { $0.redirect().retry().timeout(.seconds(1)) } == ["timeout", "retry", "signature", "redirect"])
            #expect(
                stack(signature) { $0.redirect().timeout(.seconds(1)) } == ["timeout", "signature", "redirect"], "without retry as well")
            #expect(stack(audit) { $0.redirect().retry().validateStatus() } == ["validateStatus", "audit", "retry", "redirect"])
            #expect(stack(both) { $0.coalesce().retry().redirect() } == ["retry", "redirect", "both", "coalesce"])
            #expect(
                stack(PlacedMiddleware("unplaced")) { $0.retry().validateStatus().fallback(data: Data()).timeout(.seconds(1)) }
                    == ["timeout", "validateStatus", "unplaced", "fallback", "retry"])
        }
    }

    /// Rules about places of others move nothing, and are reported.
    @Test func aRuleAboutAThirdPartyPlaceIsOnlyReported() {
        let place = MiddlewarePlace("com.example.a")
        let (a, b) = (PlacedMiddleware("a", at: place), PlacedMiddleware("b", [.inside(place, because: "b needs what a adds")]))
        #expect(labels(sorted([b, a])) == ["a", "b"] && sorted([b, a]).orderProblems == [])
        #expect(labels(sorted([a, b])) == ["b", "a"])
        #expect(sorted([a, b]).orderProblems == ["b is outside com.example.a: b needs what a adds"])
    }

    @Test func theAppCanNameAnotherPosition() {
        let (layer, events) = (PlacedMiddleware("own"), EventsMiddleware { _ in nil })
        let stack = HTTPStack.sorted(around: stub).wrapped(by: layer, inside: .retry).wrapped(by: events, inside: .redirect).redirect()
            .retry()
            .wrapped(by: PlacedMiddleware("outer"), outside: .retry)
        #expect(labels(stack).map { String($0.prefix { $0 != "(" }) } == ["outer", "retry", "own", "redirect", "events"])
        // The rule of the middleware itself still stands.
        #expect(stack.orderProblems.count == 2)
        let wrapped = stub.retry().wrapped(by: layer, inside: .retry)
        #expect(
            wrapped.orderProblems == [
                "own is outside retry: wrapped(by:inside:) requires the opposite order, but stacks sort only by places of the canonical order"
            ])
        #expect(stub.retry().wrapped(by: layer, outside: .retry).orderProblems == [])
        // A place of others has no position of its own.
        let other = HTTPStack.sorted(around: stub).retry().wrapped(by: layer, inside: MiddlewarePlace("com.example.a"))
        #expect(labels(other).first == "own" && other.orderProblems == [])
    }

    // MARK: Rows of their own

    @Test func aConditionalLayerHasTheRankOfItsMiddleware() {
        let stack = HTTPStack.sorted(around: stub).wrapped(by: RetryMiddleware(), when: .method(.get)).metricsOrDelay()
            .wrapped(by: TimeoutMiddleware(.seconds(1)), when: .method(.post)).validateStatus()
        #expect(labels(stack).map { String($0.prefix { $0 != "(" }) } == ["timeout", "validateStatus", "retry", "delay"])
    }

    @Test func aLayerOfTheAppReplacesADefaultOne() {
        let plain = HTTPStack.sorted(around: stub) {
            RedirectMiddleware()
            DecompressMiddleware()
        }
        #expect(labels(plain).count == 2)
        #expect(labels(plain.retry()).count == 3, "a layer of another place replaces no default layer")
        let own = plain.redirect(RedirectPolicy(maxHops: 3)).retry().decompress(DecompressionLimits(limitBytes: 9))
        #expect(labels(own).count == 3 && labels(own)[1] == RedirectMiddleware(RedirectPolicy(maxHops: 3)).label)
        #expect(own.orderProblems == [])
        // Two layers of the app both stay, and the broken rule of one layer is reported.
        #expect(own.decompress().orderProblems.count == 1)
        #expect(labels(HTTPStack.sorted(around: stub).redirect().redirect()).count == 2)
    }

    /// The default one stays for the other requests.
    @Test func aConditionalLayerReplacesADefaultOneForItsRequests() async throws {
        let stub = StubTransport(
            Stub(.get, "/moved").responds(.redirect(to: "/there"), repeatingLast: true),
            Stub(.get, "/there").responds(.status(.ok), repeatingLast: true))
        let stack = HTTPStack.sorted(around: stub) { RedirectMiddleware() }
            .wrapped(by: RedirectMiddleware(RedirectPolicy(maxHops: 0)), when: .host("b.example"))
        #expect(labels(stack).count == 1 && labels(stack)[0].contains(" when host b.example, else redirect("))
        #expect(try await stack.send(Request(.get, url: "https://a.example/moved")).status == .ok)
        await #expect(throws: RedirectError.self) { try await stack.send(Request(.get, url: "https://b.example/moved")) }
        // A layer without a condition replaces the default one alone: a layer of the app never leaves the stack.
        let own = RedirectMiddleware(RedirectPolicy(maxHops: 3)).label
        #expect(labels(stack.redirect(RedirectPolicy(maxHops: 3))) == [own, "redirect(at most 0) when host b.example"])
        // One whose position the app has named replaces none.
        let both = HTTPStack.sorted(around: stub) { RedirectMiddleware() }.wrapped(by: RedirectMiddleware(), inside: .authenticate)
        #expect(labels(both).count == 2 && both.orderProblems.count == 1)
    }

    /// Around the attempts, because the app says so, or in the sender that is sorted around.
    @Test func aTimeoutForAttemptsIsNotReportedAsADuplicate() {
        let named = HTTPStack.sorted(around: stub).retry().timeout(.seconds(30)).wrapped(
            by: TimeoutMiddleware(.seconds(5)), inside: .retry)
        #expect(named.orderProblems == [])
        #expect(HTTPStack.sorted(around: stub.timeout(.seconds(5))).retry().timeout(.seconds(30)).orderProblems == [])
    }

    /// A request to another sender bypasses the layers inside.
    @Test func aRequestToAnotherSenderBypassesTheLayersInside() async throws {
        let other = StubTransport(Stub().responds(.status(.internalServerError), repeatingLast: true))
        var request = try Request(.get, url: "https://a.example/")
        request.options.timeout = .use(.seconds(2))
        let mirroring = ClosureMiddleware(mayBypassInnerLayers: true) { request, _ in try await HTTPStack(other).sendWithinCall(request) }
        let response = try await stub.timeout(.seconds(30)).wrapped(by: mirroring).send(request)
        #expect(other.requests.first?.request.deadline != nil && response.request.deadline == nil)
        let client = APIClient(stub.validateStatus().wrapped(by: mirroring).server("https://a.example"))
        await #expect(throws: StatusError.self) { try await client.data(Endpoint<Int>.get("/")) }
    }

    @Test func twoTimeoutsInASortedStackAreReported() {
        let two = HTTPStack.sorted(around: stub).timeout(.seconds(5)).retry().timeout(.seconds(30))
        #expect(
            two.orderProblems == [
                "timeout is outside another timeout: both layers would limit the whole call; phaseTimeouts(attempt:) limits each attempt"
            ])
        let attempt = HTTPStack.sorted(around: stub).phaseTimeouts(attempt: .seconds(5)).retry().timeout(.seconds(30))
        #expect(attempt.orderProblems == [])
        let inside = stub.timeout(.seconds(5)).retry()
        #expect(inside.orderProblems.count == 1 && inside.orderProblems[0].contains("phaseTimeouts(attempt:)"))
        #expect(stub.timeout(.seconds(5)).retry().timeout(.seconds(30)).orderProblems == [])
    }

    @Test func aStackIsSortedAsOneSender() {
        let inner = stub.server("https://a.example").wrapped(by: PlacedMiddleware("inner"))
        let stack = HTTPStack.sorted(around: inner).retry().validateStatus()
        #expect(labels(stack).map { String($0.prefix { $0 != "(" }) } == ["validateStatus", "retry", "inner", "server"])
        #expect(stack.capabilities == stub.capabilities && stack.contains(.server))
        // The other sender of a fallback stays as it is.
        let fallback = HTTPStack.sorted(around: stub).fallback(to: stub.retry().validateStatus()).retry()
        #expect(labels(fallback).count == 2)
        // A stack that is given keeps its rule.
        let again = HTTPStack(stack).timeout(.seconds(1)).retry()
        #expect(again.description.hasPrefix("timeout(1 s) > validateStatus"))
    }

    @Test func aStackCanKeepItsOrder() {
        let stack = HTTPStack.sorted(around: stub).retry().validateStatus().unsorted.timeout(.seconds(5)).wrapped(
            by: PlacedMiddleware("last"))
        #expect(labels(stack).map { String($0.prefix { $0 != "(" }) } == ["last", "timeout", "validateStatus", "retry"])
        #expect(stack.unsorted.description == stack.description)
    }

    /// In any order with `server`; the wait for a slot is not part of the attempt.
    @Test func theAttemptOfStandardResilienceStartsAfterTheSlot() async throws {
        for isFirst in [true, false] {
            let plain = HTTPStack.sorted(around: stub)
            let stack =
                isFirst
                ? plain.standardResilience().server("https://a.example") : plain.server("https://a.example").standardResilience()
            #expect(stack.orderProblems == [])
            #expect(
                labels(stack).map { String($0.prefix { $0 != "(" }) }
                    == ["server", "timeout", "retry", "circuitBreaker", "concurrencyLimit", "phaseTimeouts"])
        }
    }

    /// Wherever it is written, it sees a refused response as a response, once a call, with the whole URL and the deadline.
    @Test func anUnplacedLayerSeesEveryResponse() async throws {
        let modifiers: [@Sendable (HTTPStack) -> HTTPStack] = [
            { $0.retry(RetryPolicy(maxAttempts: 2)) }, { $0.validateStatus() }, { $0.timeout(.seconds(30)) },
            { $0.server("https://a.example") },
        ]
        for isJudged in [true, false] {
            for position in 0...modifiers.count {
                let seen = Watched<[String]>([])
                var all = modifiers
                let recording = ClosureMiddleware { request, next in
                    let response = try await next.send(request)
                    seen.change { $0.append("\(response.status.code) \(request.url?.description ?? "") \(request.deadline != nil)") }
                    return response
                }
                all.insert({ $0.wrapped(by: recording) }, at: position)
                if !isJudged { all.remove(at: position <= 1 ? 2 : 1) }
                let stub = StubTransport(Stub().responds(.status(.unauthorized)))
                let client = APIClient(all.reduce(HTTPStack.sorted(around: stub)) { $1($0) })
                let error = await #expect(throws: StatusError.self) { try await client.data(Endpoint<Int>.get("/x")) }
                #expect(error?.status == .unauthorized && seen.value == ["401 https://a.example/x true"])
            }
        }
    }

    // MARK: Prepared requests

    @Test func eachMiddlewareSaysWhetherPreparedRequestsPassIt() {
        var passing: [any HTTPMiddleware] = [
            ServerMiddleware("https://a.example"), UserAgentMiddleware(), TimeoutMiddleware(.seconds(1)), ValidateStatusMiddleware(),
            RetryMiddleware(),
            RedirectMiddleware(), DecompressMiddleware(), CompressRequestsMiddleware(),
            PhaseTimeoutsMiddleware(PhaseTimeouts(firstByte: .seconds(1))), ValidateMiddleware([]),
        ]
        var bypassed: [any HTTPMiddleware] = [
            NumberMiddleware(), EventsMiddleware { _ in nil }, ProfileMiddleware(), FallbackMiddleware { _, _ in nil },
            CoalesceMiddleware(), CacheMiddleware(in: .memory),
            HedgeMiddleware(), CircuitBreakerMiddleware(CircuitBreaker()), RateLimitMiddleware(), ConcurrencyLimitMiddleware(.fixed(1)),
            DelayMiddleware(by: .zero), WaitForNetworkMiddleware(upTo: .zero, at: NetworkGate(ScriptedPathMonitor())),
        ]
        #if Auth
        passing += [AuthenticateMiddleware(.bearer("token")), HSTSMiddleware(HSTSList()), CookiesMiddleware(CookieJar())]
        #endif
        #if Telemetry
        bypassed += [
            LogMiddleware(recordingLogger().0), MetricsMiddleware(), TraceMiddleware(), TraceCallMiddleware(),
        ]
        #endif
        for middleware in passing { #expect(middleware.appliesToPreparedRequests, "\(middleware.label)") }
        for middleware in bypassed { #expect(!middleware.appliesToPreparedRequests, "\(middleware.label)") }
        let placed = Set((passing + bypassed).map(\.place))
        let toCome: Set<MiddlewarePlace> = [.unplaced, .record, .sign]
        #expect(placed.union(toCome) == Set(MiddlewarePlace.canonicalOrder).union(toCome), "each place of the order has a row")
    }
}

extension HTTPStack {
    fileprivate func metricsOrDelay() -> HTTPStack { delay(by: .zero) }
}
