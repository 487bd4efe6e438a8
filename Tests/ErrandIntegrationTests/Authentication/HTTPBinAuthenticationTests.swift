#if SWIFT_NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// httpbin checks each proof itself.
@Suite(.enabled(if: RealServer.httpbin.isHere, Comment(rawValue: RealServer.httpbin.missing)), .timeLimit(.minutes(5)))
struct HTTPBinAuthenticationTests {
    static let algorithms = ["MD5", "SHA-256", "SHA-512"]
    /// `both` offers `auth` and `auth-int`.
    static let qualities = ["auth", "auth-int", "both"]

    private func get(_ path: String) throws -> Request { try Request(.get, url: RealServer.httpbin.url(path)) }

    // MARK: Basic and Bearer

    @Test(arguments: [true, false]) func basicIsAcceptedWithAndWithoutWaitingForTheChallenge(isPreemptive: Bool) async throws {
        try await withWire { stack, log in
            let stack = stack.authenticate(.basic(user: "joe", password: "p w:", isPreemptive: isPreemptive))
            let outcome = try await stack.outcome(of: try get("/basic-auth/joe/p%20w:"))
            #expect(outcome.status == .ok && outcome.stop == nil)
            #expect(log.value.map(\.status) == (isPreemptive ? [.ok] : [.unauthorized, .ok]))
        }
    }

    @Test(arguments: [true, false]) func aWrongPasswordOfBasicIsSentOnce(isPreemptive: Bool) async throws {
        try await withWire { stack, log in
            let stack = stack.authenticate(.basic(user: "joe", password: "wrong", isPreemptive: isPreemptive))
            let outcome = try await stack.outcome(of: try get("/basic-auth/joe/pw"))
            #expect(outcome.status == .unauthorized && outcome.stop == .refused)
            #expect(log.value.compactMap(\.authorization).count == 1 && log.value.count == (isPreemptive ? 1 : 2))
        }
    }

    /// It responds with 404 in place of a challenge.
    @Test func onlyPreemptiveCredentialsOpenAHiddenPage() async throws {
        try await withWire { stack, log in
            let page = try get("/hidden-basic-auth/joe/pw")
            let open = try await stack.authenticate(.basic(user: "joe", password: "pw")).outcome(of: page)
            #expect(open.status == .ok)
            for (password, isPreemptive) in [("wrong", true), ("pw", false)] {
                let stack = stack.authenticate(.basic(user: "joe", password: password, isPreemptive: isPreemptive))
                let outcome = try await stack.outcome(of: page)
                #expect(outcome.status == .notFound && outcome.stop == nil)
            }
            #expect(log.value.count == 3)
        }
    }

    @Test func aTokenArrivesUnchanged() async throws {
        struct Echo: Decodable { let token: String }
        try await withWire { stack, log in
            let token = "eyJ.a-b_c~d+e/f=="
            let response = try await stack.authenticate(.bearer(token)).send(try get("/bearer"))
            let echo = try JSONDecoder().decode(Echo.self, from: try await response.body.collect())
            #expect(echo.token == token)
            let outcome = try await stack.outcome(of: try get("/bearer"))
            #expect(outcome.status == .unauthorized && log.value.last?.challenges.map(\.scheme) == ["Bearer"])
        }
    }

    // MARK: Digest

