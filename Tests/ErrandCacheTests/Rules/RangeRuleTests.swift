import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9110, section 14, and RFC 9111, sections 3.3 and 3.4.
@Suite(.timeLimit(.minutes(5))) struct RangeRuleTests {
    private static let whole = CacheExtent.whole(length: 10)
    private static let tail = CacheExtent.part(4..<10, completeLength: 10)
    private static let unknown = CacheExtent.part(4..<8, completeLength: nil)

    @Test(
        arguments: [
            (whole, [], .whole), (tail, [], nil), (unknown, [], nil),
            (whole, ["Range: bytes=0-1"], .part(0..<2)), (whole, ["Range: bytes=1-"], .part(1..<10)),
            (whole, ["Range: bytes=-1"], .part(9..<10)),
            (whole, ["Range: bytes=-50"], .part(0..<10)), (whole, ["Range: bytes=5-50"], .part(5..<10)), (whole, ["Range: bytes=10-"], nil),
            (whole, ["Range: bytes=-0"], nil), (whole, ["Range: bytes=0-1,3-4"], nil), (whole, ["Range: items=0-1"], nil),
            (whole, ["Range: bytes=x"], nil), (whole, ["Range: bytes=0-0", "Range: bytes=1-1"], nil),
            (tail, ["Range: bytes=4-9"], .part(4..<10)), (tail, ["Range: bytes=6-8"], .part(6..<9)),
            (tail, ["Range: bytes=6-"], .part(6..<10)),
            (tail, ["Range: bytes=-5"], .part(5..<10)), (tail, ["Range: bytes=-7"], nil), (tail, ["Range: bytes=3-5"], nil),
            (tail, ["Range: bytes=9-50"], .part(9..<10)), (unknown, ["Range: bytes=4-7"], .part(4..<8)),
            (unknown, ["Range: bytes=6-"], nil),
            (unknown, ["Range: bytes=-1"], nil), (unknown, ["Range: bytes=4-8"], nil),
            (.part(0..<4, completeLength: 10), ["Range: bytes=2-"], nil),
            // Section 13.1.5: If-Range. If the condition is false, the range is ignored.
            (whole, ["Range: bytes=0-1", "If-Range: \"a\""], .part(0..<2)), (whole, ["Range: bytes=0-1", "If-Range: \"b\""], .whole),
            (whole, ["Range: bytes=0-1", "If-Range: W/\"a\""], .whole), (tail, ["Range: bytes=4-5", "If-Range: \"b\""], nil),
            (whole, ["Range: bytes=0-1", "If-Range: \(date(-60))"], .part(0..<2)),
            (whole, ["Range: bytes=0-1", "If-Range: \(date(-61))"], .whole),
        ] as [(CacheExtent, [String], RangeRule.Service?)])
    func anEntryServes(_ extent: CacheExtent, _ sent: [String], _ expected: RangeRule.Service?) {
        var request = request()
        request.headers = fields(sent)
        let lines = ["ETag: \"a\"", "Last-Modified: \(date(-60))", "Date: \(date(0))"]
        #expect(RangeRule.service(of: head(lines, extent: extent), for: read(request)) == expected)
    }

    @Test func aRangeAppliesOnlyToASuccessfulResponseAsSent() {
        let range = read(request("Range: bytes=0-1"))
        #expect(RangeRule.service(of: head([], status: 404), for: range) == .whole)
        #expect(RangeRule.service(of: head([], isDecoded: true), for: range) == nil)
        #expect(RangeRule.service(of: head([]), for: read(request("Range: bytes=0-1", method: .head))) == .whole)
        #expect(RangeRule.service(of: head([]), for: read(request("Range: bytes=0-1", method: .query))) == nil)
    }

    @Test(
        arguments: [
            (.part(0..<5, completeLength: 10), ["ETag: \"a\""], true, ["Range: bytes=5-", "If-Range: \"a\""]),
            (.part(0..<5, completeLength: 10), ["ETag: \"a\""], false, ["Range: bytes=5-", "If-Range: \"a\""]),
            (.part(0..<5, completeLength: nil), ["ETag: \"a\""], false, ["Range: bytes=5-", "If-Range: \"a\""]),
            (
                .part(0..<5, completeLength: 10), ["Last-Modified: \(date(-60))", "Date: \(date(0))"], false,
                ["Range: bytes=5-", "If-Range: \(date(-60))"]
            ),
            (.part(0..<5, completeLength: 10), [], true, ["Range: bytes=5-"]), (.part(0..<5, completeLength: 10), [], false, nil),
            (.part(0..<5, completeLength: nil), [], true, nil), (.part(0..<5, completeLength: 10), ["ETag: W/\"a\""], false, nil),
            (.part(1..<5, completeLength: 10), ["ETag: \"a\""], true, nil), (.whole(length: 10), ["ETag: \"a\""], true, nil),
        ] as [(CacheExtent, [String], Bool, [String]?)])
    func aRequestAsksForTheRest(_ extent: CacheExtent, _ lines: [String], _ isFresh: Bool, _ expected: [String]?) {
        let fields = RangeRule.completion(of: head(lines, extent: extent), isFresh: isFresh)
        #expect(fields?.map { "\($0.name.rawName): \($0.value)" } == expected)
    }

    @Test(
        arguments: [
            ("bytes 5-9/10", "\"a\"", true), ("bytes 5-8/10", "\"a\"", false), ("bytes 4-9/10", "\"a\"", false),
            ("bytes 6-9/10", "\"a\"", false),
            ("bytes 5-10/11", "\"a\"", false), ("bytes 5-9/*", "\"a\"", false), ("bytes */10", "\"a\"", false), ("x", "\"a\"", false),
            ("bytes 5-9/10", "\"b\"", false), ("bytes 5-9/10", "W/\"a\"", false), ("bytes 5-9/10", "x", false),
        ])
    func aResponseCompletes(_ content: String, _ tag: String, _ expected: Bool) {
        let stored = head(["ETag: \"a\""], extent: .part(0..<5, completeLength: 10))
        let part = response("Content-Range: \(content)", "ETag: \(tag)", status: 206)
        #expect(RangeRule.completes(stored, part, responseTime: instant()) == expected)
    }

    /// Only a strong validator shows that the parts belong together (RFC 9111, section 3.4).
    @Test(
        arguments: [
            [], ["ETag: W/\"a\""], ["Last-Modified: \(date(-59))", "Date: \(date(0))"],
        ])
    func withoutAStrongValidatorNoResponseCompletes(_ validators: [String]) {
        let stored = head(validators, extent: .part(0..<5, completeLength: 10))
        let part = response(validators + ["Content-Range: bytes 5-9/10"], status: 206)
        #expect(!RangeRule.completes(stored, part, responseTime: instant()))
    }

    /// The stored part has the bytes 10 to 19.
    @Test(
        arguments: [
            (20..<30, 0..<10, nil), (0..<10, nil, 0..<10), (15..<25, 0..<5, nil), (5..<15, nil, 5..<10), (12..<15, 0..<2, 5..<10),
            (10..<20, nil, nil), (0..<40, nil, nil), (10..<15, nil, 5..<10), (15..<20, 0..<5, nil),
        ] as [(Range<Int64>, Range<Int64>?, Range<Int64>?)])
    func partsAreCombined(_ new: Range<Int64>, _ before: Range<Int64>?, _ after: Range<Int64>?) throws {
        let stored = entry(1, head([], extent: .part(10..<20, completeLength: 40)))
        let pieces = try #require(RangeRule.pieces(of: stored, around: new))
        #expect(pieces.before?.offsets == before && pieces.after?.offsets == after)
    }

    @Test(arguments: [0..<9, 21..<30] as [Range<Int64>]) func distantPartsAreNotCombined(_ new: Range<Int64>) {
        #expect(RangeRule.pieces(of: entry(1, head([], extent: .part(10..<20, completeLength: 40))), around: new) == nil)
    }
}

