import ErrandFormats
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct RateLimitFieldsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var status: HTTPResponse.Status = .ok
        let fields: [(String, String)]
        var retryAfter: Duration?
        var quotas: [RateLimitFields.Quota] = []
        var testDescription: String { name }
    }

    private static let now = HTTPDate(secondsSinceEpoch: 1_700_000_000)
    private static let window = Duration.seconds(60)
    private static func left(_ remaining: Int, _ reset: Duration, limit: Int? = nil, window: Duration? = nil) -> RateLimitFields.Quota {
        RateLimitFields.Quota(remaining: remaining, reset: reset, limit: limit, window: window)
    }

    static let rows: [Row] = [
        Row(name: "nothing", fields: [("Content-Type", "text/plain")]),
        // The draft.
        Row(
            name: "the draft", fields: [("RateLimit", #""default";r=50;t=30"#)],
            quotas: [.init(name: "default", remaining: 50, reset: .seconds(30))]),
        Row(
            name: "the draft with its policy",
            fields: [("RateLimit-Policy", #""burst";q=100;w=60,"daily";q=1000;w=86400"#), ("RateLimit", #""burst";r=5;t=7;pk=:AQI=:"#)],
            quotas: [.init(name: "burst", remaining: 5, reset: .seconds(7), limit: 100, window: window, partitionKey: [1, 2])]),
        Row(
            name: "two quotas", fields: [("RateLimit", #""a";r=1;t=2"#), ("RateLimit", #""b";r=0;t=3600"#)],
            quotas: [.init(name: "a", remaining: 1, reset: .seconds(2)), .init(name: "b", remaining: 0, reset: .seconds(3600))]),
        Row(
            name: "a quota of bytes is none of ours",
            fields: [
                ("RateLimit-Policy", #""bytes";q=65535;qu="content-bytes";w=10, "calls";q=9;w=60;qu="requests""#),
                ("RateLimit", #""bytes";r=0;t=9, "calls";r=4;t=8"#),
            ], quotas: [.init(name: "calls", remaining: 4, reset: .seconds(8), limit: 9, window: window)]),
        Row(
            name: "a quota of what goes on at once is none either",
            fields: [("RateLimit-Policy", #""c";q=3;qu="concurrent-requests""#), ("RateLimit", #""c";r=0;t=9"#)]),
        Row(
            name: "without an end, it lasts for a window",
            fields: [("RateLimit-Policy", #""a";q=9;w=60"#), ("RateLimit", #""a";r=0"#)],
            quotas: [.init(name: "a", remaining: 0, reset: window, limit: 9, window: window)]),
        Row(name: "without an end or a window it says nothing", fields: [("RateLimit", #""a";r=0"#)]),
        Row(name: "a policy alone says nothing", fields: [("RateLimit-Policy", #""a";q=9;w=60"#)]),
        Row(name: "no number", fields: [("RateLimit", #""a";t=3"#)]),
        Row(name: "a negative number", fields: [("RateLimit", #""a";r=-1;t=3"#)]),
        Row(name: "a decimal", fields: [("RateLimit", #""a";r=1.5;t=3"#)]),
        Row(name: "a negative time", fields: [("RateLimit", #""a";r=1;t=-3"#)]),
        Row(name: "a token for a name", fields: [("RateLimit", "a;r=1;t=3")]),
        Row(name: "malformed at its end, and so as a whole", fields: [("RateLimit", #""a";r=1;t=3,"#)]),
        Row(
            name: "one member is unfit, the other counts", fields: [("RateLimit", #"("a");r=1;t=3, "b";r=2;t=4"#)],
            quotas: [.init(name: "b", remaining: 2, reset: .seconds(4))]),
        Row(
            name: "a malformed policy is ignored", fields: [("RateLimit-Policy", #""a";q=9;w=60,"#), ("RateLimit", #""a";r=1;t=3"#)],
            quotas: [.init(name: "a", remaining: 1, reset: .seconds(3))]),
        Row(
            name: "a malformed draft leaves the older fields",
            fields: [("RateLimit", "x="), ("X-RateLimit-Remaining", "3"), ("X-RateLimit-Reset", "4")],
            quotas: [left(3, .seconds(4))]),
        Row(
            name: "more than eight", fields: [("RateLimit", (0..<20).map { "\"\($0)\";r=1;t=2" }.joined(separator: ","))],
            quotas: (0..<8).map { .init(name: "\($0)", remaining: 1, reset: .seconds(2)) }),
        Row(
            name: "a time beyond all bounds", fields: [("RateLimit", #""a";r=0;t=999999999999999"#)],
            quotas: [.init(name: "a", remaining: 0, reset: .seconds(1 << 40))]),
        Row(
            name: "revision 7", fields: [("RateLimit", "limit=100, remaining=50, reset=5"), ("RateLimit-Policy", "100;w=60")],
            quotas: [left(50, .seconds(5), limit: 100)]),
        // The older fields.
        Row(
            name: "the triple", fields: [("RateLimit-Limit", "100, 100;w=60"), ("RateLimit-Remaining", "7"), ("RateLimit-Reset", "50")],
            quotas: [left(7, .seconds(50), limit: 100, window: window)]),
        Row(
            name: "behind X-", fields: [("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "59"), ("X-RateLimit-Reset", "1700000090")],
            quotas: [left(59, .seconds(90), limit: 60)]),
        Row(
            name: "measured from the server's own date",
            fields: [("Date", "Tue, 14 Nov 2023 22:14:00 GMT"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1700000090")],
            quotas: [left(0, .seconds(50))]),
        Row(
            name: "a point in time that has passed", fields: [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1699999000")],
            quotas: [left(0, .zero)]),
        Row(
            name: "a point in time with a fraction", fields: [("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "1700000000.5")],
            quotas: [left(1, .milliseconds(500))]),
        Row(
            name: "milliseconds", fields: [("X-Rate-Limit-Remaining", "1"), ("X-Rate-Limit-Reset", "1700000030000")],
            quotas: [left(1, .seconds(30))]),
        Row(
            name: "both ways",
            fields: [("X-RateLimit-Remaining", "5.0"), ("X-RateLimit-Reset", "1700000099"), ("X-RateLimit-Reset-After", "1.25")],
            quotas: [left(5, .milliseconds(1250))]),
        Row(name: "no end", fields: [("X-RateLimit-Remaining", "0")]),
        Row(name: "no number of requests", fields: [("X-RateLimit-Reset", "30")]),
        Row(
            name: "no number of requests, and refused", status: .tooManyRequests, fields: [("X-Rate-Limit-Reset", "30")],
            quotas: [left(0, .seconds(30))]),
        Row(name: "two numbers", fields: [("X-RateLimit-Remaining", "0, 5"), ("X-RateLimit-Reset", "30")]),
        Row(name: "words", fields: [("X-RateLimit-Remaining", "none"), ("X-RateLimit-Reset", "30")]),
        Row(name: "a sign", fields: [("X-RateLimit-Remaining", "-1"), ("X-RateLimit-Reset", "+30")]),
        Row(
            name: "too many digits",
            fields: [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1" + String(repeating: "0", count: 40))]),
        // Retry-After.
        Row(
            name: "it takes precedence", status: .tooManyRequests, fields: [("Retry-After", "20"), ("RateLimit", #""a";r=0;t=3600"#)],
            retryAfter: .seconds(20)),
        Row(name: "with 503", status: .serviceUnavailable, fields: [("Retry-After", "20")], retryAfter: .seconds(20)),
        Row(
            name: "a date", status: .tooManyRequests,
            fields: [("Date", "Tue, 14 Nov 2023 22:14:00 GMT"), ("Retry-After", "Tue, 14 Nov 2023 22:14:30 GMT")], retryAfter: .seconds(30)),
        Row(
            name: "repeated", status: .tooManyRequests,
            fields: [
                ("Date", "Tue, 14 Nov 2023 22:14:00 GMT"), ("Date", "Tue, 14 Nov 2023 22:14:00 GMT"),
                ("Retry-After", "Tue, 14 Nov 2023 22:14:30 GMT"), ("Retry-After", "60"),
            ], retryAfter: .seconds(30)),
        Row(
            name: "of the older kind, repeated", status: .tooManyRequests,
            fields: [("X-RateLimit-Retry-After", "5"), ("X-RateLimit-Retry-After", "5")], retryAfter: .seconds(5)),
        Row(
            name: "older limits, repeated",
            fields: [
                ("X-RateLimit-Remaining", "3"), ("X-RateLimit-Remaining", "2"), ("X-RateLimit-Reset", "30"), ("X-RateLimit-Reset", "30"),
            ], quotas: [left(3, .seconds(30))]),
        Row(name: "not with 200", fields: [("Retry-After", "20")]),
        Row(name: "not with 301", status: .movedPermanently, fields: [("Retry-After", "20")]),
        Row(
            name: "malformed, the rest counts", status: .tooManyRequests,
            fields: [("Retry-After", "soon"), ("RateLimit", #""a";r=0;t=9"#)],
            quotas: [.init(name: "a", remaining: 0, reset: .seconds(9))]),
        Row(
            name: "of the older kind", status: .tooManyRequests, fields: [("X-RateLimit-Retry-After", "1.5"), ("X-RateLimit-Reset", "9")],
            retryAfter: .milliseconds(1500)),
    ]

    @Test(arguments: rows) func fieldsDescribeTheQuotaOfTheServer(_ row: Row) throws {
        var response = HTTPResponse(status: row.status)
        for (name, value) in row.fields { response.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
        let fields = RateLimitFields(response, now: Self.now)
        #expect(fields.retryAfter == row.retryAfter)
        #expect(fields.quotas == row.quotas)
        #expect(fields.isEmpty == (row.retryAfter == nil && row.quotas.isEmpty))
    }
}
