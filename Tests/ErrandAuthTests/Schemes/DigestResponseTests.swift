#if Auth
import ErrandCore
import Testing

@testable import ErrandAuth

/// The examples of [RFC 7616, section 3.9](https://www.rfc-editor.org/rfc/rfc7616#section-3.9), and what a challenge may look like.
struct DigestResponseTests {
    private static let example =
        #"realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "#
        + #"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#

    private func response(_ value: String) throws -> DigestResponse {
        try #require(DigestResponse.strongest(of: AuthenticationChallenge.parse([value])))
    }

    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func theExampleOfTheStandardIsReproduced(algorithm: String, digits: String) throws {
        let field = try response("Digest \(Self.example), algorithm=\(algorithm)").field(
            user: "Mufasa", password: "Circle of Life", method: "GET", target: "/dir/index.html", count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        let read = try #require(AuthenticationChallenge.parse([field]).first)
        #expect(read["response"] == digits && read["algorithm"] == algorithm && read["nc"] == "00000001" && read["qop"] == "auth")
        #expect(read["username"] == "Mufasa" && read["uri"] == "/dir/index.html")
        #expect(read["opaque"] == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
    }

    /// The values of the standard are wrong; these are those of its [erratum 4897](https://www.rfc-editor.org/errata/eid4897).
    @Test func theExampleWithAHashedUserIsReproduced() throws {
        let challenge =
            #"Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", "#
            + #"opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true"#
        let field = try response(challenge).field(
            user: "Jäsøn Doe", password: "Secret, or not?", method: "GET", target: "/doe.json", count: 1,
            clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        let read = try #require(AuthenticationChallenge.parse([field]).first)
        #expect(read["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
        #expect(read["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        #expect(read["userhash"] == "true")
    }

    /// Values of Python's `hashlib` for the formulas of section 3.4.
    @Test(arguments: [
        (#"realm="r", nonce="n""#, "53e5b46628080b405f34d0d7ac3dd5c6"),
        (#"realm="r", nonce="n", qop="auth-int""#, "63fc70457c2782c541a8e15d81fc3869"),
        (#"realm="r", nonce="n", qop="auth", algorithm=MD5-sess"#, "f50deabcf378f2c9efccfa6a32691483"),
        (#"realm="r", nonce="n", algorithm=MD5-sess"#, "a8fa5ff4717ec9de2c261199fd0c7cc9"),
        (#"realm="r", nonce="n", qop="auth", algorithm=sha-256-SESS"#, "ebb3e2d22161680271254136c881d98d51c90b03b678e843037be6fecbb9ee11"),
        (
            #"realm="r", nonce="n", qop="auth", algorithm=SHA-512"#,
            "eb9a75ecf9cfd5de1353b1d547ebb8d6db66cacbd6f8aa702782435d2b919f15"
                + "d106c7ff0a15ee3cbac930c3608f6f8f3a64e530cd4d4cb06d520248950511e1"
        ),
    ])
    func eachFormulaMatchesTheStandard(parameters: String, digits: String) throws {
        let field = try response("Digest \(parameters)").field(
            user: "u", password: "p", method: "POST", target: "/x?y=1", count: 0xAB, clientNonce: "c",
            bodyDigits: DigestResponse.Algorithm.standard.digits(of: "body"))
        let read = AuthenticationChallenge.parse([field]).first
        #expect(read?["response"] == digits, "\(field)")
        // What a server needs to check the proof.
        #expect(read?["cnonce"] == (parameters.contains("qop") || parameters.lowercased().contains("-sess") ? "c" : nil))
    }

    /// Two origins may send the same nonce.
    @Test func eachOriginHasItsOwnNonceCount() throws {
        var counts = NonceCounts(limit: 10)
        let (first, second) = (try Request(.get, url: "https://a.example/").origin, try Request(.get, url: "https://b.example/").origin)
        #expect(counts.next(for: "n", at: first) == 1)
        #expect(counts.next(for: "n", at: first) == 2)
        #expect(counts.next(for: "n", at: second) == 1)
        #expect(counts.next(for: "n", at: nil) == 1)
    }

    @Test func theStrongestOfSeveralChallengesIsChosen() throws {
        let value =
            #"Digest realm="a", nonce="1", Digest realm="b", nonce="2", algorithm=SHA-256, qop="auth", Basic realm="c", "#
            + #"Digest realm="d", nonce="3", algorithm=SHA-512-256, qop="auth", Digest realm="e", nonce="4", algorithm=SHA-999"#
        #expect(try response(value).realm == "d")
        #expect(try response(#"Digest realm="a", nonce="1", qop="auth", Digest realm="b", nonce="2""#).realm == "a")
    }

    @Test(arguments: [
        #"Digest realm="a""#, #"Digest nonce="1""#, #"Digest realm="a", nonce="""#, #"Digest realm="a", nonce="1", qop="other""#,
        #"Digest realm="a", nonce="1", algorithm=SHA-1"#, #"Basic realm="a""#, "Digest", "",
    ])
    func anUnusableChallengeIsIgnored(value: String) {
        #expect(DigestResponse.strongest(of: AuthenticationChallenge.parse([value])) == nil)
    }

    @Test func userNamesAreEscapedOrSentAsAnExtendedValue() throws {
        func field(_ user: String, _ more: String = "") throws -> String {
            try response(#"Digest realm="a", nonce="1""# + more).field(
                user: user, password: "p", method: "GET", target: "/", count: 1, clientNonce: "c")
        }
        #expect(try field(#"a"b\c"#).hasPrefix(#"Digest username="a\"b\\c", "#))
        #expect(try field("é", ", charset=UTF-8").hasPrefix("Digest username*=UTF-8''%C3%A9, "))
        #expect(try field("é").hasPrefix(#"Digest username="é", "#))
    }

    /// By the formulas for `realm="r", nonce="n"` above: each form means the same.
    @Test(arguments: [
        (#"realm="r", nonce="n", qop="auth""#, #"realm="r", nonce="n", qop=AUTH"#),
        (#"realm="r", nonce="n", qop="auth""#, #"realm='r' nonce='n' qop='auth'"#),
        (#"realm="r", nonce="n", qop="auth""#, #"realm=r;nonce=n;qop="'auth'""#),
        (#"realm="r", nonce="n", qop="auth""#, "realm=r, nonce=n, qop=auth-int,auth"),
        (#"realm="r", nonce="n", qop="auth""#, #"realm="r", nonce="n", qop="auth-int;auth;other""#),
        (#"realm="r", nonce="n""#, #"realm="r", nonce="n", qop="", algorithm="""#),
        (#"realm="r", nonce="n", qop="auth""#, #"realm="r", nonce="n", qop="auth", algorithm="md5", domain="/", foo=bar"#),
        (#"realm="r", nonce="n", qop="auth", algorithm=SHA-256"#, #"realm="r", nonce="n", qop="auth", algorithm="SHA-7, MD5, sha256""#),
        (#"realm="r", nonce="n", qop="auth", algorithm=SHA-256"#, #"realm="r", nonce="n", qop="auth", algorithm=MD5, algorithm=SHA-256"#),
        (#"realm="r", nonce="n", qop="auth-int""#, #"realm="r", nonce="n", qop="AUTH-INT""#),
    ])
    func anUnusualFormGetsTheSameProof(usual: String, unusual: String) throws {
        func proof(_ parameters: String) throws -> AuthenticationChallenge? {
            let field = try response("Digest \(parameters)").field(
                user: "u", password: "p", method: "POST", target: "/x", count: 1, clientNonce: "c")
            return AuthenticationChallenge.parse([field]).first
        }
        let (first, second) = (try proof(usual), try proof(unusual))
        #expect(first?["response"] != nil && first?["response"] == second?["response"] && first?["qop"] == second?["qop"])
        #expect(second?.realm == "r" && second?["nonce"] == "n")
    }

    @Test func theNameOfTheAlgorithmIsWrittenAsTheServerWritesIt() throws {
        for (sent, written) in [("md5", "md5"), (#""SHA-7, sha-256""#, "sha-256"), (#"" MD5-sess ""#, "MD5-sess"), ("\"\"", nil)]
            as [(String, String?)]
        {
            let field = try response(#"Digest realm="r", nonce="n", qop=auth, algorithm=\#(sent)"#).field(
                user: "u", password: "p", method: "GET", target: "/", count: 1, clientNonce: "c")
            #expect(AuthenticationChallenge.parse([field]).first?["algorithm"] == written, "\(field)")
        }
    }

    /// A quotation mark with a combining mark after it is one `Character`, which is not a quotation mark.
    @Test func noTextBecomesAParameter() throws {
        let evil = "x\"\u{301}, uri=\"/evil\\\u{301}"
        let escaped = "x\\\"\u{301}, uri=\\\"/evil\\\\\u{301}"
        let challenge = "Digest realm=\"\(escaped)\", nonce=\"\(escaped)\", opaque=\"\(escaped)\", qop=auth"
        let field = try response(challenge).field(user: evil, password: "p", method: "GET", target: "/", count: 1, clientNonce: "c")
        let read = try #require(AuthenticationChallenge.parse([field]).first)
        for name in ["username", "realm", "nonce", "opaque"] { #expect(read[name]?.utf8.elementsEqual(evil.utf8) == true, "\(field)") }
        #expect(read["uri"] == "/" && read.parameters.count { $0.name == "uri" } == 1)
    }
}
#endif
