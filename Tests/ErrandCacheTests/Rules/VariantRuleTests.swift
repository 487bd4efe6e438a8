import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, section 4.1.
@Suite(.timeLimit(.minutes(5))) struct VariantRuleTests {
    private let rule = VariantRule(digest: testDigest)

    private func matches(_ vary: [String], _ first: [String], _ second: [String], identity: CredentialIdentity? = nil) throws -> Bool {
        var (one, other) = (request(identity: identity), request(identity: identity))
        (one.headers, other.headers) = (fields(first), fields(second))
        let selection = try #require(rule.selection(of: fields(vary), for: read(one)))
        return rule.matches(head(vary, selection: selection), read(other))
    }

    @Test(
        arguments: [
            ([], ["Foo: 1"], ["Foo: 2"], true), (["Vary: Foo"], ["Foo: 1"], ["Foo: 1"], true),
            (["Vary: Foo"], ["Foo: 1"], ["Foo: 2"], false),
            (["Vary: Foo"], ["Foo: 1"], [], false), (["Vary: Foo"], [], ["Foo: 1"], false), (["Vary: Foo"], [], [], true),
            (["Vary: Foo"], ["Foo: "], [], false), (["Vary: Foo"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], true),
            (["Vary: foo"], ["FOO: 1"], ["Foo: 1"], true), (["Vary: Foo, Bar"], ["Foo: 1", "Bar: 2"], ["Bar: 2", "Foo: 1"], true),
            (["Vary: Foo", "Vary: Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1"], false), (["Vary: Foo, Bar"], ["Foo: 1"], ["Foo: 1"], true),
            // Combining lines, and white space.
            (["Vary: Foo"], ["Foo: 1", "Foo: 2"], ["Foo: 1, 2"], true), (["Vary: Foo"], ["Foo: 1"], ["Foo:  1 "], true),
            (["Vary: Foo"], ["Foo: a"], ["Foo: A"], false), (["Vary: Foo"], ["Foo: \u{E9}"], ["Foo: e\u{301}"], false),
            // `*` matches nothing.
            (["Vary: *"], ["Foo: 1"], ["Foo: 1"], false), (["Vary: Foo, *"], ["Foo: 1"], ["Foo: 1"], false), (["Vary: , *"], [], [], false),
            (["Vary: a b"], [], [], false),
            // RFC 9110, section 12.5.4: order, case and white space of languages have no meaning.
            (["Vary: Accept-Language"], ["Accept-Language: en, de"], ["Accept-Language: de, en"], true),
            (["Vary: Accept-Language"], ["Accept-Language: en, de"], ["Accept-Language: eN, De"], true),
            (["Vary: Accept-Language"], ["Accept-Language: en, de"], ["Accept-Language: en ,   de"], true),
            (["Vary: Accept-Language"], ["Accept-Language: en, de;q=0.5"], ["Accept-Language: de; q=0.500, en;q=1"], true),
            (["Vary: Accept-Language"], ["Accept-Language: en, de;q=0.5"], ["Accept-Language: en;q=0.5, de"], false),
            (["Vary: Accept-Language"], ["Accept-Language: en"], ["Accept-Language: en, de"], false),
            (["Vary: Accept-Language"], ["Accept-Language: en;q=x"], ["Accept-Language: en"], false),
            // The one preferred language is the language of the response.
            (
                ["Vary: Accept-Language", "Content-Language: de"], ["Accept-Language: en, de"], ["Accept-Language: fr;q=0.5, DE;q=1.0"],
                true
            ),
            (["Vary: Accept-Language", "Content-Language: de"], ["Accept-Language: en, de"], ["Accept-Language: fr, de"], false),
            (["Vary: Accept-Language", "Content-Language: de"], ["Accept-Language: en, de"], ["Accept-Language: de;q=0"], false),
            (["Vary: Accept-Language", "Content-Language: de, en"], ["Accept-Language: en, de"], ["Accept-Language: de"], false),
            (["Vary: Accept-Language", "Content-Language: *"], ["Accept-Language: en"], ["Accept-Language: *"], false),
            (["Vary: Accept-Language", "Content-Language: de"], ["Accept-Language: en, de"], [], false),
            (
                ["Vary: Accept-Language, Foo", "Content-Language: de"], ["Accept-Language: en, de"], ["Accept-Language: de", "Foo: 1"],
                false
            ),
            // RFC 9110, sections 12.5.1 and 12.5.3.
            (["Vary: Accept-Encoding"], ["Accept-Encoding: gzip, br"], ["Accept-Encoding: BR,GZIP"], true),
            (["Vary: Accept"], ["Accept: a/b, c/d;q=0.3"], ["Accept: c/d; q=0.3 , a/b"], true),
            (["Vary: Accept"], ["Accept: a/b;v=\"1;q=2\""], ["Accept: a/b;v=\"1\""], false),
            (["Vary: Accept"], ["Accept: a/b;v=X"], ["Accept: a/b;v=x"], false),
            // Secret fields are compared by a digest.
            (["Vary: Cookie"], ["Cookie: a=b"], ["Cookie: a=b"], true), (["Vary: Cookie"], ["Cookie: a=b"], ["Cookie: a=c"], false),
            (["Vary: X-Api-Key"], ["X-Api-Key: a"], [], false),
            // RFC 9113, section 8.2.3: several `Cookie` fields are one field with semicolons.
            (["Vary: Cookie"], ["Cookie: a=b", "Cookie: c=d"], ["Cookie: a=b; c=d"], true),
            (["Vary: Cookie"], ["Cookie: a=b", "Cookie: c=d"], ["Cookie: a=b, c=d"], false),
            (["Vary: Foo"], ["Foo: 1", "Foo: 2"], ["Foo: 1; 2"], false),
            // RFC 9110, section 12.4.2: a quality has at most three decimals.
            (["Vary: Accept"], ["Accept: a/b;q=0.25, c/d"], ["Accept: a/b;q=0.250, c/d;q=1.000"], true),
            (["Vary: Accept"], ["Accept: a/b;q=0.25"], ["Accept: a/b;q=0.251"], false),
            (["Vary: Accept"], ["Accept: a/b;q=0.001"], ["Accept: a/b;q=0"], false),
            (["Vary: Accept"], ["Accept: a/b;q=0.01"], ["Accept: a/b;q=0.1"], false),
            (["Vary: Accept"], ["Accept: a/b;q=1.001"], ["Accept: a/b"], false),
            (["Vary: Accept"], ["Accept: a/b;q=0.2501"], ["Accept: a/b;q=0.250"], false),
        ] as [([String], [String], [String], Bool)])
    func aResponseBelongsToARequest(_ vary: [String], _ first: [String], _ second: [String], _ expected: Bool) throws {
        #expect(try matches(vary, first, second) == expected)
    }

    @Test func aRefreshedTokenSelectsTheSameResponse() throws {
        let ada = CredentialIdentity(scheme: "bearer", account: "ada")
        #expect(try matches(["Vary: Authorization"], ["Authorization: Bearer 1"], ["Authorization: Bearer 2"], identity: ada))
        #expect(try !matches(["Vary: Authorization"], ["Authorization: Bearer 1"], [], identity: ada))
    }

    @Test func aSelectionKeepsNoSecret() throws {
        let ada = CredentialIdentity(scheme: "bearer", account: "ada")
        let sent = request("Cookie: a=hidden", "Authorization: hidden", "X-Session-Token: hidden", "Accept: a/b", identity: ada)
        let vary = fields(["Vary: Cookie, Authorization, X-Session-Token, Accept, Foo"])
        let selection = try #require(rule.selection(of: vary, for: read(sent)))
        #expect(!"\(selection)".contains("hidden"))
        #expect(selection.fields.map(\.value)[1] == .account && selection.fields.map(\.value)[3...] == [.text("a/b"), .absent])
        #expect(VariantRule(digest: { _ in nil }).selection(of: vary, for: read(sent)) == nil)
        #expect(VariantRule(digest: { _ in [] }).selection(of: vary, for: read(sent)) == nil)
    }

    @Test func octetsThatAreNotTextAreCompared() throws {
        func sent(_ octets: [UInt8]) -> CacheRequest {
            var request = request()
            var field = HTTPField(name: .custom("Foo"), value: "")
            field = HTTPField(name: field.name, value: octets)
            request.headers.append(field)
            return read(request)
        }
        let selection = try #require(rule.selection(of: fields(["Vary: Foo"]), for: sent([0xE9])))
        let stored = head(["Vary: Foo"], selection: selection)
        #expect(rule.matches(stored, sent([0xE9])) && !rule.matches(stored, sent([0xE8])) && !rule.matches(stored, sent(Array("é".utf8))))
        // Text that looks like another form of the octet is another value.
        for text in ["%e9", "%E9", "e9", "E9", "\\xE9"] { #expect(!rule.matches(stored, sent(Array(text.utf8))), "\(text)") }
        #expect(!rule.matches(stored, sent([0xE9, 0x65, 0x39])) && !rule.matches(stored, sent([0xE9, 0xE9])))
    }
}
