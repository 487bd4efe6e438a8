import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, sections 4.3.1 and 4.3.4.
@Suite(.timeLimit(.minutes(5))) struct ValidationRuleTests {
    private func entries(_ validators: [[String]]) -> [CacheEntry] {
        validators.enumerated().map { entry(Int64($0), head($1, at: instant(Double($0)))) }
    }

    /// The first entry belongs to the request.
    @Test(
        arguments: [
            ([["ETag: \"a\""]], ["If-None-Match: \"a\""], [0]), ([["ETag: W/\"a\""]], ["If-None-Match: W/\"a\""], [0]),
            ([["Last-Modified: \(date(-9))"]], ["If-Modified-Since: \(date(-9))"], [0]),
            ([["ETag: \"a\"", "Last-Modified: \(date(-9))"]], ["If-None-Match: \"a\"", "If-Modified-Since: \(date(-9))"], [0]),
            ([["ETag: \"a\""], ["ETag: \"b\""]], ["If-None-Match: \"a\", \"b\""], [0, 1]),
            ([["ETag: \"a\""], ["ETag: \"a\""]], ["If-None-Match: \"a\""], [0, 1]),
            ([["ETag: \"a\""], ["Last-Modified: \(date(-9))"]], ["If-None-Match: \"a\""], [0]),
            ([["Last-Modified: \(date(-9))"], ["ETag: \"b\""]], ["If-None-Match: \"b\"", "If-Modified-Since: \(date(-9))"], [0, 1]),
            ([[]], [], []), ([["ETag: a"]], [], []), ([["Last-Modified: foo"]], [], []),
            ([[], ["ETag: \"b\""]], ["If-None-Match: \"b\""], [1]),
            ([["ETag: \"a\"", "ETag: \"b\""]], [], []),
            // As sent, with the suffix that some servers add: radar 32270378.
            ([["ETag: \"a-gzip\""], ["ETag: W/\"a\""]], ["If-None-Match: \"a-gzip\", W/\"a\""], [0, 1]),
        ] as [([[String]], [String], [Int64])])
    func aRequestNamesAllValidators(_ validators: [[String]], _ expected: [String], _ candidates: [Int64]) {
        let entries = entries(validators)
        let conditions = ValidationRule.conditions(selected: entries[0], others: Array(entries.dropFirst()))
        #expect(conditions.fields.map { "\($0.name.rawName): \($0.value)" } == expected)
        #expect(conditions.candidates.map(\.id.rawValue) == candidates)
    }

    /// The tag of the request's response comes first, and then the tags of the most recent responses.
    @Test func theTagsOfARequestHaveALimitInSum() {
        func tag(_ number: Int, _ bytes: Int) -> String { String(repeating: "\(number)", count: bytes) }
        let entries = entries((0..<6).map { ["ETag: \"\(tag($0, 1000))\"", "Last-Modified: \(date(-9))"] })
        let conditions = ValidationRule.conditions(selected: entries[1], others: entries.filter { $0.id != entries[1].id })
        #expect(conditions.candidates.map(\.id.rawValue) == [1, 5, 4, 3])
        #expect(conditions.fields[0].value.utf8.count <= CacheLimits.validatorBytes)
        let long = entry(9, head(["ETag: \"\(tag(9, 5000))\"", "Last-Modified: \(date(-9))"], at: instant(9)))
        let others = ValidationRule.conditions(selected: entries[1], others: [long, entries[0]])
        #expect(others.candidates.map(\.id.rawValue) == [1, 0], "a long tag hides no short tag")
        let alone = ValidationRule.conditions(selected: long, others: [])
        #expect(alone.fields.map(\.name) == [.ifModifiedSince] && alone.candidates.map(\.id.rawValue) == [9])
    }

    @Test func aRequestNamesAtMost16Tags() {
        let entries = entries((0..<40).map { ["ETag: \"\($0)\""] })
        let conditions = ValidationRule.conditions(selected: nil, others: entries)
        #expect(conditions.candidates.count == 16 && conditions.fields[0].value.split(separator: ",").count == 16)
    }

    @Test(
        arguments: [
            // Strong validators identify all responses with the same validator.
            ([["ETag: \"a\""]], ["ETag: \"a\""], [0]), ([["ETag: \"a\""], ["ETag: \"b\""]], ["ETag: \"b\""], [1]),
            ([["ETag: \"a\""], ["ETag: \"a\""]], ["ETag: \"a\""], [0, 1]), ([["ETag: \"a\""]], ["ETag: \"b\""], []),
            // Weak validators identify the most recent response.
            ([["ETag: W/\"a\""], ["ETag: W/\"a\""]], ["ETag: W/\"a\""], [1]), ([["ETag: \"a\""]], ["ETag: W/\"a\""], [0]),
            ([["ETag: W/\"a\""]], ["ETag: \"a\""], [0]), ([["ETag: W/\"a\""]], ["ETag: W/\"b\""], []),
            // Without a tag, the one response that the request has named.
            ([["ETag: \"a\""]], [], [0]), ([["Last-Modified: \(date(-9))"]], [], [0]), ([["ETag: \"a\""], ["ETag: \"b\""]], [], []),
            ([["ETag: \"a\""], ["ETag: \"a\""]], [], [0, 1]), ([["Last-Modified: \(date(-9))"], ["ETag: \"b\""]], [], []),
            ([["Last-Modified: \(date(-9))"]], ["Last-Modified: \(date(-9))"], [0]),
            ([["Last-Modified: \(date(-9))"], ["ETag: \"b\""]], ["Last-Modified: \(date(-9))"], [0]),
            ([["Last-Modified: \(date(-9))"], ["ETag: \"b\""]], ["Last-Modified: \(date(-8))"], []),
            ([["ETag: \"a\""]], ["ETag: x"], [0]),
            // A weak validator never confirms more than one response.
            ([["ETag: W/\"a\""], ["ETag: W/\"a\""], ["ETag: W/\"a\""]], ["ETag: \"a\""], [2]),
            ([["ETag: \"a\""], ["ETag: W/\"a\""]], ["ETag: W/\"a\""], [1]),
            ([["ETag: \"a\""], ["ETag: W/\"a\""]], ["ETag: \"a\""], [0]),
            ([["Last-Modified: \(date(-9))"], ["Last-Modified: \(date(-9))"]], ["Last-Modified: \(date(-9))"], [1]),
            ([["Last-Modified: \(date(-9))"], ["Last-Modified: \(date(-9))"]], [], []),
        ] as [([[String]], [String], [Int64])])
    func aResponseConfirms(_ validators: [[String]], _ sent: [String], _ expected: [Int64]) {
        let confirmed = ValidationRule.confirmed(by: fields(sent), among: entries(validators), responseTime: instant(100))
        #expect(confirmed.map(\.id.rawValue) == expected)
    }

    /// RFC 9110, section 8.8.2.2, and RFC 9111, section 3.4.
    @Test(
        arguments: [
            (["ETag: \"a\""], ["ETag: \"a\""], true), (["ETag: W/\"a\""], ["ETag: W/\"a\""], false),
            (["ETag: \"a\""], ["ETag: \"b\""], false),
            (["ETag: \"a\""], [], false), ([], [], false),
            (["Last-Modified: \(date(-60))", "Date: \(date(0))"], ["Last-Modified: \(date(-60))", "Date: \(date(9))"], true),
            (["Last-Modified: \(date(-59))", "Date: \(date(0))"], ["Last-Modified: \(date(-59))", "Date: \(date(9))"], false),
            (["Last-Modified: \(date(-60))"], ["Last-Modified: \(date(-60))"], false),
            (
                ["ETag: W/\"a\"", "Last-Modified: \(date(-60))", "Date: \(date(0))"], ["Last-Modified: \(date(-60))", "Date: \(date(0))"],
                false
            ),
        ] as [([String], [String], Bool)])
    func strongValidatorsShowEqualBytes(_ first: [String], _ second: [String], _ expected: Bool) {
        let (one, other) = (head(first).validators, head(second).validators)
        #expect(one.areStronglyEqual(other) == expected && other.areStronglyEqual(one) == expected)
    }
}

