import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct EntityTagTests {
    @Test(arguments: [
        (#""xyzzy""#, "xyzzy", false), (#"W/"xyzzy""#, "xyzzy", true), (#""""#, "", false), (#"W/"""#, "", true), (" \"a\"\t", "a", false),
        // A backslash escapes nothing. Octets above ASCII are permitted.
        (#""a\b""#, #"a\b"#, false), (#""!#$%&'()*+,-./:;<=>?@[]^_`{|}~""#, "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", false),
        ("\"abcdefü\"", "abcdefü", false), ("\"\u{301}\"", "\u{301}", false),
        // The grammar does not permit these tags, but servers send them.
        (#""a b""#, "a b", false),
    ])
    func valuesAreRead(_ text: String, _ opaque: String, _ isWeak: Bool) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.opaque == opaque && tag.isWeak == isWeak)
        #expect(EntityTag(tag.description) == tag && EntityTag(opaque: opaque, isWeak: isWeak) == tag)
    }

    @Test(arguments: [
        "", "*", "a", "\"", "\"a", "a\"", #"w/"a""#, #"W\"a""#, #"W"a""#, #"W/ "a""#, "W/", "W/a", "W/*", #""a"b"#, #""a""b""#,
        #""a", "b""#, #""a\"b""#,
        "\"a\u{7F}\"", "\"a\u{0}\"", "\"a\nb\"",
    ])
    func anInvalidTagIsNil(_ text: String) { #expect(EntityTag(text) == nil) }

    @Test func aTagOverTheLimitIsNil() {
        #expect(EntityTag("\"" + String(repeating: "a", count: 8190) + "\"") != nil)
        #expect(EntityTag("\"" + String(repeating: "a", count: 8191) + "\"") == nil)
        #expect(EntityTag(opaque: String(repeating: "a", count: 8193)) == nil)
    }

    @Test(arguments: ["a\"b", "\u{7F}", "\n"]) func anUnwritableTagIsNotCreated(_ opaque: String) {
        #expect(EntityTag(opaque: opaque) == nil)
    }

    /// The table of RFC 9110, section 8.8.3.2.
    @Test(arguments: [
        (#"W/"1""#, #"W/"1""#, false, true), (#"W/"1""#, #"W/"2""#, false, false), (#"W/"1""#, #""1""#, false, true),
        (#""1""#, #""1""#, true, true),
        (#""1""#, #""2""#, false, false), (#""a""#, #""A""#, false, false),
        // The same characters in other octets are another tag.
        ("\"\u{E9}\"", "\"e\u{301}\"", false, false),
    ])
    func tagsAreCompared(_ first: String, _ second: String, _ strongly: Bool, _ weakly: Bool) throws {
        let (first, second) = (try #require(EntityTag(first)), try #require(EntityTag(second)))
        for (one, other) in [(first, second), (second, first)] {
            #expect(one.matches(other, by: .strong) == strongly && one.matches(other, by: .weak) == weakly)
            #expect((one == other) == (weakly && one.isWeak == other.isWeak))
        }
        #expect(Set([first, second]).count == (first == second ? 1 : 2))
    }

    @Test(
        arguments: [
            ("*", .any), (" *\t", .any), (#""a""#, .tags([#""a""#])), (#""a", W/"b","c""#, .tags([#""a""#, #"W/"b""#, #""c""#])),
            (#", ,"a" ,, "b, c", "#, .tags([#""a""#, #""b, c""#])),
        ] as [(String, Written)])
    func conditionsAreRead(_ text: String, _ expected: Written) throws {
        let condition = try #require(EntityTagCondition(text))
        switch (condition, expected) {
        case (.any, .any): break
        case (.tags(let tags), .tags(let written)): #expect(tags.map(\.description) == written)
        default: Issue.record("\(condition)")
        }
        #expect(EntityTagCondition(condition.description) == condition)
    }

    enum Written: Sendable {
        case any
        case tags([String])
    }

    @Test(arguments: ["", " , ", "**", "*, \"a\"", "\"a\", *", "a", "\"a\" \"b\"", "\"a\"; \"b\"", "\"a\", b", "\"a\", \"b"])
    func anInvalidConditionIsNil(_ text: String) { #expect(EntityTagCondition(text) == nil) }

    @Test func aConditionHasAtMost128Tags() {
        func text(_ count: Int) -> String { Array(repeating: "\"a\"", count: count).joined(separator: ",") }
        #expect(EntityTagCondition(text(128)) != nil && EntityTagCondition(text(129)) == nil)
        #expect(EntityTagCondition("\"" + String(repeating: "a", count: 8191) + "\"") == nil)
    }

    @Test func aConditionMatchesOneOfItsTags() throws {
        let (strong, weak) = (try #require(EntityTag(#""1""#)), try #require(EntityTag(#"W/"1""#)))
        let other = try #require(EntityTag(#""3""#))
        let condition = try #require(EntityTagCondition(#""0", "1", W/"2""#))
        #expect(condition.matches(strong, by: .strong) && !condition.matches(weak, by: .strong))
        #expect(condition.matches(weak, by: .weak) && !condition.matches(other, by: .weak))
        #expect(EntityTagCondition.any.matches(weak, by: .strong))
    }
}
