import Errand
import ErrandTesting
import TestSupport
import Testing

/// The sample of `ResponseValidator`: concurrent calls whose token is rejected share one refresh.
@Suite(.timeLimit(.minutes(5))) struct TokenRefreshTests {
    private actor Session {
        private(set) var authorization = "Bearer 1"
        private(set) var refreshCount = 0
        private var arrived = 0
        private var gate: CheckedContinuation<Void, Never>?
        private let expected: Int

        init(expected: Int) { self.expected = expected }

        /// Ends when all calls have been rejected.
        func refresh() async throws {
            refreshCount += 1
            if arrived < expected { await withCheckedContinuation { gate = $0 } }
            authorization = "Bearer \(refreshCount + 1)"
        }

        func wasRejected() {
            arrived += 1
            guard arrived >= expected else { return }
            gate?.resume()
            gate = nil
        }
    }

    private func stack(_ inner: some HTTPSender, _ session: Session) -> HTTPStack {
        let refreshes = SingleFlight<String, Void>()
        let signedIn = ResponseValidator("signed in") { request, response, _ in
            guard response.status == .unauthorized else { return .next }
            let rejected = request.head.headerFields[.authorization]
            return .retryAfterRunning {
                await session.wasRejected()
                try await refreshes.run("token", mustFinish: true) {
                    guard await session.authorization == rejected else { return }
                    try await session.refresh()
                }
            }
        }
        return inner.transformRequest { $0.head.headerFields[.authorization] = await session.authorization }.validate(signedIn)
    }

    private var stub: StubTransport {
        StubTransport(
            Stub().header(.authorization, "Bearer 2").responds(.status(.ok), repeatingLast: true),
            Stub().responds(.status(.unauthorized), repeatingLast: true))
    }

    @Test func concurrentCallsThatAreRejectedRefreshOnce() async throws {
        let (stub, session) = (stub, Session(expected: 5))
        let stack = stack(stub, session)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 { group.addTask { try await stack.send(try request()).status.code } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(await session.refreshCount == 1)
        #expect(stub.requests.count == 10)
    }

    @Test func aCallThatIsRejectedAfterTheRefreshOnlySendsAgain() async throws {
        let (stub, session) = (stub, Session(expected: 0))
        let release = AsyncStream.makeStream(of: Void.self)
        let inner = stub.transformResponse { response in
            // The late one waits on its way back.
            guard response.request.options.tags["late"] != nil, response.status == .unauthorized else { return }
            for await _ in release.stream { break }
        }
        let stack = stack(inner, session)
        var late = try request()
        late.options.tags = ["late": "yes"]
        async let second = stack.send(late).status.code
        try await poll("the late call to be sent", value: { stub.requests.count }) { $0 == 1 }
        #expect(try await stack.send(try request()).status == .ok)
        release.continuation.finish()
        #expect(try await second == 200)
        #expect(await session.refreshCount == 1)
    }
}