/// RFC 9111, section 4.3.2.
@Suite(.timeLimit(.minutes(5))) struct ConditionRuleTests {
    @Test(
        arguments: [
            (["If-None-Match: \"a\""], ["ETag: \"a\""], true), (["If-None-Match: W/\"a\""], ["ETag: \"a\""], true),
            (["If-None-Match: \"b\", \"a\""], ["ETag: W/\"a\""], true), (["If-None-Match: \"b\""], ["ETag: \"a\""], false),
            (["If-None-Match: *"], [], true), (["If-None-Match: \"a\""], [], false), (["If-None-Match: a"], ["ETag: \"a\""], false),
            (["If-Modified-Since: \(date(-5))"], ["Last-Modified: \(date(-5))"], true),
            (["If-Modified-Since: \(date(-5))"], ["Last-Modified: \(date(-4))"], false),
            (["If-Modified-Since: \(date(-5))"], ["Date: \(date(-6))"], true),
            (["If-Modified-Since: \(date(-5))"], ["Date: \(date(0))"], false),
            (["If-Modified-Since: foo"], ["Last-Modified: \(date(-5))"], false),
            (["If-Modified-Since: Friday, 01-Mar-30 12:00:00 GMT"], ["Last-Modified: \(date(-5))"], true),
            (["If-None-Match: \"b\"", "If-Modified-Since: \(date(0))"], ["ETag: \"a\"", "Last-Modified: \(date(-5))"], false),
            ([], ["ETag: \"a\""], false),
        ] as [([String], [String], Bool)])
    func theCallerAlreadyHasTheResponse(_ sent: [String], _ stored: [String], _ expected: Bool) {
        var request = request()
        request.headers = fields(sent)
        #expect(ConditionRule.isNotModified(head(stored), for: read(request)) == expected)
        #expect(!ConditionRule.isNotModified(head(stored, status: 404), for: read(request)))
    }

    @Test(
        arguments: [
            ([], .none), (["If-Match: \"a\""], .other), (["If-Unmodified-Since: \(date(0))"], .other), (["If-None-Match: a"], .other),
            (["If-Modified-Since: foo"], .other), (["If-None-Match: *"], .noneMatch(.any)),
            (["If-Modified-Since: \(date(0))"], .modifiedSince(date(0))),
            (["If-Match: *", "If-None-Match: *"], .other),
        ] as [([String], CacheRequest.Condition)])
    func conditionsAreRead(_ sent: [String], _ expected: CacheRequest.Condition) {
        var request = request()
        request.headers = fields(sent)
        #expect(read(request).condition == expected)
    }
}
