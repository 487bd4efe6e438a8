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
        // An invalid challenge and the text after it are left out.
        ("", ""), (" , ,", ""), (#"Basic realm="r"#, ""), (#"Basic realm="r\"#, ""), ("Basic realm=", "Basic realm="),
        ("A, B c=d e=f, C", "A"),
        (#"A, B c="d"e, C"#, "A"), ("A, B=c", "A"), ("A, \u{e9}", "A"), ("Basic realm=a, Other a=1, A=2, X", "Basic realm=a; X"),
        ("Basic realm=a, Realm=a, X", "Basic realm=a; X"),
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

    @Test func challengesParametersAndLengthAreBounded() {
        let many = Array(repeating: "A", count: 40).joined(separator: ",")
        #expect(AuthenticationChallenge.parse([many]).count == 32)
        let parameters = (0..<33).map { "a\($0)=1" }.joined(separator: ",")
        #expect(AuthenticationChallenge.parse(["X \(parameters)"]).isEmpty)
        #expect(AuthenticationChallenge.parse(["Basic realm=" + String(repeating: "x", count: 8192)]).isEmpty)
    }

    /// Digest as servers write it. Nothing of it may be overlooked: a password would leave by Basic.
    @Test(arguments: [
        // Marks and separators.
        ("Digest realm='a b', nonce='n', qop='auth'", "Digest realm=a b nonce=n qop=auth"),
        ("Digest realm='it's', nonce=n", "Digest realm=it's nonce=n"), ("Digest realm='a, nonce=n", "Digest realm='a nonce=n"),
        ("Digest realm=office 7, nonce=a/b+c==, opaque=x", "Digest realm=office 7 nonce=a/b+c== opaque=x"),
        (#"Digest realm="r" nonce="n" qop="auth" Basic realm="b""#, "Digest realm=r nonce=n qop=auth; Basic realm=b"),
        (#"Digest realm="r"; nonce="n"; qop=auth;"#, "Digest realm=r nonce=n qop=auth"),
        (#"Digest, realm="r", nonce="n""#, "Digest realm=r nonce=n"), ("Digest , Basic realm=b", "Digest; Basic realm=b"),
        (
            #"Digest realm="r",nonce=n,qop=auth,auth-int,algorithm=MD5,SHA-256, Basic realm=b"#,
            "Digest realm=r nonce=n qop=auth,auth-int algorithm=MD5,SHA-256; Basic realm=b"
        ),
        (#"Digest realm="", nonce=n, domain="/a /b", qop="#, "Digest realm= nonce=n domain=/a /b qop="),
        // Parameters that stand twice.
        (#"Digest realm="r", nonce="n", Realm=r"#, "Digest realm=r nonce=n"),
        (#"Digest realm="r", nonce="n", nonce="m""#, "Digest realm=r"),
        (
            #"Digest realm="r", nonce="n", qop="auth", qop="auth-int", algorithm=MD5, algorithm=SHA-256"#,
            "Digest realm=r nonce=n qop=auth,auth-int algorithm=MD5,SHA-256"
        ),
        // The challenge follows text that can't be read.
        (#"@, Digest realm="r", nonce="n", Basic realm=b"#, "Digest realm=r nonce=n; Basic realm=b"),
        (#"Basic realm="b" Digest realm="r", nonce="n""#, "Digest realm=r nonce=n"),
        (#"Basic realm="b"x, digest nonce="n""#, "digest nonce=n"),
        // Values that name Digest and can't be read.
        ("Digest", "Digest"), ("DIGEST YWJj==, Basic realm=b", "DIGEST YWJj==; Basic realm=b"),
        ("Digest realm=, nonce=n", "Digest realm= nonce=n"), ("Digest @", "Digest"), ("Digest=x", "Digest"),
        (#"Digest: realm="r""#, "Digest"), (#"Digest realm="r, Basic realm=b"#, "Digest"), (#"Basic realm="b, Digest realm="r""#, "Digest"),
        (#"Basic realm="b, Digest x"#, "Digest"), ("realm=r, digest", "digest"),
        // Values that do not name Digest.
        (#"Basic realm="Digest""#, "Basic realm=Digest"), (#"Basic realm="a Digest b", X"#, "Basic realm=a Digest b; X"),
        ("@ Digest-MD5", ""),
        ("@ MyDigest", ""), ("Digester a=b", "Digester a=b"),
    ])
    func digestIsNeverDropped(_ value: String, _ expected: String) {
        #expect(Self.text(AuthenticationChallenge.parse([value])) == expected)
    }

    @Test func digestIsFoundBeyondEveryLimit() {
        let long = "Basic realm=" + String(repeating: "x", count: 8192)
        #expect(Self.text(AuthenticationChallenge.parse([long + ", Digest realm=r"])) == "Digest")
        let many = AuthenticationChallenge.parse([Array(repeating: "A", count: 40).joined(separator: ",") + ", Digest realm=r, nonce=n"])
        #expect(many.count == 32 && many.last?.scheme == "Digest" && many.last?.parameters.isEmpty == true)
        let parameters = (0..<33).map { "a\($0)=1" }.joined(separator: ",")
        #expect(Self.text(AuthenticationChallenge.parse(["Digest \(parameters), Basic realm=b"])) == "Digest")
    }
}
