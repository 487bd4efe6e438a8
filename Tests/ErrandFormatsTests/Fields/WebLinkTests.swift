import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct WebLinkTests {
    @Test func linksAreReadInOrder() {
        let links = WebLink.parse([
            #"<https://a.example/?page=2>; rel="next", </?page=9>; rel=last"#, #"<x>; rel="Up  http://B.example/Rel"; title="a, \"b\"; c""#,
        ])
        #expect(links.map(\.target) == ["https://a.example/?page=2", "/?page=9", "x"])
        #expect(links.map(\.relations) == [["next"], ["last"], ["up", "http://b.example/rel"]])
        #expect(links[2].isRelated(as: "UP") && !links[2].isRelated(as: "next") && links[2].title == "a, \"b\"; c")
    }

    @Test func parametersAreRead() throws {
        let text =
            ##"<a,b;c> ; REL = next;; rel=prev ; anchor="#x"; title=old; title*=UTF-8''n%c3%a4u; hreflang=de; hreflang=en; type="text/html"; x; y=1; y=2"##
        let link = try #require(WebLink.parse([text]).first)
        #expect(link.target == "a,b;c" && link.relations == ["next"] && link.anchor == "#x" && link.title == "näu")
        #expect(link.languages == ["de", "en"] && link.type == "text/html" && link.extensions == ["x": "", "y": "1"])
        #expect(WebLink.parse(["<a>; rel=next; title=old; title*=broken"]).first?.title == "old")
    }

    @Test(
        arguments: [
            "", ",", "a; rel=next", "<a; rel=next", "<a>", "<a>; rel=\"\"", "<a>; rel", "<a>; rel=\"next", "<a> x; rel=next",
            "<a>; =next", "x, ,; \"<b>; rel=next\"",
        ])
    func malformedLinksAreLeftOutAndTheNextOneIsRead(_ text: String) {
        #expect(WebLink.parse([text]).isEmpty, "\(WebLink.parse([text]))")
        // A part without an end takes the rest of the text.
        let isOpen = text.hasPrefix("<a; ") || text.hasSuffix("\"next")
        #expect(WebLink.parse([text + ", <z>; rel=last"]).map(\.target) == (isOpen ? [] : ["z"]))
        #expect(WebLink.parse([text, "<z>; rel=last"]).map(\.target) == ["z"], "another field is not touched")
    }

    /// Senders that break the grammar.
    @Test(arguments: [
        ("<a>; rel='next'", ["next"]), ("<a>; rel='Next Last'", ["next", "last"]), ("<a>; rel=next last", ["next", "last"]),
        ("<a>; rel = next\tx ; title=t", ["next", "x"]), ("<a>; rel=\"'next'\"", ["next"]), ("<a>; rel='", ["'"]),
        ("<a>; rel=o'next", ["o'next"]),
        ("<a>; title='a b'; rel=next", ["next"]), ("<a>; rel=next title", ["next", "title"]),
    ])
    func relationsAreReadInUnusualForms(_ text: String, _ expected: [String]) {
        let (links, isComplete) = WebLink.parseReportingCompleteness([text])
        #expect(links.map(\.relations) == [expected] && isComplete)
        #expect(WebLink.parse([text + ", <z>; rel=up"]).map(\.relations) == [expected, ["up"]])
    }

    @Test(arguments: [
        ("", true), (",", true), (" , ,", true), ("<a>; rel=x,", true), ("<a>", true), ("<a>; rel=\"\"", true), ("<a>; title=x", true),
        ("/a; rel=next", false), ("<a; rel=next", false), ("<a>; rel=\"next", false), ("<a> x; rel=next", false), ("x", false),
        ("<a>; rel=first, /b; rel=next", false), ("<a>; rel=first, <b>; rel='x, y'", false),
        (String(repeating: "<a>;rel=b,", count: 128), true), (String(repeating: "<a>;rel=b,", count: 129), false),
        ("<\(String(repeating: "a", count: 8_192))>; rel=next", false),
        ("<a>" + (0..<32).map { ";p\($0)=1" }.joined() + ";rel=next", false), ("<a>;rel=x" + (0..<40).map { ";p\($0)=1" }.joined(), true),
    ])
    func droppedLinksAreReported(_ value: String, _ isWhole: Bool) {
        #expect(WebLink.parseReportingCompleteness([value]).isComplete == isWhole)
        #expect(WebLink.parseReportingCompleteness([value, "<a>; rel=x"]).isComplete == isWhole, "another value does not mend it")
    }

    @Test func valuesAreBounded() {
        #expect(WebLink.parse([String(repeating: "<a>;rel=b,", count: 200)]).count == 128)
        #expect(WebLink.parse([String(repeating: "<a>;rel=b,", count: 900)]).isEmpty)
        let parameters = (0..<40).map { ";p\($0)=1" }.joined()
        #expect(WebLink.parse(["<a>;rel=b" + parameters]).first?.extensions.count == 31)
    }
}
