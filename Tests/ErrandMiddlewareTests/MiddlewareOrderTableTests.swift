import Errand
import ErrandTesting
import Foundation
import Logging
import Testing

/// The rules of the library's own middleware: all of them, and no others.
@Suite(.timeLimit(.minutes(5))) struct MiddlewareOrderTableTests {
    private struct Pair: Hashable, CustomStringConvertible {
        let outer: MiddlewarePlace
        let inner: MiddlewarePlace

        var description: String { "\(outer) outside \(inner)" }
    }

    private static let expected: [(outer: MiddlewarePlace, inner: MiddlewarePlace)] = [
        (.number, .events),
        (.number, .log),
        (.server, .log),
        (.events, .retry),
        (.events, .redirect),
        (.profile, .redirect),
        (.profile, .retry),
        (.validateStatus, .retry),
        (.validateStatus, .fallback),
        (.validateStatus, .authenticate),
        (.validateStatus, .redirect),
        (.validateStatus, .cache),
        (.fallback, .retry),
        (.retry, .authenticate),
        (.redirect, .cache),
        (.redirect, .cookies),
        (.redirect, .authenticate),
        (.server, .hsts),
        (.redirect, .hsts),
        (.hsts, .authenticate),
        (.hsts, .cookies),
        (.hsts, .cache),
        (.cache, .coalesce),
        (.cache, .hedge),
        (.cache, .circuitBreaker),
        (.cache, .waitForNetwork),
        (.cache, .concurrencyLimit),
        (.cache, .delay),
        (.timeout, .coalesce),
        (.timeout, .retry),
        (.validateStatus, .coalesce),
        (.validate, .coalesce),
        (.retry, .coalesce),
        (.redirect, .coalesce),
        (.authenticate, .coalesce),
        (.cookies, .coalesce),
        (.server, .cookies),
        (.validateStatus, .cookies),
        (.authenticate, .cookies),
        (.cookies, .cache),
        (.coalesce, .hedge),
        (.retry, .hedge),
        (.hedge, .circuitBreaker),
        (.hedge, .rateLimit),
        (.hedge, .concurrencyLimit),
        (.retry, .circuitBreaker),
        (.retry, .rateLimit),
        (.retry, .concurrencyLimit),
        (.coalesce, .circuitBreaker),
        (.coalesce, .rateLimit),
        (.circuitBreaker, .rateLimit),
        (.circuitBreaker, .concurrencyLimit),
        (.cache, .rateLimit),
        (.rateLimit, .concurrencyLimit),
        (.server, .authenticate),
        (.server, .cache),
        (.server, .coalesce),
        (.server, .redirect),
        (.server, .rateLimit),
        (.server, .concurrencyLimit),
        (.server, .metrics),
        (.server, .trace),
        (.traceCall, .retry),
        (.traceCall, .trace),
        (.retry, .metrics),
        (.redirect, .metrics),
        (.authenticate, .metrics),
        (.retry, .trace),
        (.redirect, .trace),
        (.authenticate, .trace),
        (.cache, .metrics),
        (.cache, .trace),
        (.coalesce, .metrics),
        (.coalesce, .trace),
    ]

    private static let stack = StubTransport()
        .metrics().trace().concurrencyLimit(1).rateLimit().circuitBreaker().hedge().coalesce().cache(in: .memory)
        .cookies(CookieJar()).hsts(HSTSList())
        .redirect().retry()
        .fallback(data: Data(), statuses: [503]).validateStatus().timeout(.seconds(1)).profile().events { _ in nil }
        .log(to: Logger(label: "order")).traceCall().number()
        .server("https://a.example")

    @Test func theDeclaredRulesMatchTheTable() {
        var declared: [Pair] = []
        for layer in Self.stack.layers {
            for neighbor in layer.neighbors {
                guard let other = neighbor.place else { continue }
                let place = layer.place
                declared.append(neighbor.side == .outside ? Pair(outer: place, inner: other) : Pair(outer: other, inner: place))
            }
        }
        #expect(Set(declared).count == declared.count, "each pair is declared once")
        #expect(Set(declared) == Set(Self.expected.map { Pair(outer: $0.outer, inner: $0.inner) }))
        let once = Self.stack.layers.filter { $0.neighbors.contains { $0.side == .once } }
        #expect(once.map(\.place) == [.retry, .redirect, .cookies])
    }

    @Test func theCanonicalOrderKeepsAllRules() { #expect(Self.stack.orderProblems == []) }

    @Test func eachRuleNamesItsPair() {
        let (stub, logger) = (StubTransport(), Logger(label: "order"))
        let wrong: [(HTTPStack, String)] = [
            (
                stub.coalesce().circuitBreaker(),
                "circuitBreaker is outside coalesce: the breaker would count a shared exchange once for each call"
            ),
            (stub.coalesce().rateLimit(), "rateLimit is outside coalesce: a shared exchange would use up the limit once for each call"),
            (
                stub.circuitBreaker().rateLimit(),
                "rateLimit is outside circuitBreaker: a request that the breaker refuses would use up the limit"
            ),
            (
                stub.circuitBreaker().concurrencyLimit(1),
                "concurrencyLimit is outside circuitBreaker: a request that the breaker refuses would wait for a slot"
            ),
            (stub.server("https://a.example").log(to: logger), "log is outside server: the records would not contain the server"),
            (stub.number().log(to: logger), "log is outside number: the records would not have the number of the call"),
            (
                stub.decompress().decompress(),
                "decompress is outside another decompress: the inner decompress would decode nothing, and its limits would not apply"
            ),
            (stub.redirect().hsts(HSTSList()), "hsts is outside redirect: the next hop would be sent by http"),
            (
                stub.hsts(HSTSList()).authenticate(.bearer("token")),
                "authenticate is outside hsts: credentials would be chosen for the URL with http"
            ),
            (stub.retry().retry(), "retry is outside another retry: the attempts of both layers would be multiplied"),
            (
                stub.validateStatus().fallback(data: Data(), statuses: [503]),
                "fallback is outside validateStatus: fallback would get an error instead of the status"
            ),
        ]
        for (stack, problem) in wrong { #expect(stack.orderProblems == [problem]) }
    }

    /// A timeout inside `retry` limits each attempt, and a timeout outside limits the call. Both timeouts are useful, also together.
    @Test func aTimeoutIsAllowedOnBothSidesOfRetry() {
        let stack = StubTransport().timeout(.seconds(5)).retry().timeout(.seconds(30))
        #expect(stack.orderProblems == [] && stack.description.hasPrefix("timeout(30 s) > retry("))
        #expect(stack.description.hasSuffix(" > timeout(5 s) > StubTransport"))
    }

    /// If these layers look for no status, an inner `validateStatus` is useful: it turns a status into a failure.
    @Test func validateStatusIsAllowedInsideLayersWithoutStatuses() {
        let stub = StubTransport()
        #expect(stub.validateStatus().fallback(to: stub).orderProblems == [])
        #expect(stub.validateStatus().retry(RetryPolicy(statuses: [])).orderProblems == [])
        #expect(stub.validateStatus().retry().orderProblems.count == 1)
    }
}
