import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// draft-ietf-httpbis-no-vary-search, section 7.
@Suite(.timeLimit(.minutes(5))) struct SearchRuleTests {
    private static let policy: CachePolicy = {
        var policy = CachePolicy.standard
        policy.usesNoVarySearch = true
        return policy
    }()

    private func key(_ url: String, _ line: String, method: HTTPRequest.Method = .get) throws -> CacheKey {
        let cached = read(request(method: method, url: url))
        return try #require(cached.key(of: head(["No-Vary-Search: \(line)"]), by: Self.policy))
    }

    /// Two URLs, the field of a response, and whether both URLs have the same key.
    @Test(
        arguments: [
            ("https://a.example/p?x=1&y=1", "https://a.example/p?y=1&x=1", "key-order", true),
            ("https://a.example/p?x=1&y=1", "https://a.example/p?y=1&x=1", "params=(\"z\")", false),
            ("https://a.example/p?x=1", "https://a.example/p?x=1&s=2", "params=(\"s\")", true),
            ("https://a.example/p?x=1", "https://a.example/p?x=2&s=2", "params=(\"s\")", false),
            ("https://a.example/p", "https://a.example/p?s=2", "params", true),
            ("https://a.example/p", "https://a.example/p?", "params", true),
            ("https://a.example/p?a?b=1", "https://a.example/p?a?b=2", "params=(\"a?b\")", true),
            ("https://a.example/p?x=1", "https://a.example/q?x=1", "params", false),
            ("https://a.example/p?x=1", "https://a.example/P?x=1", "params", false),
            ("https://a.example/p?x=1", "https://b.example/p?x=1", "params", false),
            ("https://a.example/p?x=1", "http://a.example/p?x=1", "params", false),
            ("https://a.example/p?x=1", "https://a.example:8443/p?x=1", "params", false),
            ("https://a.example/p?x=1", "https://a.example/p?x=%31", "params=(\"s\")", true),
            // Without a valid field, the URLs are compared octet by octet.
            ("https://a.example/p?x=1", "https://a.example/p?x=%31", "params=()", false),
            ("https://a.example/p", "https://a.example/p?", "", false),
        ] as [(String, String, String, Bool)])
    func urlsWithTheSameParametersHaveTheSameKey(_ one: String, _ other: String, _ line: String, _ areEqual: Bool) throws {
        #expect((try key(one, line) == key(other, line)) == areEqual)
        #expect((try key(one, line).hashValue == key(other, line).hashValue) == areEqual)
    }

    @Test func aKeyKeepsTheOtherParts() throws {
        let account = CredentialIdentity(scheme: "s", account: "a")
        let cached = read(request(method: .query, url: "https://a.example/p?x=1", identity: account))
        let found = try #require(cached.key(of: head(["No-Vary-Search: params"]), by: Self.policy))
        #expect(found.partition == .account(account) && found.content == cached.key?.content && found.content != nil)
        #expect(found.url == "https://a.example/p" && found.search != nil && found.search != SearchRule.pointer)
        let pointer = SearchRule.pointerKey(for: found)
        #expect(pointer.partition == .account(account) && pointer.url == found.url && pointer != found)
        #expect(try cached.key?.replacing(url: found.url, content: found.content, search: #require(found.search)) == found)
    }

    @Test func withoutTheSettingTheURLIsTheKey() {
        let cached = read(request(url: "https://a.example/p?x=1"))
        #expect(cached.key(of: head(["No-Vary-Search: params"]), by: .standard) == cached.key)
        #expect(!CachePolicy.standard.usesNoVarySearch && !CachePolicy.shared.usesNoVarySearch)
        // A response to POST replaces the response of its URL alone.
        let post = read(request(method: .post, url: "https://a.example/p?x=1"))
        #expect(post.key(of: head(["No-Vary-Search: params"]), by: Self.policy) == post.key)
    }

    @Test func anUnsafeRequestInvalidatesAllQueries() {
        #expect(
            SearchRule.withoutQueries(["https://a.example/p?x", "https://a.example/p?y?z", "https://a.example/q"])
                == ["https://a.example/p?x", "https://a.example/p?y?z", "https://a.example/q", "https://a.example/p"])
    }

    @Test func thePointerHasTheFieldAlone() throws {
        let head = head(["No-Vary-Search: params", "ETag: \"1\"", "Set-Cookie: a=b"])
        let key = try #require(read(request(url: "https://a.example/p?x=1")).key(of: head, by: Self.policy))
        let lookup = CacheLookup(entries: [], generation: CacheGeneration(1))
        let pointer = try #require(SearchRule.pointer(to: head, of: key, after: lookup)).head
        #expect(pointer.response.headerFields == fields(["No-Vary-Search: params"]) && pointer.extent == .whole(length: 0))
    }

    @Test func theDescriptionNamesTheSetting() { #expect(Self.policy.description == "private, by No-Vary-Search") }
}
