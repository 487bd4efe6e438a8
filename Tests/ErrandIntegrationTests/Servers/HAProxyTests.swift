#if SWIFT_NIO
internal import Errand
internal import TestSupport
internal import Testing

/// A proxy that misbehaves on purpose: each call ends as it is documented to, and in time.
@Suite(.enabled(if: RealServer.haproxy.isHere, Comment(rawValue: RealServer.haproxy.missing)), .timeLimit(.minutes(5)))
struct HAProxyTests {
    private static let limit = Duration.seconds(1)

    /// The result of `body`, and its duration.
    private func timed<Value>(_ body: () async throws -> Value) async throws -> (value: Value, took: Duration) {
        let started = ContinuousClock.now
        return (try await body(), ContinuousClock.now - started)
    }

    // MARK: No response

    @Test func aConnectionThatIsDroppedSilentlyTimesOut() async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(Self.limit) }) { client in
            func drop() async throws -> String { try await client.get("/drop") }
            // Where haproxy may not drop it silently, the kernel resets it.
            guard RealServer.haproxy.dropsSilently else {
                return #expect(try await failure(TransportError.self, of: drop).code == .connectionLost)
            }
            let error = try await timeout(after: Self.limit, of: drop)
            #expect(error.phase == .response)
            #expect(error.delivery == .unknown)
        }
    }

    @Test(.enabled(if: RealServer.haproxy.isHere && RealServer.haproxy.dropsSilently, "haproxy has not the privilege to drop silently"))
    func attemptsWithOwnTimeoutsShareTheDeadlineOfTheCall() async throws {
        let policy = RetryPolicy(maxAttempts: 50, backoff: .exponential(base: .milliseconds(1), maxDelay: .milliseconds(1)))
        try await withClient(of: .haproxy, layers: { $0.timeout(.milliseconds(200)).retry(policy, budget: nil).timeout(.seconds(1)) }) {
            client in
            let error = try await timeout(after: .seconds(1)) { try await client.get("/drop", as: String.self) }
            #expect((1...5).contains(error.attempts.count), "\(error)")
        }
    }

    @Test func aRejectedConnectionIsLost() async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(.seconds(20)) }) { client in
            let error = try await failure(TransportError.self) { try await client.get("/reject", as: String.self) }
            #expect(error.code == .connectionLost)
            #expect(error.phase == .response)
            #expect(error.delivery == .unknown)
        }
    }

    @Test(arguments: [(HTTPRequest.Method.get, 2), (.put, 2), (.post, 0), (.patch, 0)])
    func aLostConnectionIsRetriedIfThatIsSafe(method: HTTPRequest.Method, retries: Int) async throws {
        let policy = RetryPolicy(maxAttempts: 3, backoff: .exponential(base: .milliseconds(1)))
        try await withClient(of: .haproxy, layers: { $0.retry(policy, budget: nil).timeout(.seconds(20)) }) { client in
            let call = Endpoint<Void>(method, "/reject", decoding: .none)
            let error = try await failure(TransportError.self) { try await client.value(call) }
            #expect(error.code == .connectionLost)
            #expect(error.attempts.map(\.number) == Array([1, 2].prefix(retries)))
        }
    }

    // MARK: A late response

    @Test func aLongTimeoutWaitsForATarpit() async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(.seconds(20)) }) { client in
            let (error, took) = try await timed {
                try await failure(StatusError.self) { try await client.get("/tarpit", as: String.self) }
            }
            #expect(error.status == .internalServerError)
            #expect(took >= .milliseconds(1900), "\(took)")
        }
    }

    @Test func aShortTimeoutEndsATarpit() async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(Self.limit) }) { client in
            let error = try await timeout(after: Self.limit) { try await client.get("/tarpit", as: String.self) }
            #expect(error.phase == .response)
            #expect(error.delivery == .unknown)
        }
    }

    // MARK: A response that asks for patience

    @Test(arguments: [429, 503])
    func retryAfterIsReported(status: Int) async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(.seconds(20)) }) { client in
            let error = try await failure(StatusError.self) { try await client.get("/\(status)", as: String.self) }
            #expect(error.status.code == status)
            #expect(error.retryAfter == .seconds(1))
            #expect(error.attempts.isEmpty)
        }
    }

    @Test(arguments: [429, 503])
    func retryWaitsAsLongAsTheServerAsks(status: Int) async throws {
        let policy = RetryPolicy(maxAttempts: 2, backoff: .exponential(base: .milliseconds(1)))
        try await withClient(of: .haproxy, layers: { $0.retry(policy, budget: nil).timeout(.seconds(20)) }) { client in
            let (error, took) = try await timed {
                try await failure(StatusError.self) { try await client.get("/\(status)", as: String.self) }
            }
            #expect(error.status.code == status)
            #expect(error.attempts.count == 1)
            #expect(try #require(error.attempts.first).delay >= .seconds(1))
            #expect(took >= .seconds(1), "\(took)")
        }
    }

    @Test func aWaitBeyondTheDeadlineIsNotBegun() async throws {
        try await withClient(of: .haproxy, layers: { $0.retry().timeout(.seconds(20)) }) { client in
            let (error, took) = try await timed {
                try await failure(StatusError.self) { try await client.get("/later", as: String.self) }
            }
            #expect(error.status == .serviceUnavailable)
            #expect(error.retryAfter == .seconds(30))
            #expect(error.attempts.isEmpty)
            #expect(took < .seconds(15), "\(took)")
        }
    }

    @Test func aPostIsNotSentAgainOver503() async throws {
        try await withClient(of: .haproxy, layers: { $0.retry().timeout(.seconds(20)) }) { client in
            let error = try await failure(StatusError.self) { try await client.post("/503", body: .text("once")) }
            #expect(error.status == .serviceUnavailable)
            #expect(error.attempts.isEmpty)
        }
    }

    // MARK: By chance

    /// So many that it fails by bad luck once in a thousand million times.
    private static let patient = RetryPolicy(maxAttempts: 30, backoff: .exponential(base: .milliseconds(1), maxDelay: .milliseconds(5)))

    @Test func retryReachesAFlakyServer() async throws {
        try await withClient(of: .haproxy, layers: { $0.retry(Self.patient, budget: nil).timeout(.seconds(20)) }) { client in
            var failures = 0
            for _ in 0..<20 {
                let response = try await client.response(Endpoint<String>.get("/flaky"))
                #expect(response.value == "ok")
                for attempt in response.metadata.attempts {
                    guard case .status(let status) = attempt.outcome else {
                        Issue.record("\(attempt)")
                        continue
                    }
                    #expect(status == .serviceUnavailable)
                }
                failures += response.metadata.attempts.count
            }
            #expect(failures > 0)
        }
    }

    @Test func retriesOfConcurrentCallsDoNotMixUp() async throws {
        try await withClient(of: .haproxy, layers: { $0.retry(Self.patient, budget: nil).timeout(.seconds(20)) }) { client in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await client.get("/flaky") } }
                for try await text in group { #expect(text == "ok") }
            }
        }
    }

    // MARK: Nobody behind it

    @Test func aDeadBackEndGivesTheResponseOfTheProxy() async throws {
        try await withClient(of: .haproxy, layers: { $0.timeout(.seconds(20)) }) { client in
            let error = try await failure(StatusError.self) { try await client.get("/dead", as: String.self) }
            #expect(error.status == .serviceUnavailable)
            #expect(error.retryAfter == nil)
            #expect(!error.bodyPrefix.isEmpty)
        }
    }

    @Test func aDeadBackEndIsRetried() async throws {
        let policy = RetryPolicy(maxAttempts: 3, backoff: .exponential(base: .milliseconds(1)))
        try await withClient(of: .haproxy, layers: { $0.retry(policy, budget: nil).timeout(.seconds(20)) }) { client in
            let error = try await failure(StatusError.self) { try await client.get("/dead", as: String.self) }
            #expect(error.status == .serviceUnavailable)
            #expect(error.attempts.map(\.number) == [1, 2])
        }
    }
}
#endif