/// RFC 9111, section 4.4.
@Suite(.timeLimit(.minutes(5))) struct InvalidationRuleTests {
    @Test(
        arguments: [
            (.post, 200, [], ["/items"]), (.put, 204, [], ["/items"]), (.delete, 301, [], ["/items"]), (.patch, 201, [], ["/items"]),
            (.init("M-SEARCH")!, 200, [], ["/items"]), (.post, 400, [], []), (.post, 404, [], []),
            (.post, 500, [], []), (.post, 399, [], ["/items"]), (.post, 304, [], ["/items"]), (.get, 200, ["Location: /x"], []),
            (.head, 200, [], []), (.options, 200, [], []), (.query, 200, [], []), (.trace, 200, [], []),
            (.post, 201, ["Location: /items/1"], ["/items", "/items/1"]),
            (.post, 201, ["Location: items/1?a=b#c"], ["/items", "/items/1?a=b"]),
            (.post, 200, ["Location: /a", "Content-Location: /b"], ["/items", "/a", "/b"]),
            (.post, 200, ["Content-Location: /items"], ["/items"]),
            (.post, 201, ["Location: https://api.example:443/x"], ["/items", "/x"]),
            (.post, 201, ["Location: https://other.example/x"], ["/items"]),
            (.post, 201, ["Location: http://api.example/x"], ["/items"]), (.post, 201, ["Location: //["], ["/items"]),
        ] as [(HTTPRequest.Method, Int, [String], [String])])
    func anUnsafeRequestInvalidates(_ method: HTTPRequest.Method, _ status: Int, _ lines: [String], _ expected: [String]) {
        let urls = InvalidationRule.urls(invalidatedBy: response(lines, status: status), to: read(request(method: method)))
        #expect(urls.map(\.description) == expected.map { "https://api.example" + $0 })
    }

    @Test(
        arguments: [
            (.post, 200, sampleURL, ["Cache-Group-Invalidation: \"a\", \"B\""], ["a", "B"], false),
            (.get, 200, sampleURL, ["Cache-Group-Invalidation: \"a\""], [], false),
            (.post, 500, sampleURL, ["Cache-Group-Invalidation: \"a\""], [], false),
            (.post, 200, sampleURL, ["Cache-Group-Invalidation: a"], [], false),
            (.post, 200, sampleURL, ["Cache-Groups: \"a\""], [], false), (.get, 200, sampleURL, ["Clear-Site-Data: \"cache\""], [], true),
            (.get, 500, sampleURL, ["Clear-Site-Data: \"cookies\", \"*\""], [], true),
            (.get, 200, sampleURL, ["Clear-Site-Data: \"cookies\""], [], false),
            (.get, 200, sampleURL, ["Clear-Site-Data: cache"], [], false),
            (.get, 200, "http://api.example", ["Clear-Site-Data: \"cache\""], [], false),
        ] as [(HTTPRequest.Method, Int, String, [String], [String], Bool)])
    func groupsAndOriginsAreInvalidated(
        _ method: HTTPRequest.Method, _ status: Int, _ url: String, _ lines: [String], _ groups: [String], _ isCleared: Bool
    ) {
        let (response, request) = (response(lines, status: status), read(request(method: method, url: url)))
        #expect(InvalidationRule.groups(invalidatedBy: response, to: request) == groups)
        #expect(InvalidationRule.origin(clearedBy: response, to: request) == (isCleared ? request.url.origin : nil))
    }

    @Test(
        arguments: [
            ([], []), (["Cache-Groups: \"a\", \"b c\";x"], ["a", "b c"]), (["Cache-Groups: \"a\"", "Cache-Groups: \"A\""], ["a", "A"]),
            (["Cache-Groups: a"], []), (["Cache-Groups: \"a\", 1"], []), (["Cache-Groups: (\"a\")"], []), (["Cache-Groups: \"a"], []),
            (["Cache-Groups: \"\(String(repeating: "a", count: 129))\""], []),
        ] as [([String], [String])])
    func anEntryBelongsToGroups(_ lines: [String], _ expected: [String]) { #expect(head(lines).groups == expected) }
}
