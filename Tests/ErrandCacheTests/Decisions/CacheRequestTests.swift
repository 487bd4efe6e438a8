import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct CacheRequestTests {
    private let ada = CredentialIdentity(scheme: "bearer", account: "ada")
    private let bob = CredentialIdentity(scheme: "bearer", account: "bob")

    @Test func differentThingsHaveDifferentKeys() throws {
        func key(_ request: Request, digest: [UInt8]? = [1]) throws -> CacheKey {
            try #require(CacheRequest(request, bodyDigest: digest)?.key)
        }
        let keys = [
            try key(request()), try key(request(url: sampleURL + "?a=1")), try key(request(url: sampleURL + "?a=2")),
            try key(request(url: "http://api.example/items")), try key(request(url: sampleURL + "/")), try key(request(identity: ada)),
            try key(request(identity: bob)), try key(request(method: .query)),
            try key(request(method: .query), digest: [2]), try key(request("Content-Type: a/b", method: .query)),
            try key(request("Content-Encoding: a/b", method: .query)),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(try key(request(method: .head)) == key(request()) && key(request(method: .post)) == key(request()))
        #expect(try key(request(url: "https://API.example:443/items")) == key(request()))
        #expect(try key(request("Authorization: 1", identity: ada)) == key(request("Authorization: 2", identity: ada)))
        #expect(try key(request(url: "https://a.example")) == key(request(url: "https://a.example/")))
        #expect(keys[1].origin == request().url?.origin && keys[3].origin == request(url: "http://api.example").url?.origin)
        #expect(try !"\(key(request(url: sampleURL + "?token=hidden")))".contains("hidden"))
    }

    @Test func someRequestsHaveNoKey() throws {
        #expect(read(request("Authorization: x")).key == nil && read(request("Authorization: x", identity: ada)).key != nil)
        #expect(read(request("Authorization: x"), scope: .shared).key?.partition == CacheKey.Partition.none)
        for line in ["Cookie: a=b", "X-API-Key: x", "X-Own-Token: x"] {
            #expect(read(request(line)).key == nil && read(request(line, identity: ada)).key != nil, "\(line)")
            #expect(read(request(line), scope: .shared).key?.partition == CacheKey.Partition.none, "\(line)")
        }
        #expect(read(request("Idempotency-Key: x", "If-None-Match: \"a\"")).key?.partition == CacheKey.Partition.none)
        #expect(read(request(identity: ada), scope: .shared).key?.partition == CacheKey.Partition.none)
        #expect(CacheRequest(request(method: .query), bodyDigest: nil)?.key == nil)
        for (method, hasKey) in [(HTTPRequest.Method.get, false), (.head, false), (.post, true), (.query, true)] {
            var request = request(method: method)
            request.body = .text("a")
            #expect((read(request).key != nil) == hasKey)
        }
        #expect(try CacheRequest(Request(.get, "/items")) == nil)
    }

    @Test func aRequestWithoutAKeySaysWhy() {
        #expect(read(request()).refusal == nil && read(request("Authorization: x")).refusal == .noAccount)
        #expect(read(request("Authorization: x"), scope: .shared).refusal == nil)
        #expect(CacheRequest(request(method: .query), bodyDigest: nil)?.refusal == .requestBody)
        var posted = request()
        posted.body = .text("a")
        #expect(read(posted).refusal == .requestBody)
        #expect(read(request(url: "https://a.example/" + String(repeating: "x", count: 8175))).refusal == .urlTooLong)
    }

    @Test func theIdentityOfCookiesCoversOnlyCookies() {
        func asked(_ lines: String..., scope: CachePolicy.Scope = .private, own: CredentialIdentity? = nil) -> CacheRequest {
            var request = request(identity: own)
            request.headers = fields(lines)
            request.options.cookieIdentity = ada
            return read(request, scope: scope)
        }
        #expect(asked("Cookie: a=b").key?.partition == .account(ada))
        #expect(asked("Cookie: a=b", "Authorization: x").key == nil && asked("Cookie: a=b", "X-API-Key: x").key == nil)
        #expect(asked("Cookie: a=b", "Authorization: x", own: bob).key?.partition == .account(bob))
        // RFC 9111, section 3.5, has a rule for `Authorization`, and none for cookies.
        #expect(asked("Cookie: a=b", scope: .shared).key?.partition == CacheKey.Partition.none)
        #expect(!asked("Cookie: a=b", scope: .shared).hasCredentials && asked(scope: .shared, own: bob).hasCredentials)
    }

    @Test func aFieldThatTheRequestDeclaresIsACredential() {
        var declared = request("X-Card: 1")
        #expect(read(declared).key != nil)
        declared.options.sensitivity = Sensitivity(fields: [.custom("X-Card")])
        #expect(read(declared).key == nil)
        var fallback = request()
        fallback.options.fallbackHeaders = [.cookie: "a=b"]
        #expect(read(fallback).key == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct CacheInstantTests {
    @Test func anInstantHasTwoClocks() {
        #expect(instant(10).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, wall: -99).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, run: 2).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, wall: -99, run: 2).elapsed(since: instant(4)) == nil)
        #expect(instant(4).elapsed(since: instant(10)) == .zero)
        #expect(instant(0.999).date == beginning)
        #expect(CacheInstant(sinceEpoch: .milliseconds(-1), uptime: .zero, run: 0).date == HTTPDate(secondsSinceEpoch: -1))
    }
}

@Suite(.timeLimit(.minutes(5))) struct CachePolicyTests {
    @Test(
        arguments: [
            (CachePolicy.standard, "private"), (.shared, "shared"), (.standard.withoutHeuristics, "private, without heuristics"),
            (CachePolicy(heuristic: .init(fraction: 0.2)), "private, own heuristic"),
            (
                CachePolicy(staleIfError: .seconds(60), staleIfUnreachable: .seconds(3600)),
                "private, stale up to 1 min if the server fails, stale up to 1 h if the server can't be reached"
            ),
            (.fresh(for: .seconds(60)), "private, with the app's own decision"),
        ])
    func aPolicyIsDescribed(_ policy: CachePolicy, _ text: String) { #expect("\(policy)" == text) }

    @Test func aPolicySaysHowLongAHeadStaysFresh() {
        let stored = head(["Cache-Control: max-age=60, s-maxage=90"])
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(10)) == .seconds(50))
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(70)) == .seconds(-10))
        #expect(CachePolicy.shared.remainingLifetime(of: stored, at: instant(10)) == .seconds(80))
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(10, wall: -99, run: 2)) == nil)
        let chosen = head(["Cache-Control: max-age=60"], lifetimes: CacheLifetimes(fresh: .seconds(5)))
        #expect(CachePolicy.standard.remainingLifetime(of: chosen, at: instant(1)) == .seconds(4))
        let current = (CacheInstant.now, CacheInstant.now)
        #expect(current.0.run == current.1.run && current.0.uptime <= current.1.uptime)
    }

    @Test func modesMapToThoseOfFoundation() {
        #expect(
            CachePolicy.Mode.allCases.map(\.rawValue) == [
                "standard", "reload", "reloadEverywhere", "revalidate", "storedElseLoad", "storedOnly",
            ])
    }
}
