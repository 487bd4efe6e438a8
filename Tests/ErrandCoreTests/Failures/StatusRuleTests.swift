import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct StatusRuleTests {
    @Test func aListContainsItsStatusesAlone() {
        let rule: StatusRule = [503, 429]
        #expect((100...599).filter { rule.contains(HTTPResponse.Status(code: $0)) } == [429, 503])
        #expect("\(rule)" == "429, 503" && !rule.isEmpty)
    }

    @Test func anEmptyListContainsNoStatus() {
        let rule: StatusRule = []
        #expect(rule.isEmpty && !rule.contains(.ok) && !rule.contains(.serviceUnavailable))
    }

    @Test func aUnionContainsTheStatusesOfBothRules() {
        let lists = StatusRule.transient.union([409])
        #expect(lists.contains(.conflict) && lists.contains(.serviceUnavailable) && !lists.contains(.notFound))
        #expect("\(lists)" == "408, 409, 425, 429, 500, 502, 503, 504")
        let mixed = StatusRule.successful.union([404])
        #expect(mixed.contains(.noContent) && mixed.contains(.notFound) && !mixed.contains(.gone) && "\(mixed)" == "2xx, 404")
        #expect(!mixed.isEmpty)
    }

    @Test func listsOfTheSameStatusesAreEqual() {
        let (one, other): (StatusRule, StatusRule) = ([503, 429], .statuses([429, 503]))
        #expect(one == other && one.hashValue == other.hashValue && one != [503])
    }

    @Test func aRuleWithAClosureEqualsItsCopiesAlone() {
        let rule = StatusRule("below 500") { $0.code < 500 }
        let copy = rule
        #expect(copy == rule && Set([copy, rule]).count == 1)
        #expect(rule != StatusRule("below 500") { $0.code < 500 } && rule != [])
    }
}
