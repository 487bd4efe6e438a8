import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// Random combinations of valid and invalid fields. Nothing traps, no age is negative, no response is fresh for longer than a limit of
/// the server, and bytes of different responses are never mixed.
@Suite(.timeLimit(.minutes(5))) struct RandomCombinationTests {
    /// xorshift64*: the same numbers on each platform.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state >> 12
            state ^= state << 25
            state ^= state >> 27
            return state &* 2_685_821_657_736_338_717
        }
    }

    private static let numbers = ["0", "1", "5", "60", "3600", "2147483648", "99999999999999999999", "-1", "1.5", "\"60\"", "x", ""]
    private static let directives = [
        "no-store", "no-cache", "private", "public", "must-revalidate", "must-understand", "immutable", "no-cache=\"set-cookie\"",
        "private=\"a\"", "no-cache=\"cache-control\"", "x=\"max-age=9999\"", "only-if-cached", "max-stale", "proxy-revalidate", "x", ",",
        ";",
        "no-cache=\"", "\"", "=",
    ]
    private static let counted = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error", "min-fresh", "max-stale"]
    private static let otherFields = [
        "Vary: Foo", "Vary: *", "Vary: Foo, Bar", "Vary: Accept-Language", "Vary: Cookie", "Vary: a b", "ETag: \"a\"", "ETag: \"b\"",
        "ETag: W/\"a\"",
        "ETag: x", "Pragma: no-cache", "Connection: vary, set-cookie", "Content-Language: de", "Set-Cookie: a=b",
        "Content-Location: /items",
        "Location: /items", "Content-Encoding: gzip", "Content-Range: x",
    ]
    private static let sentFields = [
        "Foo: 1", "Foo: 2", "Bar: 1", "Accept-Language: de, en;q=0.5", "Accept-Language: en", "Cookie: a=b", "Range: bytes=0-4",
        "Range: bytes=5-",
        "Range: bytes=-3", "Range: bytes=0-1,4-5", "If-None-Match: \"a\"", "If-None-Match: *", "If-Modified-Since: \(date(-9))",
        "If-Range: \"a\"",
        "If-Match: \"a\"", "Pragma: no-cache", "Authorization: x",
    ]
    private static let methods: [HTTPRequest.Method] = [.get, .get, .get, .get, .get, .head, .query, .post, .put, .delete, .options]
    private static let statuses = [200, 200, 200, 200, 200, 203, 204, 206, 206, 301, 304, 304, 404, 410, 416, 500, 503, 599]

    private static func control(_ numbers: inout Numbers) -> String {
        (0..<Int.random(in: 0...4, using: &numbers)).map { _ in
            Bool.random(using: &numbers)
                ? directives.randomElement(using: &numbers) ?? ""
                : "\(counted.randomElement(using: &numbers) ?? "")=\(self.numbers.randomElement(using: &numbers) ?? "")"
        }.joined(separator: ", ")
    }

    private static func time(_ numbers: inout Numbers) -> String {
        let texts = ["0", "foo", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"]
        return Int.random(in: 0..<4, using: &numbers) == 0
            ? texts.randomElement(using: &numbers) ?? "" : date(Int64.random(in: -5000...5000, using: &numbers))
    }

    private static func pick(_ list: [String], _ numbers: inout Numbers) -> [String] {
        list.filter { _ in Int.random(in: 0..<8, using: &numbers) == 0 }
    }

    private static func reply(to request: Request, version: Int, _ numbers: inout Numbers) -> PureCache.Reply {
        var lines = pick(otherFields, &numbers)
        for name in ["Date", "Expires", "Last-Modified"] where Bool.random(using: &numbers) { lines.append("\(name): \(time(&numbers))") }
        for _ in 0..<Int.random(in: 0...2, using: &numbers) { lines.append("Cache-Control: \(control(&numbers))") }
        if Int.random(in: 0..<4, using: &numbers) == 0 { lines.append("Age: \(self.numbers.randomElement(using: &numbers) ?? "")") }
        let status = statuses.randomElement(using: &numbers) ?? 200
        // The bytes say to which tag they belong: with a strong tag, the bytes are always the same.
        let tag = fields(lines).single(.eTag).flatMap { EntityTag($0) }
        let letter = tag.map { $0.isWeak ? "w" : $0.opaque } ?? "n"
        var body = Array(repeating: UInt8(letter.utf8.first ?? 0), count: 10)
        if letter == "n" || letter == "w" { body = Array(format10(version).utf8) }
        if status == 206 {
            let first = Int.random(in: 0..<9, using: &numbers)
            let last = Int.random(in: first..<10, using: &numbers)
            lines.append("Content-Range: bytes \(first)-\(last)/10")
            body = Array(body[first...last])
        } else if Bool.random(using: &numbers) {
            lines.append("Content-Length: 10")
        }
        let isCut = Int.random(in: 0..<6, using: &numbers) == 0
        if status == 304 || status == 204 || request.method == .head { body = [] }
        if isCut { body = Array(body.prefix(Int.random(in: 0...body.count, using: &numbers))) }
        return .init(head: response(lines, status: status), body: body, isCut: isCut)
    }

    private static func format10(_ number: Int) -> String { String(repeating: "0", count: max(0, 10 - "\(number)".count)) + "\(number)" }

    @Test(arguments: [CachePolicy.standard, .shared, CachePolicy(staleIfError: .seconds(60)), .fresh(for: .seconds(60))])
    func combinationsKeepTheRules(_ policy: CachePolicy) throws {
        for seed in 1...25 as ClosedRange<UInt64> {
            var numbers = Numbers(state: seed &* 0x9E37_79B9_7F4A_7C15)
            var serverNumbers = Numbers(state: seed &* 77)
            let versions = Versions()
            var cache = PureCache(policy) { request in
                versions.count += 1
                return Int.random(in: 0..<20, using: &serverNumbers) == 0
                    ? nil : Self.reply(to: request, version: versions.count, &serverNumbers)
            }
            cache.delay = .milliseconds(40)
            for _ in 0..<100 {
                var lines = Self.pick(Self.sentFields, &numbers)
                if Int.random(in: 0..<3, using: &numbers) == 0 { lines.append("Cache-Control: \(Self.control(&numbers))") }
                var request = request(method: Self.methods.randomElement(using: &numbers) ?? .get)
                request.headers = fields(lines)
                let mode =
                    Int.random(in: 0..<3, using: &numbers) == 0 ? CachePolicy.Mode.allCases.randomElement(using: &numbers) : .standard
                if let outcome = try? cache.send(request, mode: mode ?? .standard) { check(outcome, request) }
                check(cache, policy)
                cache.advance([0, 0.5, 1, 10, 100, 4000].randomElement(using: &numbers) ?? 0)
            }
        }
    }

    private final class Versions {
        var count = 0
    }

    private func check(_ outcome: PureCache.Outcome, _ request: Request) {
        if let age = outcome.head.headerFields[values: .age].first, outcome.isHit { #expect((Int64(age) ?? -1) >= 0) }
        #expect(outcome.sent.count <= 2)
        guard outcome.isHit, outcome.head.status.code != 504 else { return }
        // All bytes of a response are of one version.
        let isNumbered = outcome.text.allSatisfy(\.isNumber)
        #expect(isNumbered || Set(outcome.body).count <= 1, "\(outcome.text)")
        if request.method == .head || outcome.head.status == .notModified { #expect(outcome.body.isEmpty) }
    }

    private func check(_ cache: PureCache, _ policy: CachePolicy) {
        let rule = FreshnessRule(policy: policy)
        #expect(cache.entryCount <= 32)
        for stored in cache.stored.values.flatMap(\.self) {
            let (head, lifetime) = (stored.entry.head, rule.lifetime(of: stored.entry.head))
            #expect(head.extent.storedBytes == Int64(stored.body.count))
            #expect(head.times.initialAge >= .zero && head.times.age(at: cache.now).map { $0 >= .zero } == true)
            #expect(!head.control.contains(.noStore) || head.control.contains(.mustUnderstand))
            #expect(lifetime >= .zero && lifetime <= .seconds(Int64(1) << 40))
            guard head.lifetimes == nil else { continue }
            // Not longer than any statement of the fields, read in another way.
            for value in head.response.headerFields[values: .cacheControl] {
                for part in value.split(separator: ",") {
                    let text = part.drop { $0 == " " }
                    guard text.hasPrefix("max-age="), let seconds = Int64(text.dropFirst(8)), seconds >= 0 else { continue }
                    let isShared = policy.isShared && head.control.sharedMaxAge != nil
                    #expect(isShared || lifetime <= .seconds(seconds), "\(value)")
                }
            }
            if head.response.headerFields.contains(.expires), head.control.maxAge == nil, !policy.isShared,
                let expires = head.response.headerFields[values: .expires].first.flatMap({ HTTPDate($0, now: beginning) }),
                let date = head.response.headerFields[values: .date].first.flatMap({ HTTPDate($0, now: beginning) })
            {
                #expect(lifetime <= .seconds(max(0, expires.secondsSinceEpoch - date.secondsSinceEpoch)))
            }
        }
    }
}
