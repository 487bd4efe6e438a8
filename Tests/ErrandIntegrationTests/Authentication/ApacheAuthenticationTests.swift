#if SWIFT_NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// mod_auth_digest and mod_auth_basic, in clear text and over TLS.
@Suite(.enabled(if: RealServer.apache.isHere, Comment(rawValue: RealServer.apache.missing)), .timeLimit(.minutes(5)))
struct ApacheAuthenticationTests {
    private func request(_ path: String, isSecure: Bool) throws -> Request {
        let stand = RealServer.apache
        return try Request(.get, url: isSecure ? "https://localhost:\(stand.securePort())\(path)" : stand.url(path))
    }

    private func withApache<Result>(
        connections: Int? = nil, _ body: (HTTPStack, Watched<[Exchanged]>) async throws -> Result
    ) async throws -> Result {
        try await withWire(certificate: try RealServer.apache.certificate(), connections: connections, body)
    }

    @Test(arguments: [true, false]) func thePasswordOfBasicIsCheckedAndAWrongOneSentOnce(isSecure: Bool) async throws {
        try await withApache { stack, log in
            for isPreemptive in [true, false] {
                for (password, status) in [("pw", HTTPResponse.Status.ok), ("wrong", .unauthorized)] {
                    let stack = stack.authenticate(.basic(user: "joe", password: password, isPreemptive: isPreemptive))
                    let outcome = try await stack.outcome(of: try request("/basic/secret.txt", isSecure: isSecure))
                    #expect(outcome.status == status && outcome.stop == (status == .ok ? nil : .refused))
                }
            }
            #expect(log.value.map { $0.authorization == nil } == [false, false, true, false, true, false])
        }
    }

    @Test(arguments: [true, false]) func eachRequestHasTheNextNonceCount(isSecure: Bool) async throws {
        try await withApache(connections: 1) { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            for number in 0..<200 {
                let outcome = try await stack.outcome(of: try request("/digest/secret.txt?\(number)&a=b,c", isSecure: isSecure))
                #expect(outcome.status == .ok)
            }
            #expect(log.value.count == 201 && log.value.last?.part("nc") == "000000c8")
        }
    }

    /// Apache refuses a count that comes too early or too late, and does not call the nonce stale. The request gets one of its own then.
    @Test(arguments: [true, false]) func requestsOverSeveralConnectionsDoNotRefuseEachOther(isSecure: Bool) async throws {
        try await withApache(connections: 8) { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            try await withThrowingTaskGroup(of: (status: HTTPResponse.Status, stop: AuthenticationStop?).self) { group in
                for number in 0..<200 {
                    let request = try request("/digest/secret.txt?\(number)", isSecure: isSecure)
                    group.addTask { try await stack.outcome(of: request) }
                }
                for try await outcome in group { #expect(outcome.status == .ok && outcome.stop == nil) }
            }
            #expect(log.value.count { $0.status == .ok } == 200)
            let proofs = log.value.compactMap { $0.part("response") }
            #expect(Set(proofs).count == proofs.count)
        }
    }

    @Test func aWrongPasswordIsSentOnceForEachCall() async throws {
        try await withApache { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "wrong"))
            for _ in 0..<2 {
                let outcome = try await stack.outcome(of: try request("/digest/secret.txt", isSecure: true))
                #expect(outcome.status == .unauthorized && outcome.stop == .refused)
            }
            #expect(log.value.map { $0.authorization == nil } == [true, false, true, false])
        }
    }

    /// `AuthDigestNonceLifetime 1`
    @Test func aNonceThatExpiresIsReplaced() async throws {
        try await withApache { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            // The server names the next nonce with each response, so that none is refused.
            for _ in 0..<20 {
                let outcome = try await stack.outcome(of: try request("/brief/secret.txt", isSecure: false))
                #expect(outcome.status == .ok)
            }
            #expect(log.value.count == 21 && Set(log.value.dropFirst().map { $0.part("nonce") }).count == 20)
            try await Task.sleep(for: .milliseconds(2_100))  // the lifetime of the last one, by the server's clock
            let late = try await stack.outcome(of: try request("/brief/secret.txt", isSecure: false))
            #expect(late.status == .ok)
            let challenges = log.value.filter { $0.status == .unauthorized }
            #expect(challenges.count == 2)
            let stale = try #require(challenges.last)
            #expect(stale.authorization != nil && stale.challenges.first?["stale"] == "true")
            #expect(log.value.last?.part("nonce") == stale.challenges.first?["nonce"] && log.value.last?.part("nc") == "00000001")
        }
    }

    /// The folders share an origin and a realm, and each has passwords of its own.
    @Test func eachFolderHasItsOwnNonce() async throws {
        try await withApache { stack, log in
            let stack = stack.authenticate(.digest(user: "joe", password: "pw"))
            for path in ["/digest/secret.txt", "/brief/secret.txt", "/digest/secret.txt", "/letters.txt"] {
                let outcome = try await stack.outcome(of: try request(path, isSecure: true))
                #expect(outcome.status == .ok)
            }
            #expect(log.value.count { $0.status == .ok } == 4)
        }
    }
}
#endif
