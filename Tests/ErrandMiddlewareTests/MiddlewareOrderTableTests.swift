import Errand
import ErrandTesting
import Foundation
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
        (.cache, .coalesce),
        (.timeout, .coalesce),
        (.validateStatus, .coalesce),
        (.validate, .coalesce),
        (.retry, .coalesce),
        (.redirect, .coalesce),
        (.authenticate, .coalesce),
        (.cookies, .coalesce),
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
        .metrics().trace().concurrencyLimit(1).rateLimit().circuitBreaker().hedge().coalesce().redirect().retry()
        .fallback(data: Data(), statuses: [503]).validateStatus().timeout(.seconds(1)).profile().events { _ in nil }.traceCall().number()
        .server("https://a.example")

    @Test func theRulesAreThese() {
        var declared: [Pair] = []
        for layer in Self.stack.layers {
            for neighbor in layer.neighbors {
                guard let place = layer.place else { continue }
                declared.append(
                    neighbor.side == .outside ? Pair(outer: place, inner: neighbor.place) : Pair(outer: neighbor.place, inner: place))
            }
        }
        #expect(Set(declared).count == declared.count, "each pair is declared once")
        #expect(Set(declared) == Set(Self.expected.map { Pair(outer: $0.outer, inner: $0.inner) }))
    }

    @Test func theCanonicalOrderKeepsThemAll() { #expect(Self.stack.orderProblems == []) }

    @Test func eachRuleNamesItsPair() {
        let stub = StubTransport()
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
            (
                stub.validateStatus().fallback(data: Data(), statuses: [503]),
                "fallback is outside validateStatus: fallback would see an error where it looks for a status"
            ),
        ]
        for (stack, problem) in wrong { #expect(stack.orderProblems == [problem]) }
    }

    /// Where they look for no status, `validateStatus` inside makes a failure of one, which is a way to use it.
    @Test func validateStatusMayStandInsideWhatLooksForNoStatus() {
        let stub = StubTransport()
        #expect(stub.validateStatus().fallback(to: stub).orderProblems == [])
        #expect(stub.validateStatus().retry(RetryPolicy(statuses: [])).orderProblems == [])
        #expect(stub.validateStatus().retry().orderProblems.count == 1)
    }
}
