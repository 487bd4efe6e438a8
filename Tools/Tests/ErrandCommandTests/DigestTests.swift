import Errand
import Testing

@testable import ErrandCommand

struct DigestTests {
    private func challenge(_ text: String) throws -> AuthenticationChallenge { try #require(AuthenticationChallenge.parse([text]).first) }

    private func part(_ name: String, of field: String?) -> String? {
        field.flatMap { AuthenticationChallenge.parse([$0]).first?[name] }
    }

    /// The examples of RFC 7616, section 3.9.1, and of RFC 2069, section 2.4, with its erratum 749.
    @Test(
        arguments: [
            (
                #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#,
                "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "8ca523f5e9506fed4657c9700eebdbec"
            ),
            (
                #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#,
                "Circle of Life", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
            ),
            (
                #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#,
                "CircleOfLife", "unused", "1949323746fe6a43ef61f9606e7febea"
            ),
        ] as [(String, String, String, String)])
    func theExamplesOfTheStandardsComeOut(text: String, password: String, clientNonce: String, expected: String) throws {
        let answer = DigestAnswer(challenge: try challenge(text), user: "Mufasa", password: password)
        let field = answer.field(method: "GET", target: "/dir/index.html", count: 1, clientNonce: clientNonce)
        #expect(part("response", of: field) == expected)
        #expect(part("opaque", of: field) == answer.challenge["opaque"])
        #expect(part("nc", of: field) == (answer.challenge["qop"] == nil ? nil : "00000001"))
        #expect(part("uri", of: field) == "/dir/index.html" && part("username", of: field) == "Mufasa")
    }

    /// Their secret holds the nonces; computed apart from this code.
    @Test(arguments: [
        ("MD5-sess", "4435df05f6ed76fc8375d76d394e1cc4"),
        ("SHA-256-sess", "d2ef0a7d9b16928f0a7693f54241fb7d812cef467b157885e1905b5b9bf5fc3d"),
    ]) func aSessionMixesTheNoncesIn(algorithm: String, expected: String) throws {
        let text = #"Digest realm="r", nonce="n", qop="auth", algorithm="# + algorithm
        let field = DigestAnswer(challenge: try challenge(text), user: "u", password: "p")
            .field(method: "CONNECT", target: "a.example:443", count: 26, clientNonce: "c")
        #expect(part("response", of: field) == expected && part("nc", of: field) == "0000001a")
    }

    @Test(arguments: [
        #"Digest nonce="n""#, #"Digest realm="r""#, #"Digest realm="r", nonce="n", algorithm=SHA-512-256"#,
        #"Digest realm="r", nonce="n", qop="auth-int""#, #"Basic realm="r""#,
    ]) func whatCannotBeAnsweredIsNot(text: String) throws {
        let answer = DigestAnswer(challenge: try challenge(text), user: "u", password: "p")
        #expect(answer.strength == nil && answer.field(method: "GET", target: "/", count: 1, clientNonce: "c") == nil)
    }

    @Test func quotationMarksAreEscapedAndTheUserIsHashedOnDemand() throws {
        let quoted = DigestAnswer(
            challenge: try challenge(#"Digest realm="a \"b\"", nonce="n", qop=auth"#), user: #"j"o\e"#, password: "p")
        let field = quoted.field(method: "GET", target: "/", count: 1, clientNonce: "c")
        #expect(field?.contains(#"username="j\"o\\e", realm="a \"b\"""#) == true, "\(field ?? "")")
        let hashed = DigestAnswer(
            challenge: try challenge(#"Digest realm="r", nonce="n", qop=auth, userhash=true"#), user: "u", password: "p")
        let other = hashed.field(method: "GET", target: "/", count: 1, clientNonce: "c")
        #expect(part("userhash", of: other) == "true" && part("username", of: other)?.count == 32)
    }

    private func ask(_ session: DigestSession, _ values: [String], refusals: Int = 0) throws -> String? {
        let proxy = try ProxySettings("http://p.example:3128")
        let challenge = ProxyChallenge(
            from: proxy, challenges: AuthenticationChallenge.parse(values), method: .get, target: "http://a.example/", refusals: refusals)
        return session.respond(to: challenge, clientNonce: "c")
    }

    @Test func requestsAreCountedByTheirNonce() throws {
        let session = DigestSession(user: "u", password: "p", allowsBasic: false)
        let (first, second) = (#"Digest realm="r", nonce="1", qop=auth"#, #"Digest realm="r", nonce="2", qop=auth, stale=TRUE"#)
        var counts: [String?] = []
        counts.append(part("nc", of: try ask(session, [first])))
        counts.append(part("nc", of: try ask(session, [first])))
        counts.append(part("nc", of: try ask(session, [second], refusals: 1)))
        counts.append(part("nc", of: try ask(session, [second])))
        #expect(counts == ["00000001", "00000002", "00000001", "00000002"])
        // Refused, and the nonce was fresh: the credentials are wrong.
        let refused = try ask(session, [first], refusals: 1)
        #expect(refused == nil)
    }

    @Test func theStrongestSchemeIsChosenAndBasicOnlyIfAllowed() throws {
        let (md5, sha) = (#"Digest realm="r", nonce="m", qop=auth"#, #"Digest realm="r", nonce="s", qop=auth, algorithm=SHA-256"#)
        let any = DigestSession(user: "u", password: "p", allowsBasic: true)
        let chosen = try ask(any, [#"Basic realm="r""#, md5, sha])
        #expect(part("nonce", of: chosen) == "s")
        let basic = try ask(any, [#"Basic realm="r""#])
        #expect(basic == "Basic dTpw")
        let refused = try ask(any, [#"Basic realm="r""#], refusals: 1)
        #expect(refused == nil)
        let digestOnly = try ask(DigestSession(user: "u", password: "p", allowsBasic: false), [#"Basic realm="r""#])
        #expect(digestOnly == nil)
    }
}
