import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MiddlewareOrderTests {
    /// A middleware of a third party, with its own place and rules.
    private func thirdParty(_ name: String, _ neighbors: MiddlewareNeighbor...) -> PlacedMiddleware {
        PlacedMiddleware(name, at: MiddlewarePlace("com.example." + name), neighbors)
    }

    private static let a = MiddlewarePlace("com.example.a")
    private static let b = MiddlewarePlace("com.example.b")
    private static let c = MiddlewarePlace("com.example.c")

    /// Outermost first.
    private func problems(_ middleware: any HTTPMiddleware...) -> [String] { problems(middleware) }

    private func problems(_ middleware: [any HTTPMiddleware]) -> [String] {
        StubTransport().wrapped { Array(middleware.reversed()) }.orderProblems
    }

    @Test func aPlaceIsItsName() {
        #expect(Self.a == MiddlewarePlace("com.example.a") && Self.a != Self.b && Self.a.description == "com.example.a")
        #expect(MiddlewarePlace("retry") == .retry)
        #expect(StubTransport().wrapped(by: thirdParty("a")).contains(Self.a))
    }

    @Test func aThirdPartyMiddlewareHasItsRules() {
        let signature = thirdParty("signature", .inside(.retry, because: "all attempts would have the same timestamp"))
        #expect(problems(RetryMiddleware(), signature) == [])
        let wrong = StubTransport().retry().wrapped(by: signature)
        #expect(
            wrong.orderProblems == ["com.example.signature is outside retry: all attempts would have the same timestamp"])
        #expect(wrong.description.hasSuffix("StubTransport\n  order: " + wrong.orderProblems[0]))
        #expect(problems(signature) == [], "a neighbor that is not there has no side")
    }

    @Test func twoThirdPartyMiddlewaresNameEachOther() {
        let inner = thirdParty("b", .inside(Self.a, because: "b would see what a hides"))
        #expect(problems(thirdParty("a"), inner) == [])
        #expect(problems(inner, thirdParty("a")) == ["com.example.b is outside com.example.a: b would see what a hides"])
    }

    @Test func aRuleThatBothSidesDeclareIsReportedOnce() {
        let outer = thirdParty("a", .outside(Self.b, because: "first reason"))
        let inner = thirdParty("b", .inside(Self.a, because: "second reason"))
        #expect(problems(outer, inner) == [])
        #expect(problems(inner, outer) == ["com.example.b is outside com.example.a: second reason"])
    }

    @Test func aMiddlewareWithoutAPlaceIsCalledByItsLabel() {
        let unplaced = PlacedMiddleware("nameless(1)", [.outside(.retry, because: "it would run once for each attempt")])
        #expect(problems(unplaced, RetryMiddleware()) == [])
        #expect(problems(RetryMiddleware(), unplaced) == ["retry is outside nameless(1): it would run once for each attempt"])
    }

    @Test func theOutermostOfSeveralLayersOfOnePlaceCounts() {
        let events = EventsMiddleware { _ in nil }
        #expect(problems(events, RetryMiddleware(), events) == [])
        #expect(problems(RetryMiddleware(), events, events).count == 1)
        // The one that has the rule, where they differ.
        let (any, listed) = (FallbackMiddleware { _, _ in nil }, FallbackMiddleware(statuses: [503]) { _, _ in nil })
        #expect(problems(any, ValidateStatusMiddleware(), listed) == [])
        #expect(problems(listed, ValidateStatusMiddleware(), any).count == 1)
    }

    @Test func aDuplicateOfASinglePlaceIsReportedOnce() {
        let alone = thirdParty("a", .once(because: "a reason"))
        #expect(problems(alone) == [] && problems(alone, thirdParty("b")) == [])
        #expect(problems(alone, thirdParty("b"), alone) == ["com.example.a is outside another com.example.a: a reason"])
        #expect(problems(alone, alone, alone).count == 1)
        #expect(problems(thirdParty("a"), alone).count == 1, "one of the two has the rule")
        #expect(
            problems(thirdParty("b", .once(because: "a reason")), thirdParty("a"), thirdParty("a")) == [],
            "it is for the own place")
        #expect(problems(thirdParty("a"), thirdParty("a")) == [], "without the rule, a place may occur twice")
    }

    @Test func layersWithExclusiveConditionsAreAllowed() {
        let alone = thirdParty("a", .once(because: "a reason"))
        let reading = StubTransport().wrapped(by: alone, when: .method(.get))
        #expect(reading.wrapped(by: alone, when: .method(.post)).orderProblems == [])
        #expect(reading.wrapped(by: alone).orderProblems == [])
        #expect(reading.wrapped(by: alone).wrapped(by: alone).orderProblems.count == 1)
    }

    @Test func aConditionKeepsTheRules() {
        let stack = StubTransport().retry()
            .wrapped(by: thirdParty("a", .inside(.retry, because: "a reason")), when: .method(.get))
        #expect(stack.orderProblems == ["com.example.a is outside retry: a reason"])
    }

    // MARK: Contradictions

    @Test(arguments: [false, true]) func contradictoryRulesOfTwoMiddlewaresAreReported(isReversed: Bool) {
        let middleware = [
            thirdParty("a", .outside(Self.b, because: "one reason")),
            thirdParty("b", .outside(Self.a, because: "another reason")),
        ]
        let found = problems(isReversed ? middleware.reversed() : middleware)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("rules contradict one another: ") == true)
        #expect(found.first?.contains("com.example.a must be outside com.example.b (one reason)") == true)
        #expect(found.first?.contains("com.example.b must be outside com.example.a (another reason)") == true)
    }

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func aCircleOfRulesIsReportedOnceInEveryOrder(_ order: [Int]) {
        let middleware = [
            thirdParty("a", .outside(Self.b, because: "x")), thirdParty("b", .outside(Self.c, because: "y")),
            thirdParty("c", .outside(Self.a, because: "z")),
        ]
        let found = problems(order.map { middleware[$0] })
        #expect(found.count == 1 && found[0].hasPrefix("rules contradict one another: "))
        for reason in ["(x)", "(y)", "(z)"] { #expect(found[0].contains(reason)) }
    }

    @Test func aContradictionWithinOneMiddlewareIsReported() {
        let torn = thirdParty("a", .outside(.retry, because: "x"), .inside(.retry, because: "y"))
        #expect(problems(torn, RetryMiddleware()).count == 1 && problems(RetryMiddleware(), torn).count == 1)
        #expect(problems(thirdParty("a", .outside(Self.a, because: "x"))) == [], "a rule about itself says nothing")
    }

    @Test func aContradictionHidesNoOtherProblem() {
        let found = problems(
            RetryMiddleware(), thirdParty("a", .outside(Self.b, because: "x")),
            thirdParty("b", .outside(Self.a, because: "y")),
            ValidateStatusMiddleware())
        #expect(found.count == 2)
        #expect(found.contains("retry is outside validateStatus: retry would get an error instead of the status"))
    }
}
