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
