import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

/// The middleware of the guide that sends requests again, written with public API alone.
@Suite(.timeLimit(.minutes(5))) struct OwnFollowUpTests {
    static let all: [MiddlewareUnderTest] = [
        MiddlewareUnderTest("tryAgain", switchOff: { $0.options.followUps = .off }) {
            $0.wrapped(by: TryAgainMiddleware(wait: .milliseconds(1)))
        },
        MiddlewareUnderTest("mirror", switchOff: { $0.options.followUps = .off }) { $0.wrapped(by: MirrorMiddleware()) },
        MiddlewareUnderTest("session", changes: .addedFields, switchOff: { $0.options.followUps = .off }) {
            $0.wrapped(by: SessionMiddleware(session: Session { "key" }))
        },
    ]

    @Test(arguments: all, MiddlewareBehavior.all)
    func conforms(_ middleware: MiddlewareUnderTest, to behavior: MiddlewareBehavior) async throws { try await behavior.check(middleware) }

    @Test func aFailureThatMayPassIsTriedAgain() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.badGateway), .status(.ok)))
        let stack = HTTPStack.ordered(around: stub).wrapped(by: TryAgainMiddleware(wait: .milliseconds(1))).validateStatus()
        let response = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(response.metadata.attempts.map(\.description) == ["attempt 1: 503, then waited 1 ms", "attempt 2: 502, then waited 1 ms"])
        #expect(stub.requests.map(\.request.options.resendCount) == [0, 1, 2])
        let once = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        _ = try await once.wrapped(by: TryAgainMiddleware()).send(Request(.post, url: "https://a.example/"))
        #expect(once.requests.count == 1, "a POST is not idempotent")
    }

    @Test func aRequestThatGoesElsewhereLeavesItsCredentials() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(.status(.serviceUnavailable, headers: [.mirror: "https://mirror.example/b?c"])),
            Stub(.get, "/b").responds(.status(.ok)))
        let request = try Request(.get, url: "https://a.example/a", headers: [.authorization: "Bearer secret", .accept: "text/plain"])
        let response = try await stub.wrapped(by: MirrorMiddleware()).send(request)
        #expect(response.request.url?.description == "https://mirror.example/b?c" && response.metadata.attempts.count == 1)
        #expect(response.request.headers[.authorization] == nil && response.request.headers[.accept] == "text/plain")
    }

    @Test func aRefusedKeyIsReplacedOnce() async throws {
        let stub = StubTransport(
            Stub().matching("with the new key") { $0.headers[.sessionKey] == "key 2" }.responds(.status(.ok), repeatingLast: true),
            Stub().responds(.status(.unauthorized), repeatingLast: true))
        let count = SignIns()
        let stack = stub.wrapped(by: SessionMiddleware(session: Session { "key \(count.next())" }))
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { try await stack.send(Request(.get, url: "https://a.example/")).status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(count.next() == 3, "one sign-in, one refresh")
        #expect(!"\(stub.requests[0].request)".contains("key 1"))
    }
}

private final class SignIns: Sendable {
    private let count = Watched(0)
    func next() -> Int {
        count.change { $0 += 1 }
        return count.value
    }
}
