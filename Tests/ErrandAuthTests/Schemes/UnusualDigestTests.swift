#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// Digest in forms that no standard has: the password is proved if it can be, and never leaves by Basic.
@Suite(.timeLimit(.minutes(5))) struct UnusualDigestTests {
    private static let basic = #"Basic realm="r""#

    private func sent(_ values: [String]) async throws -> [String] {
        var fields: HTTPFields = [:]
        for value in values { fields.append(HTTPField(name: .wwwAuthenticate, value: value)) }
        let stub = StubTransport(Stub().responds(.status(.unauthorized, headers: fields)))
        let stack = stub.authenticate(.password(user: "joe", password: "secret"))
        for _ in 0..<2 { _ = try await stack.send(try Request(.get, url: "https://a.example/x")) }
        // Later, the server asks only for Basic.
        let basic = StubResponse.status(.unauthorized, headers: [.wwwAuthenticate: Self.basic])
        let later = StubTransport(Stub().responds(.status(.unauthorized, headers: fields), basic, basic, basic, basic, basic, basic))
        let scheme = PasswordScheme(user: "joe", password: "secret")
        for _ in 0..<3 { _ = try await later.authenticate(scheme).send(try Request(.get, url: "https://a.example/x")) }
        return (stub.requests + later.requests).compactMap { $0.headers[.authorization] }
    }

    @Test(arguments: [
        #"Digest realm="r", nonce="n", qop='auth'"#, "Digest realm='r', nonce='n', qop='auth'",
        "Digest realm=r, nonce=a/b==, qop=auth,auth-int",
        #"digest realm="r" nonce="n" qop="auth""#, #"DIGEST realm="r"; nonce="n"; qop="AUTH""#, #"Digest, realm="r", nonce="n""#,
        #"Digest realm="", nonce="n", qop="", algorithm="md5""#, #"Digest realm="r", nonce="n", algorithm="SHA-7, MD5", stale="false""#,
        #"Digest realm="r", nonce="n", nonce="n""#, #"Digest realm="r", nonce="n", qop="auth", qop="auth-int""#,
        #"@, Digest realm="r", nonce="n""#, #"Digest realm="r", nonce="n", domain="/ /x", nextnonce="y", charset="utf-8", opaque="""#,
    ])
    func anUnusualChallengeGetsADigest(value: String) async throws {
        for values in [[value, Self.basic], [Self.basic, value], [Self.basic + ", " + value], [value + ", " + Self.basic]] {
            let sent = try await sent(values)
            #expect(!sent.isEmpty && sent.allSatisfy { $0.hasPrefix("Digest ") }, "\(values): \(sent)")
        }
    }

    @Test(arguments: [
        #"Digest realm="r", nonce="n", algorithm=SHA-7"#, #"Digest realm="r", nonce="n", algorithm="SHA-7,BLAKE""#,
        #"Digest realm="r", nonce="n", qop="other""#, "Digest", "Digest YWJj==", #"Digest nonce="n""#, #"Digest realm="r", nonce="n"#,
        #"Digest realm="r", nonce="n", nonce="m""#, "Digest @@@", "Digest=", #"Digest: realm="r", nonce="n""#,
        "Digest realm=r, nonce=" + String(repeating: "n", count: 9_000),
    ])
    func anInvalidChallengeGetsNoCredentials(value: String) async throws {
        for values in [[value, Self.basic], [Self.basic, value], [Self.basic + ", " + value]] {
            #expect(try await sent(values).isEmpty, "\(values)")
        }
    }

    /// A body that can be read only once can't be hashed.
    @Test func aQualityThatTheBodyCannotHaveKeepsThePassword() async throws {
        let fields: HTTPFields = [.wwwAuthenticate: #"Digest realm="r", nonce="n", qop="auth-int", Basic realm="r""#]
        let stub = StubTransport(Stub().responds(.status(.unauthorized, headers: fields)))
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        _ = try? await stub.authenticate(.password(user: "joe", password: "secret")).send(
            Request(.post, url: "https://a.example/", body: body))
        #expect(stub.requests.allSatisfy { $0.headers[.authorization] == nil })
    }

    /// The transport writes a slash where the target has none.
    @Test(arguments: [("", "/"), ("?a=b", "/?a=b"), ("/x?a=b", "/x?a=b"), ("*", "*")])
    func theProofUsesTheTargetOnTheWire(path: String, uri: String) async throws {
        let stub = StubTransport(
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="r", nonce="n""#]), .status(.ok)))
        var request = try Request(.options, url: "https://a.example/")
        request.head.path = path
        _ = try await stub.authenticate(.digest(user: "joe", password: "secret")).send(request)
        let field = try #require(stub.requests.last?.headers[.authorization])
        #expect(AuthenticationChallenge.parse([field]).first?["uri"] == uri, "\(field)")
    }

    /// Words within a realm are not schemes.
    @Test func theWordDigestInARealmIsNoScheme() async throws {
        let stub = StubTransport(
            Stub().responds(.status(.unauthorized, headers: [.wwwAuthenticate: #"Basic realm="Digest of the day""#]), .status(.ok)))
        let response = try await stub.authenticate(.password(user: "joe", password: "secret")).send(
            try Request(.get, url: "https://a.example/"))
        #expect(response.status == .ok)
    }
}
#endif
