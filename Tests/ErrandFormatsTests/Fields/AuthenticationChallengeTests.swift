import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct AuthenticationChallengeTests {
    /// Challenges as one text: `scheme token68 name=value name=value; …`.
    private static func text(_ challenges: [AuthenticationChallenge]) -> String {
        challenges.map { challenge in
            ([challenge.scheme] + [challenge.token68].compactMap(\.self) + challenge.parameters.map { "\($0.name)=\($0.value)" })
                .joined(separator: " ")
        }.joined(separator: "; ")
    }

    @Test(arguments: [
        (#"Basic realm="a b""#, "Basic realm=a b"), (#"basic REALM=x"#, "basic realm=x"), ("Negotiate", "Negotiate"),
        ("Negotiate YWJj==", "Negotiate YWJj=="), ("NTLM a-._~+/9=, Basic realm=r", "NTLM a-._~+/9=; Basic realm=r"),
        ("Negotiate, Basic realm=r", "Negotiate; Basic realm=r"), ("A, B ,, C", "A; B; C"),
        (
            #"Digest realm="r", nonce="a,b", qop="auth,auth-int", Basic realm="r""#,
            "Digest realm=r nonce=a,b qop=auth,auth-int; Basic realm=r"
        ),
        (#"X a = 1 , b= "2\"\\" ,, c=3"#, #"X a=1 b=2"\ c=3"#), (#"X a="", b=c"#, "X a= b=c"), ("X a=b, Y", "X a=b; Y"),
        // What is not valid is left out, and what comes after it.
        ("", ""), (" , ,", ""), (#"Basic realm="r"#, ""), (#"Basic realm="r\"#, ""), ("Basic realm=", "Basic realm="),
        ("A, B c=d e=f, C", "A"),
        (#"A, B c="d"e, C"#, "A"), ("A, B=c", "A"), ("A, \u{e9}", "A"), ("Basic realm=a, Digest a=1, A=2, X", "Basic realm=a; X"),
        (#"A b="c", @"#, "A b=c"),
    ])
    func aValueIsReadAsItsChallenges(_ value: String, _ expected: String) {
        #expect(Self.text(AuthenticationChallenge.parse([value])) == expected)
    }

    @Test func severalFieldsAreReadInTheirOrder() {
        let challenges = AuthenticationChallenge.parse([#"Digest nonce="n""#, "@", #"Basic realm="office""#])
        #expect(challenges.map(\.scheme) == ["Digest", "Basic"])
        #expect(challenges[0]["nonce"] == "n" && challenges[0].realm == nil && challenges[1].realm == "office")
        #expect(challenges[0].isScheme("dIGEST") && !challenges[1].isScheme("Digest"))
        #expect("\(challenges)" == "[Digest nonce, Basic realm]")
    }

    @Test func bothCountsAndTheLengthAreBounded() {
        let many = Array(repeating: "A", count: 40).joined(separator: ",")
        #expect(AuthenticationChallenge.parse([many]).count == 32)
        let parameters = (0..<33).map { "a\($0)=1" }.joined(separator: ",")
        #expect(AuthenticationChallenge.parse(["X \(parameters)"]).isEmpty)
        #expect(AuthenticationChallenge.parse(["Basic realm=" + String(repeating: "x", count: 8192)]).isEmpty)
    }
}