    @Test(arguments: qualities, algorithms) func digestUsesOneChallengeForSeveralRequests(quality: String, algorithm: String) async throws {
        try await withWire { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            for _ in 0..<3 {
                let outcome = try await stack.outcome(of: try get("/digest-auth/\(quality)/joe/pw/\(algorithm)"))
                #expect(outcome.status == .ok && outcome.stop == nil)
            }
            #expect(log.value.map(\.status) == [.unauthorized, .ok, .ok, .ok])
            #expect(log.value.map { $0.part("nc") } == [nil, "00000001", "00000002", "00000003"])
            let sent = log.value.dropFirst()
            #expect(
                sent.allSatisfy { $0.part("algorithm") == algorithm && $0.part("qop") == (quality == "auth-int" ? "auth-int" : "auth") })
            #expect(Set(sent.map { $0.part("response") }).count == 3 && Set(sent.map { $0.part("nonce") }).count == 1)
        }
    }

    @Test(arguments: qualities, algorithms) func aWrongPasswordOfDigestIsSentOnceForEachCall(quality: String, algorithm: String)
        async throws
    {
        try await withWire { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "wrong"))
            for _ in 0..<2 {
                let outcome = try await stack.outcome(of: try get("/digest-auth/\(quality)/joe/pw/\(algorithm)"))
                #expect(outcome.status == .unauthorized && outcome.stop == .refused)
            }
            #expect(log.value.map { $0.authorization == nil } == [true, false, true, false])
            #expect(Set(log.value.compactMap { $0.part("response") }).count == 2)
        }
    }

    /// A cookie tells the server which nonce it has seen last, and does not accept again.
    @Test(arguments: qualities, algorithms) func aStaleNonceIsReplacedOnce(quality: String, algorithm: String) async throws {
        try await withWire { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            for number in 0..<4 {
                var request = try get("/digest-auth/\(quality)/joe/pw/\(algorithm)")
                if number == 2 { request.headers[.cookie] = "last_nonce=\(try #require(log.value.last?.part("nonce")))" }
                let outcome = try await stack.outcome(of: request)
                #expect(outcome.status == .ok && outcome.stop == nil)
            }
            #expect(log.value.map(\.status) == [.unauthorized, .ok, .ok, .unauthorized, .ok, .ok])
            #expect(log.value.map { $0.challenges.first?["stale"]?.lowercased() } == ["false", nil, nil, "true", nil, nil])
            #expect(log.value.map { $0.part("nc") } == [nil, "00000001", "00000002", "00000003", "00000001", "00000002"])
        }
    }

    /// The server calls each nonce stale, also one that it has just handed out.
    @Test func noncesThatAreAlwaysStaleEndTheCall() async throws {
        try await withWire { stack, log in
            var request = try get("/digest-auth/auth/joe/pw/MD5")
            request.headers[.cookie] = "stale_after=0"
            let outcome = try await stack.authenticate(.digest(user: "joe", password: "pw")).outcome(of: request)
            #expect(outcome.status == .unauthorized && outcome.stop == .tooManyRounds)
            let proofs = log.value.compactMap { $0.part("response") }
            #expect(log.value.count == 21 && Set(proofs).count == proofs.count)
        }
    }

    private static let content = Data.seeded(200_000)

    /// The server hashes the body that it gets.
    @Test(arguments: algorithms, [true, false]) func aBodyIsProtected(algorithm: String, isFile: Bool) async throws {
        let folder = try TestFolder("posted")
        let path = try folder.write(Self.content, to: "body")
        try await withWire { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            let body: RequestBody = isFile ? try .file(atPath: path) : .data(Self.content)
            for _ in 0..<2 {
                let url = try RealServer.httpbin.url("/posted-digest/auth-int/joe/pw/\(algorithm)")
                let headers: HTTPFields = [.contentType: "application/octet-stream"]
                let outcome = try await stack.outcome(of: try Request(.post, url: url, headers: headers, body: body))
                #expect(outcome.status == .ok && outcome.stop == nil)
            }
            #expect(log.value.map { $0.part("qop") } == [nil, "auth-int", "auth-int"])
        }
    }

    @Test func aBodyThatCanBeReadOnceOnlyIsNotProtectedAndNotSentAgain() async throws {
        try await withWire { stack, log in
            let body = RequestBody.stream(
                AsyncStream<Data> {
                    $0.yield(Data("once".utf8))
                    $0.finish()
                })
            let url = try RealServer.httpbin.url("/posted-digest/auth-int/joe/pw/MD5")
            let outcome = try await stack.authenticate(.digest(user: "joe", password: "pw")).outcome(
                of: try Request(.post, url: url, body: body))
            #expect(outcome.status == .unauthorized && outcome.stop == .bodyCannotBeReplayed && log.value.count == 1)
        }
    }
}
#endif
