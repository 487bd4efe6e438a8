#if Auth
import ErrandCore
import Testing

@testable import ErrandAuth

/// `ProxyAuthenticator.digest`, asked as a transport asks it.
struct ProxyDigestTests {
    private static let fresh = #"Digest realm="r", nonce="1", qop=auth"#

    private func authenticator(user: String = "u", password: String = "p", orBasic: Bool = false) -> ProxyAuthenticator {
        .digest(user: user, password: password, orBasic: orBasic, clientNonce: { "c" })
    }

    private func ask(
        _ authenticator: ProxyAuthenticator, _ values: [String], method: HTTPRequest.Method = .get, target: String = "http://a.example/",
        refusals: Int = 0
    ) throws -> AuthenticationChallenge? {
        let challenge = ProxyChallenge(
            from: .http(host: "p.example", port: 3128), challenges: AuthenticationChallenge.parse(values), method: method, target: target,
            refusals: refusals)
        guard let value = authenticator.respond(to: challenge) else { return nil }
        let proof: AuthenticationChallenge = try #require(AuthenticationChallenge.parse([value]).first)
        return proof
    }

    /// Values of Python's `hashlib` for the formulas of RFC 7616, section 3.4.
    @Test func theProofUsesTheMethodAndTheTargetOfTheProxy() throws {
        let request = try ask(authenticator(), [Self.fresh])
        #expect(request?["uri"] == "http://a.example/" && request?["response"] == "a434d9d059abf8f133420ab93e3bdfc2")
        let tunnel = try ask(authenticator(), [Self.fresh], method: .connect, target: "a.example:443")
        #expect(tunnel?["uri"] == "a.example:443" && tunnel?["response"] == "1d57f970fbe6a58f5e7320af73434739")
    }

    @Test func eachNonceHasItsOwnCount() throws {
        let shared = authenticator()
        let (first, second) = (Self.fresh, #"Digest realm="r", nonce="2", qop=auth, stale=TRUE"#)
        var counts: [String?] = []
        for (value, refusals) in [(first, 0), (first, 0), (second, 1), (first, 0), (second, 0)] {
            counts.append(try ask(shared, [value], refusals: refusals)?["nc"])
        }
        #expect(counts == ["00000001", "00000002", "00000001", "00000003", "00000002"])
        #expect(try ask(authenticator(), [first])?["nc"] == "00000001")
    }

    @Test func aRefusedPasswordIsNotSentAgainForTheSameRequest() throws {
        #expect(try ask(authenticator(), [Self.fresh], refusals: 1) == nil)
        #expect(try ask(authenticator(), [Self.fresh + ", stale=false"], refusals: 1) == nil)
        #expect(try ask(authenticator(orBasic: true), [#"Basic realm="r""#], refusals: 1) == nil)
        // The password is also not sent as Basic if the proxy asks for Digest first.
        #expect(try ask(authenticator(orBasic: true), [Self.fresh, #"Basic realm="r""#], refusals: 1) == nil)
    }

    @Test func theStrongestChallengeIsChosenBeforeBasic() throws {
        let (basic, strong) = (#"Basic realm="r""#, #"Digest realm="r", nonce="s", qop=auth, algorithm=SHA-256"#)
        #expect(try ask(authenticator(orBasic: true), [basic, Self.fresh, strong])?["nonce"] == "s")
        #expect(try ask(authenticator(orBasic: true), [basic])?.token68 == "dTpw")
        #expect(try ask(authenticator(), [basic]) == nil)
        #expect(try ask(authenticator(orBasic: true), ["Negotiate"]) == nil)
        #expect(try ask(authenticator(orBasic: true), []) == nil)
        #expect(try ask(authenticator(user: "a:b", orBasic: true), [basic]) == nil)
    }

    @Test func aBodyIsProtectedForTunnelsOnly() throws {
        let whole = #"Digest realm="r", nonce="w", qop="auth-int", algorithm=SHA-256"#
        #expect(try ask(authenticator(), [whole]) == nil)
        #expect(try ask(authenticator(), [whole, Self.fresh])?["nonce"] == "1")
        #expect(try ask(authenticator(), [whole], method: .connect, target: "a.example:443")?["qop"] == "auth-int")
    }

    @Test func clientNoncesDiffer() throws {
        let shared = ProxyAuthenticator.digest(user: "u", password: "p")
        let nonces = try (0..<10).map { _ in try ask(shared, [Self.fresh])?["cnonce"] ?? "" }
        #expect(Set(nonces).count == 10 && nonces.allSatisfy { $0.utf8.count == 32 })
    }

    /// Forms that can't be responded to, and a quality that a request through a proxy can't have.
    @Test(arguments: [
        #"Digest realm="r", nonce="n", algorithm=SHA-7"#, "Digest", #"Digest realm="r"#, #"Digest realm="r", nonce="w", qop="auth-int""#,
        #"Digest nonce="n", nonce="m", realm="r""#, #"Basic realm="x, Digest"#,
    ])
    func aProxyThatHasOfferedDigestNeverGetsThePassword(value: String) throws {
        let shared = authenticator(orBasic: true)
        #expect(try ask(shared, [value, #"Basic realm="r""#]) == nil)
        #expect(try ask(shared, [#"Basic realm="r""#]) == nil)
        #expect(try ask(authenticator(orBasic: true), [#"Basic realm="Digest""#])?.token68 == "dTpw")
    }
}
#endif
