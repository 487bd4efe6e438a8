#if MockServer && SWIFT_NIO && Auth
import Errand
import ErrandMockServer
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Authentication over a real socket, against servers that fail in the middle of a challenge and of a refresh.
@Suite(.timeLimit(.minutes(5))) struct AuthenticateFaultTests {
    /// The tokens of a back end in their order, and how often each was seen.
    private final class Tokens: Sendable {
        let valid = Mutex(0)

        func response(to request: IncomingRequest) -> MockResponse {
            let isValid = request.headers[.authorization] == "Bearer \(valid.withLock { $0 })"
            return isValid ? .text("fine") : .status(.unauthorized, headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
        }
    }

    /// A back end whose token `0` has expired, and a server for tokens that fails once.
    private func with(
        _ fault: Fault, at point: FaultPoint,
        _ body: (_ api: HTTPStack, _ tokens: TokenSource, _ backEnd: MockServer, _ auth: MockServer) async throws -> Void
    ) async throws {
        try await withMockServer { backEnd in
            try await withMockServer { auth in
                try await withTransport(NIOTransport()) { transport in
                    let state = Tokens()
                    state.valid.withLock { $0 = 1 }
                    backEnd.dispatch { state.response(to: $0) }
                    auth.enqueue(.text("1").fault(fault, at: point))
                    auth.dispatch { _ in .text("1") }
                    let stack = HTTPStack(transport).phaseTimeouts(attempt: .milliseconds(500)).timeout(.milliseconds(700)).validateStatus()
                    let tokens = TokenSource(AccessToken("0")) { _ in
                        let response = try await stack.send(Request(.post, url: auth.url("/token"), body: .data(Data(count: 50_000))))
                        return AccessToken(String(decoding: try await response.body.collect(), as: UTF8.self))
                    }
                    try await body(HTTPStack(transport).authenticate(.bearer(tokens)), tokens, backEnd, auth)
                }
            }
        }
    }

    /// All requests that wait for a refresh get its error, and the next request refreshes again. No request is sent with an incomplete
    /// token.
    @Test(arguments: Fault.all, FaultPoint.all) func aBrokenRefreshFailsAllWaitingRequests(_ fault: Fault, at point: FaultPoint)
        async throws
    {
        try await with(fault, at: point) { api, tokens, backEnd, auth in
            let outcomes = await withTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        do {
                            let response = try await api.send(Request(.get, url: backEnd.url("/\(number)")))
                            return String(decoding: try await response.body.collect(), as: UTF8.self)
                        } catch let error as AuthenticationError {
                            #expect(error.underlying is TransportError && error.response?.status == .unauthorized, "\(error)")
                            return error.code.description
                        } catch {
                            return "\(error)"
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(outcomes).isSubset(of: ["fine", AuthenticationError.Code.refreshFailed.description]), "\(outcomes)")
            #expect(Set(backEnd.requests.compactMap { $0.headers[.authorization] }).isSubset(of: ["Bearer 0", "Bearer 1"]))
            // A request that comes after the failed refresh begins a new one. The fault may also break the connection of the next request.
            for attempt in 1...5 {
                do {
                    let response = try await api.send(Request(.get, url: backEnd.url("/next")))
                    #expect(try await response.body.collect() == Data("fine".utf8))
                    break
                } catch let error as AuthenticationError where attempt < 5 {
                    #expect(error.code == .refreshFailed, "\(error)")
                }
            }
            #expect(tokens.current?.value == "1" && auth.requests.count <= 8)
        }
    }

    /// A challenge's own body may break: the proof is sent all the same, over another connection if need be.
    @Test(arguments: [Fault.close, .reset, .stall, .truncatedChunk, .wrongContentLength], [FaultPoint.responseBody, .responseEnd])
    func aChallengeWhoseBodyBreaksIsRespondedTo(_ fault: Fault, at point: FaultPoint) async throws {
        try await withMockServer { server in
            try await withTransport(NIOTransport()) { transport in
                let challenge = MockResponse.data(
                    // The body is larger than the buffers on the way, so that the connection is never used again.
                    Data(count: 16_000_000), status: .unauthorized,
                    headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#])
                server.enqueue(challenge.fault(fault, at: point))
                server.dispatch { _ in .text("fine") }
                let stack = HTTPStack(transport).authenticate(.digest(user: "joe", password: "secret"))
                let request = try Request(.post, url: server.url("/x"), body: .data(Data("once".utf8))).within(.seconds(20))
                let response = try await stack.send(request)
                #expect(try await response.body.collect() == Data("fine".utf8))
                #expect(response.metadata.attempts.count >= 1)
                #expect(server.requests.last?.headers[.authorization]?.hasPrefix("Digest username=\"joe\"") == true)
            }
        }
    }

    /// A connection that is lost behind the proof is the call's error, with the challenge among its attempts.
    @Test(arguments: [Fault.close, .reset, .halfClose]) func aFailureAfterAChallengeNamesTheChallenge(_ fault: Fault) async throws {
        try await withMockServer { server in
            try await withTransport(NIOTransport()) { transport in
                server.enqueue(.status(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]))
                server.dispatch { _ in .text("x").fault(fault, at: .responseStart) }
                let stack = HTTPStack(transport).authenticate(.digest(user: "joe", password: "s3cr3t"))
                let error = await #expect(throws: TransportError.self) {
                    try await stack.send(Request(.post, url: server.url("/x"), body: .text("once")))
                }
                let text = String(describing: error)
                #expect(error?.code == .connectionLost && "\(error?.attempts.first?.outcome as Any)".contains("401"), "\(text)")
                #expect(!text.contains("s3cr3t"))
            }
        }
    }
}
#endif
