import ErrandCore
import HTTPTypes
import Synchronization
import Testing

@testable import ErrandCache

/// Whole calls: a request, the decision, the response of a server, and the next requests.
@Suite(.timeLimit(.minutes(5))) struct CacheEngineTests {
    /// A server that sends its replies in order, and then repeats the last one.
    private final class Script {
        private var replies: [PureCache.Reply?]
        private(set) var seen: [Request] = []

        init(_ replies: [PureCache.Reply?]) { self.replies = replies }

        func next(_ request: Request) -> PureCache.Reply? {
            seen.append(request)
            return replies.count > 1 ? replies.removeFirst() : replies.first ?? nil
        }
    }

    private func reply(_ lines: String..., status: Int = 200, text: String = "0123456789", isCut: Bool = false) -> PureCache.Reply {
        .init(head: response(lines, status: status), body: status == 304 ? [] : Array(text.utf8), isCut: isCut)
    }

    private func cache(_ policy: CachePolicy = .standard, _ replies: PureCache.Reply?...) -> (PureCache, Script) {
        let script = Script(replies)
        return (PureCache(policy) { script.next($0) }, script)
    }

    // MARK: - Serving

    @Test func aFreshResponseIsServedWithItsAge() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=60", "Age: 5"))
        #expect(
            try cache.send(request()).status
                == CacheStatus(.forwarded(.uriMiss), forwardedStatus: .ok, isStored: true, timeToLive: .seconds(55)))
        cache.advance(10.5)
        let hit = try cache.send(request())
        #expect(hit.isHit && hit.text == "0123456789" && hit.head.headerFields[values: .age] == ["15"])
        #expect(hit.status == CacheStatus(.hit, timeToLive: .milliseconds(44_500)))
        cache.advance(45)
        #expect(try !cache.send(request()).isHit)
    }

    @Test func headIsServedFromGet() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=60", "A: 1"))
        #expect(try !cache.send(request(method: .head)).isHit && cache.entryCount == 0)
        _ = try cache.send(request())
        let hit = try cache.send(request(method: .head))
        #expect(hit.isHit && hit.body.isEmpty && hit.head.headerFields[.custom("A")] == "1")
    }

    @Test func queriesAreKeptApartByTheirBodies() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60"))
        for body in ["a", "b", "a"] { _ = try cache.send(request("Body: \(body)", method: .query)) }
        #expect(script.seen.count == 2)
        #expect(try !cache.send(request()).isHit)
    }

    @Test func theCallersConditionIsEvaluated() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60", "ETag: \"a\"", "A: 1"))
        _ = try cache.send(request())
        let same = try cache.send(request("If-None-Match: W/\"a\""))
        #expect(same.isHit && same.head.status == .notModified && same.body.isEmpty && same.head.headerFields[.custom("A")] == nil)
        let other = try cache.send(request("If-None-Match: \"b\""))
        #expect(other.isHit && other.head.status == .ok)
        cache.advance(61)
        _ = try cache.send(request("If-None-Match: \"b\""))
        #expect(script.seen.last?.headers[values: .ifNoneMatch] == ["\"b\""])
    }

    @Test(arguments: [["If-Match: \"a\""], ["If-Unmodified-Since: \(date(0))"], ["If-None-Match: x"], ["Cache-Control: no-store"]])
    func someRequestsGoToTheServer(_ lines: [String]) throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60", "ETag: \"a\""))
        _ = try cache.send(request())
        var conditional = request()
        conditional.headers = fields(lines)
        #expect(try !cache.send(conditional).isHit)
        #expect(script.seen.last?.headers == conditional.headers)
    }

    @Test func onlyIfCachedNeedsAStoredResponse() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60"))
        for (request, mode) in [(request("Cache-Control: only-if-cached"), CachePolicy.Mode.standard), (request(), .storedOnly)] {
            let miss = try cache.send(request, mode: mode)
            #expect(miss.head.status == .gatewayTimeout && miss.status == CacheStatus(.unavailable(.uriMiss)))
        }
        _ = try cache.send(request())
        #expect(try cache.send(request("Cache-Control: only-if-cached")).head.status == .ok)
        cache.advance(61)
        #expect(try cache.send(request("Cache-Control: only-if-cached")).status == CacheStatus(.unavailable(.stale)))
        let stale = try cache.send(request(), mode: .storedOnly)
        #expect(stale.head.status == .ok && stale.status?.isStale == true && script.seen.count == 1)
    }

    /// A request that can't use the cache is not sent either.
    @Test(arguments: [CachePolicy.Mode.standard, .storedOnly]) func onlyIfCachedIsNeverSent(_ mode: CachePolicy.Mode) throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60"))
        let directive = mode == .standard ? ["Cache-Control: only-if-cached"] : []
        func asked(_ lines: [String], _ method: HTTPRequest.Method = .get) -> Request {
            var request = request(method: method)
            request.headers = fields(lines + directive)
            return request
        }
        let rows: [(Request, CacheStatus.ForwardReason)] = [
            (asked(["Authorization: x"]), .bypass), (asked(["Cache-Control: no-store"]), .bypass), (asked([], .post), .method),
            (asked([], .options), .method), (asked(["Range: bytes=0-1"]), .uriMiss),
        ]
        for (request, reason) in rows {
            let outcome = try cache.send(request, mode: mode)
            #expect(outcome.head.status == .gatewayTimeout && outcome.status == CacheStatus(.unavailable(reason)), "\(request)")
        }
        #expect(script.seen.isEmpty)
    }

    /// Each row: the fields of the request, its method, the status and the fields of the response, and why the response is not stored.
    @Test(
        arguments: [
            ([], .get, 200, ["Cache-Control: max-age=60"], nil), ([], .get, 200, ["Cache-Control: no-store"], .noStore),
            (["Cache-Control: no-store"], .get, 200, ["Cache-Control: max-age=60"], .requestForbids),
            (["Authorization: x"], .get, 200, ["Cache-Control: max-age=60"], .noAccount),
            ([], .get, 503, [], .noLifetime), ([], .get, 200, ["Vary: *"], .varyAny),
            ([], .head, 200, ["Cache-Control: max-age=60"], .method), ([], .delete, 204, [], .method),
            (["Authorization: x"], .post, 200, [], .noAccount), ([], .get, 206, ["Content-Range: bytes 0-1/9"], .range),
        ] as [([String], HTTPRequest.Method, Int, [String], CacheStatus.Refusal?)])
    func theStatusSaysWhyAResponseIsNotStored(
        _ sent: [String], _ method: HTTPRequest.Method, _ status: Int, _ lines: [String], _ expected: CacheStatus.Refusal?
    ) throws {
        var cache = PureCache(.standard) { _ in PureCache.Reply(head: response(lines, status: status)) }
        var asked = request(method: method)
        asked.headers = fields(sent)
        let found = try #require(try cache.send(asked).status)
        #expect(found.refusal == expected && found.isStored == (expected == nil))
        #expect(found.description.contains("detail=") == (expected != nil))
    }

    /// A 304 with new directives, and a hit.
    @Test func aConfirmationCanForbidStorage() throws {
        var cache = PureCache(.standard) { request in
            request.headers[.ifNoneMatch] == nil
                ? PureCache.Reply(head: response("Cache-Control: max-age=60", "ETag: \"a\""))
                : PureCache.Reply(head: response("Cache-Control: no-store", "ETag: \"a\"", status: 304))
        }
        _ = try cache.send(request())
        #expect(try cache.send(request()).status?.refusal == nil)
        cache.advance(61)
        let confirmed = try #require(try cache.send(request()).status)
        #expect(confirmed.isRevalidated && !confirmed.isStored && confirmed.refusal == .noStore && cache.entryCount == 0)
    }

    @Test func modesChangeTheRequest() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60", "ETag: \"a\""))
        let expected: [(CachePolicy.Mode, HTTPFields?)] = [
            (.standard, [:]), (.standard, nil), (.reload, [:]), (.reloadEverywhere, [.cacheControl: "no-cache"]),
            (.revalidate, [.cacheControl: "max-age=0", .ifNoneMatch: "\"a\""]), (.storedElseLoad, nil), (.storedOnly, nil),
        ]
        for (mode, fields) in expected {
            let count = script.seen.count
            _ = try cache.send(request(), mode: mode)
            #expect((script.seen.count > count ? script.seen.last?.headers : nil) == fields, "\(mode)")
        }
        _ = try cache.send(request("Cache-Control: min-fresh=5"), mode: .revalidate)
        #expect(script.seen.last?.headers[.cacheControl] == "min-fresh=5")
    }

    // MARK: - Validation

    @Test func a304FreshensEverything() throws {
        var (cache, script) = cache(
            .standard, reply("Cache-Control: max-age=10", "Date: \(date(0))", "Age: 3", "ETag: \"a\"", "A: 1", "B: 1", "Set-Cookie: a=1"),
            reply(
                "Cache-Control: max-age=60", "Date: \(date(20))", "Expires: \(date(99))", "ETag: \"a\"", "A: 2", "Content-Length: 0",
                status: 304))
        _ = try cache.send(request())
        cache.advance(20)
        let valid = try cache.send(request())
        #expect(script.seen.last?.headers[.ifNoneMatch] == "\"a\"")
        #expect(valid.head.status == .ok && valid.text == "0123456789" && valid.status?.isRevalidated == true)
        let fields = valid.head.headerFields
        #expect(fields[.custom("A")] == "2" && fields[.custom("B")] == "1" && fields[.cacheControl] == "max-age=60" && fields[.age] == "0")
        #expect(fields[.date] == date(20) && fields[.expires] == date(99) && fields[.contentLength] == nil)
        // The cookie was set by the first response.
        #expect(fields[.setCookie] == nil)
        cache.advance(59)
        let hit = try cache.send(request())
        #expect(hit.isHit && hit.head.headerFields[.custom("A")] == "2" && hit.head.headerFields[.setCookie] == "a=1")
        cache.advance(2)
        #expect(try !cache.send(request()).isHit)
    }

    @Test func a304WithoutDateIsFreshAgain() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=10", "Date: \(date(0))", "ETag: \"a\""), reply(status: 304))
        _ = try cache.send(request())
        cache.advance(100)
        _ = try cache.send(request())
        cache.advance(9)
        #expect(try cache.send(request()).isHit)
    }

    @Test func a304ThatForbidsStoringRemovesTheEntry() throws {
        var (cache, _) = cache(
            .standard, reply("Cache-Control: max-age=1", "ETag: \"a\""), reply("Cache-Control: no-store", "ETag: \"a\"", status: 304))
        _ = try cache.send(request())
        cache.advance(2)
        #expect(try cache.send(request()).text == "0123456789" && cache.entryCount == 0)
    }

    @Test func a304ThatConfirmsNothingIsAskedAgain() throws {
        var (cache, script) = cache(
            .standard, reply("Cache-Control: max-age=1", "ETag: \"a\""), reply("ETag: \"b\"", status: 304),
            reply("ETag: \"b\"", text: "new"))
        _ = try cache.send(request())
        cache.advance(2)
        #expect(try cache.send(request()).text == "new" && script.seen.count == 3 && script.seen[2].headers.isEmpty)
    }

    @Test func the304OfAnotherVariantServesThatVariant() throws {
        var (cache, script) = cache(
            .standard, reply("Vary: Foo", "Cache-Control: max-age=60", "ETag: \"1\"", text: "one"),
            reply("Vary: Foo", "Cache-Control: max-age=60", "ETag: \"2\"", text: "two"), reply("ETag: \"1\"", status: 304))
        for value in ["1", "2"] { _ = try cache.send(request("Foo: \(value)")) }
        let third = try cache.send(request("Foo: 3"))
        #expect(script.seen[1].headers[.ifNoneMatch] == "\"1\"" && script.seen[2].headers[.ifNoneMatch] == "\"1\", \"2\"")
        #expect(third.text == "one" && third.status?.outcome == .forwarded(.varyMiss))
        #expect(third.status?.isReselected == true && third.status?.isRevalidated == false && third.status?.isMiss == false)
        #expect(try cache.send(request("Foo: 2")).isHit)
    }

    /// RFC 9111, section 4.3.4: the server selects the response, even if a stale response belongs to the request.
    @Test func a304CanSelectAnotherVariantThanTheStaleResponse() throws {
        var (cache, _) = cache(
            .standard, reply("Vary: Foo", "Cache-Control: max-age=1", "ETag: \"1\"", text: "one"),
            reply("Vary: Foo", "Cache-Control: max-age=1", "ETag: \"2\"", text: "two"), reply("ETag: \"1\"", status: 304),
            reply("ETag: \"2\"", status: 304))
        for value in ["1", "2"] { _ = try cache.send(request("Foo: \(value)")) }
        cache.advance(5)
        let other = try cache.send(request("Foo: 2"))
        #expect(other.text == "one" && other.status?.isReselected == true && other.status?.isRevalidated == false)
        let own = try cache.send(request("Foo: 2"))
        #expect(own.text == "two" && own.status?.isReselected == false && own.status?.isRevalidated == true)
    }

    @Test func theCallers304FreshensTheEntry() throws {
        var (cache, _) = cache(
            .standard, reply("Cache-Control: max-age=10", "ETag: \"a\""), reply("ETag: \"a\"", "Cache-Control: max-age=60", status: 304))
        _ = try cache.send(request())
        cache.advance(20)
        let passed = try cache.send(request("If-None-Match: \"a\""))
        #expect(passed.head.status == .notModified && passed.status?.isRevalidated == false && passed.status?.isMiss == true)
        #expect(try cache.send(request()).isHit)
    }

    /// RFC 9111, section 4.3.5.
    @Test(
        arguments: [
            (["Cache-Control: max-age=60"], 1), (["ETag: \"a\"", "Cache-Control: max-age=60"], 1), (["ETag: \"b\""], 0),
            (["Content-Length: 10"], 1), (["Content-Length: 11"], 0), (["Last-Modified: \(date(-9))"], 0), (["Cache-Control: no-store"], 0),
        ] as [([String], Int)])
    func headFreshensOrRemoves(_ lines: [String], _ count: Int) throws {
        let head = PureCache.Reply(head: response(lines))
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=10", "ETag: \"a\""), head)
        _ = try cache.send(request())
        cache.advance(20)
        _ = try cache.send(request(method: .head))
        #expect(cache.entryCount == count)
        if lines.contains("Cache-Control: max-age=60"), count == 1 { #expect(try cache.send(request()).isHit) }
    }

    // MARK: - Stale responses

    @Test func aStaleResponseIsServedWhileItIsRevalidated() throws {
        var (cache, script) = cache(
            .standard, reply("Cache-Control: max-age=1, stale-while-revalidate=4", "ETag: \"a\""),
            reply("Cache-Control: no-cache", "ETag: \"b\"", text: "new"))
        _ = try cache.send(request())
        cache.advance(3)
        let stale = try cache.send(request())
        #expect(stale.text == "0123456789" && stale.status?.isStale == true && script.seen.count == 2)
        #expect(script.seen[1].headers[.ifNoneMatch] == "\"a\"")
        _ = try cache.send(request())
        #expect(script.seen.count == 3 && script.seen[2].headers[.ifNoneMatch] == "\"b\"")
    }

    @Test(arguments: [500, 502, 503, 504, 0]) func aStaleResponseReplacesAFailure(_ status: Int) throws {
        let failure = status == 0 ? nil : reply("Set-Cookie: x=y", status: status, text: "failure")
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=1, stale-if-error=60", "Set-Cookie: a=b"), failure)
        _ = try cache.send(request())
        cache.advance(10)
        let stale = try cache.send(request())
        #expect(stale.text == "0123456789" && stale.head.status == .ok && stale.head.headerFields[.setCookie] == nil)
        #expect(stale.status?.isFallback == true && stale.status?.isStale == true && stale.status?.isMiss == false)
        #expect(stale.status?.forwardedStatus?.code == (status == 0 ? nil : status))
        for forced in [request("Cache-Control: no-cache"), request("Cache-Control: max-age=5")] {
            #expect((try? cache.send(forced))?.status?.isFallback != true)
        }
        #expect((try? cache.send(request(), mode: .revalidate))?.status?.isFallback != true)
        cache.advance(60)
        #expect((try? cache.send(request()))?.status?.isFallback != true)
    }

    @Test func otherFailuresAreNotReplaced() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=1, stale-if-error=60"), reply(status: 501, text: "failure"))
        _ = try cache.send(request())
        cache.advance(10)
        #expect(try cache.send(request()).text == "failure")
    }

    // MARK: - Invalidation

    @Test func anUnsafeRequestRemovesAllEntriesOfItsURL() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60", "Vary: Foo"))
        let ada = CredentialIdentity(scheme: "bearer", account: "ada")
        let all = [request("Foo: 1"), request("Foo: 2"), request(identity: ada), request("Body: a", method: .query)]
        for request in all { _ = try cache.send(request) }
        _ = try cache.send(request(url: sampleURL + "?a=1"))
        #expect(cache.entryCount == 5)
        _ = try cache.send(request("Authorization: x", method: .put))
        #expect(cache.entryCount == 1 && script.seen.count == 6)
    }

    @Test func theResponseToPostServesGet() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=60", "Content-Location: /items"))
        #expect(try !cache.send(request(method: .post)).isHit)
        #expect(try cache.send(request()).isHit)
        #expect(try !cache.send(request(method: .post)).isHit)
    }

    @Test(arguments: [(200, 0), (404, 0), (410, 0), (401, 1), (403, 1), (429, 1), (500, 1), (503, 1)])
    func aResponseThatIsNotStoredMayRemoveTheEntry(_ status: Int, _ count: Int) throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=1"), reply("Cache-Control: no-store", status: status))
        _ = try cache.send(request())
        cache.advance(2)
        _ = try cache.send(request())
        #expect(cache.entryCount == count)
    }

    // MARK: - Parts

    @Test(arguments: ["-5", "+5", "x"]) func anInvalidLengthIsIgnored(length: String) throws {
        var (cache, _) = cache(.standard, reply("Content-Length: \(length)", "Cache-Control: max-age=60"))
        _ = try cache.send(request())
        #expect(try cache.send(request()).isHit)
    }

    @Test func aCutResponseIsCompleted() throws {
        var (cache, script) = cache(
            .standard, reply("Content-Length: 10", "ETag: \"a\"", "Cache-Control: max-age=1", text: "01234", isCut: true),
            reply("Content-Range: bytes 5-9/10", "ETag: \"a\"", "Cache-Control: max-age=60", status: 206, text: "56789"))
        #expect(try cache.send(request()).bodyFailed)
        cache.advance(10)
        let whole = try cache.send(request())
        #expect(script.seen[1].headers[.range] == "bytes=5-" && script.seen[1].headers[.ifRange] == "\"a\"")
        #expect(whole.head.status == .ok && whole.text == "0123456789" && whole.head.headerFields[.contentLength] == "10")
        #expect(whole.head.headerFields[.contentRange] == nil && whole.status?.outcome == .forwarded(.partial))
        let hit = try cache.send(request())
        #expect(hit.isHit && hit.text == "0123456789" && hit.head.status == .ok)
    }

    @Test func aChangedResponseIsNotCompleted() throws {
        for second in [
            reply("ETag: \"b\"", text: "new"), reply("Content-Range: bytes 5-9/10", "ETag: \"b\"", status: 206, text: "56789"),
            reply("Content-Range: bytes */10", status: 416),
        ] {
            var (cache, script) = cache(
                .standard, reply("Content-Length: 10", "ETag: \"a\"", text: "01234", isCut: true), second, reply("ETag: \"b\"", text: "new")
            )
            _ = try cache.send(request())
            #expect(try cache.send(request()).text == "new")
            #expect(script.seen.last?.headers[.range] == (second.head.status == .ok ? "bytes=5-" : nil))
        }
    }

    @Test func partsGrowIntoTheWhole() throws {
        func part(_ range: String, _ text: String) -> PureCache.Reply {
            reply("Content-Range: bytes \(range)/10", "ETag: \"a\"", "Cache-Control: max-age=60", status: 206, text: text)
        }
        var (cache, script) = cache(.standard, part("4-5", "45"), part("6-9", "6789"), part("0-4", "01234"))
        for range in ["4-5", "6-9", "0-4"] { #expect(try !cache.send(request("Range: bytes=\(range)")).isHit) }
        #expect(cache.entryCount == 1)
        let whole = try cache.send(request())
        #expect(whole.isHit && whole.text == "0123456789" && whole.head.status == .ok && whole.head.headerFields[.contentLength] == "10")
        let part = try cache.send(request("Range: bytes=3-6"))
        #expect(part.isHit && part.text == "3456" && part.head.status == .partialContent && script.seen.count == 3)
        #expect(part.head.headerFields[.contentRange] == "bytes 3-6/10" && part.head.headerFields[.contentLength] == "4")
    }

    @Test func partsOfDifferentResponsesAreNotMixed() throws {
        for tag in ["\"b\"", "W/\"a\"", "x"] {
            var (cache, _) = cache(
                .standard, reply("Content-Range: bytes 0-4/10", "ETag: \"a\"", "Cache-Control: max-age=60", status: 206, text: "01234"),
                reply("Content-Range: bytes 5-9/10", "ETag: \(tag)", "Cache-Control: max-age=60", status: 206, text: "56789"))
            _ = try cache.send(request("Range: bytes=0-4"))
            _ = try cache.send(request("Range: bytes=5-9"))
            #expect(try !cache.send(request("Range: bytes=4-5")).isHit)
            #expect(try cache.send(request("Range: bytes=5-9")).text == "56789")
        }
    }

    @Test func aPartFreshensTheWholeAndDoesNotReplaceIt() throws {
        var (cache, _) = cache(
            .standard, reply("ETag: \"a\"", "Cache-Control: max-age=1"),
            reply("Content-Range: bytes 0-1/10", "ETag: \"a\"", "Cache-Control: max-age=60", status: 206, text: "01"))
        _ = try cache.send(request())
        cache.advance(2)
        #expect(try cache.send(request("Range: bytes=0-1")).head.status == .partialContent)
        #expect(try cache.send(request()).isHit && cache.send(request("Range: bytes=8-")).text == "89")
    }

    @Test func aStalePartIsValidated() throws {
        var (cache, script) = cache(
            .standard, reply("Content-Range: bytes 0-4/10", "ETag: \"a\"", "Cache-Control: max-age=1", status: 206, text: "01234"),
            reply("ETag: \"a\"", status: 304))
        _ = try cache.send(request("Range: bytes=0-4"))
        cache.advance(2)
        let part = try cache.send(request("Range: bytes=1-2"))
        #expect(script.seen[1].headers[.ifNoneMatch] == "\"a\"" && script.seen[1].headers[.range] == "bytes=1-2")
        #expect(part.text == "12" && part.head.status == .partialContent)
    }

    @Test func aTransportThatDecodesUsesNeitherEncodedBytesNorTheRestOfAPart() {
        let engine = CacheEngine(.standard)
        let encoded = entry(1, head(["Cache-Control: max-age=60", "Content-Encoding: gzip", "ETag: \"a\""]))
        let part = entry(2, head(["Cache-Control: max-age=60", "ETag: \"a\""], extent: .part(0..<5, completeLength: 10)))
        for (stored, reason) in [(encoded, CacheStatus.ForwardReason.uriMiss), (part, .partial)] {
            guard case .send(let forward) = engine.decide(read(request(), isDecoded: true), among: [stored], at: instant(1)) else {
                Issue.record("the request must be sent")
                continue
            }
            #expect(forward.fields.isEmpty && forward.completes == nil && forward.reason == reason)
        }
        guard case .serve = engine.decide(read(request()), among: [encoded], at: instant(1)) else {
            Issue.record("a stack that decodes bytes itself must get them")
            return
        }
    }

    // MARK: - Bugs of other caches

    /// undici #5094.
    @Test func aStaleVariantDoesNotHideAFreshOne() throws {
        let engine = CacheEngine(.standard)
        let entries = [entry(1, head(["Cache-Control: max-age=600"])), entry(2, head(["Cache-Control: max-age=1"], at: instant(5)))]
        for entries in [entries, entries.reversed()] {
            guard case .serve(let serving) = engine.decide(read(request()), among: entries, at: instant(10)) else {
                Issue.record("the fresh entry must be served")
                continue
            }
            #expect(serving.entry.id == .init(1))
        }
    }

    /// undici #5108.
    @Test func aChangedVaryReplacesTheStoredResponse() throws {
        var (cache, _) = cache(
            .standard, reply("Cache-Control: max-age=1", "Vary: A", text: "old"), reply("Cache-Control: max-age=60", "Vary: B", text: "new")
        )
        _ = try cache.send(request("A: 1", "B: 1"))
        cache.advance(2)
        _ = try cache.send(request("A: 1", "B: 1"))
        #expect(cache.entryCount == 1)
        #expect(try cache.send(request("A: 2", "B: 1")).text == "new")
    }

    @Test func aURLHasAtMost16Variants() throws {
        var (cache, _) = cache(.standard, reply("Cache-Control: max-age=60", "Vary: Foo"))
        for number in 0..<40 {
            _ = try cache.send(request("Foo: \(number)"))
            cache.advance(0.1)
            #expect(cache.entryCount <= 16)
        }
        #expect(try cache.send(request("Foo: 39")).isHit && cache.send(request("Foo: 24")).isHit && !cache.send(request("Foo: 23")).isHit)
    }

    /// hishel: a 5xx replaces a good entry.
    @Test func aFailureDoesNotReplaceAGoodResponse() throws {
        var (cache, _) = cache(.standard, reply("ETag: \"a\""), reply(status: 503), reply("ETag: \"a\"", status: 304))
        _ = try cache.send(request())
        #expect(try cache.send(request()).head.status.code == 503)
        #expect(try cache.send(request()).text == "0123456789")
    }

    /// One variant for each URL: OkHttp.
    @Test func variantsDoNotDisplaceOneAnother() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60", "Vary: Accept-Language"))
        for language in ["de", "en", "de", "en"] { _ = try cache.send(request("Accept-Language: \(language)")) }
        #expect(script.seen.count == 2)
    }

    // MARK: - Accounts

    @Test func accountsAreKeptApart() throws {
        var (cache, script) = cache(.standard, reply("Cache-Control: max-age=60"))
        let accounts = [nil, "ada", "bob"].map { $0.map { CredentialIdentity(scheme: "bearer", account: $0) } }
        for _ in 0..<2 { for account in accounts { _ = try cache.send(request(identity: account)) } }
        #expect(script.seen.count == 3)
        // Credentials of an unknown account neither use nor leave anything.
        for _ in 0..<2 { #expect(try cache.send(request("Authorization: x")).status?.outcome == .forwarded(.bypass)) }
        #expect(script.seen.count == 5 && cache.entryCount == 3)
    }

    // MARK: - The app's decision

    @Test func theAppChoosesALifetime() throws {
        let policy = CachePolicy.standard.deciding {
            $0.isStated ? .byPolicy : .fresh(for: .seconds(60), staleWhileRevalidate: .seconds(60))
        }
        var (cache, script) = cache(policy, reply("ETag: \"a\""), reply("ETag: \"a\"", status: 304))
        _ = try cache.send(request())
        cache.advance(59)
        #expect(try cache.send(request()).isHit)
        cache.advance(2)
        #expect(try cache.send(request()).status?.isStale == true && script.seen.count == 2)
        cache.advance(59)
        #expect(try cache.send(request()).status?.isStale == false && script.seen.count == 2)
    }

    @Test func theAppGetsWhatThePolicyWouldDo() throws {
        var seen: [(Duration?, Bool)] = []
        for (lines, status) in [
            (["Cache-Control: max-age=60"], 200), ([], 200), ([], 403), (["Cache-Control: no-cache"], 200),
            (["Last-Modified: \(date(-1000))"], 200),
        ] {
            let box = Box()
            let policy = CachePolicy.standard.deciding { received in
                box.set(received.lifetime, received.isStated)
                return .byPolicy
            }
            var (cache, _) = cache(policy, .init(head: response(lines, status: status)))
            _ = try cache.send(request())
            seen.append(box.value)
        }
        #expect(seen.map(\.0) == [.seconds(60), .zero, nil, .zero, .seconds(100)] && seen.map(\.1) == [true, false, false, true, false])
    }

    private final class Box: Sendable {
        private let state = Mutex<(Duration?, Bool)>((nil, false))
        var value: (Duration?, Bool) { state.withLock { $0 } }
        func set(_ lifetime: Duration?, _ isStated: Bool) { state.withLock { $0 = (lifetime, isStated) } }
    }
}
