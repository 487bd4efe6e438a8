import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResilienceTests {
    @Test func standardResilienceIsInTheCanonicalOrder() throws {
        let stack = StubTransport().standardResilience(try ResiliencePolicy(hedge: .standard))
        #expect(
            stack.layers.map { $0.label.prefix { $0 != "(" } } == [
                "timeout", "retry", "hedge", "circuitBreaker", "concurrencyLimit", "phaseTimeouts", "StubTransport",
            ])
        #expect(stack.orderProblems.isEmpty)
        #expect(!StubTransport().standardResilience().contains(.hedge))
    }

    @Test func theStandardConfigurationIsValid() throws {
        let built = try ResiliencePolicy()
        #expect(built.description == ResiliencePolicy.standard.description)
    }

    /// As the type's documentation has it.
    @Test func theSampleConfigurationIsValid() throws {
        let transport = StubTransport()
        let stack = transport.standardResilience()
        let patient = try ResiliencePolicy(totalTimeout: .seconds(60), attemptTimeout: .seconds(15))
        let other = transport.standardResilience(patient)
        #expect(stack.orderProblems.isEmpty && other.description.hasPrefix("timeout(1 min)"))
    }

    static let unsound: [(what: String, build: @Sendable () throws -> ResiliencePolicy, problem: String)] = [
        (
            "attempt", { try ResiliencePolicy(totalTimeout: .seconds(5), attemptTimeout: .seconds(5)) },
            "attemptTimeout must be less than totalTimeout (are 5 s and 5 s)"
        ),
        (
            "window", { try ResiliencePolicy(totalTimeout: .seconds(90), attemptTimeout: .seconds(20)) },
            "circuitBreaker.window must be at least twice attemptTimeout (are 30 s and 20 s)"
        ),
        (
            "zero", { try ResiliencePolicy(totalTimeout: .zero) },
            "totalTimeout and attemptTimeout must be more than zero (are 0 s and 10 s)"
        ),
        (
            "backoff", { try ResiliencePolicy(retry: RetryPolicy(backoff: .constant(.seconds(40)))) },
            "the first wait of retry.backoff must be less than totalTimeout (are 40 s and 30 s)"
        ),
        (
            "slow", { try ResiliencePolicy(circuitBreaker: CircuitBreakerPolicy(slowCallThreshold: .seconds(15))) },
            "circuitBreaker.slowCallThreshold must be less than attemptTimeout (are 15 s and 10 s)"
        ),
        (
            "hedge", { try ResiliencePolicy(hedge: HedgePolicy(.fixed(.seconds(11)))) },
            "the delay of hedge must be less than attemptTimeout (are 11 s and 10 s)"
        ),
    ]

    @Test(arguments: unsound.map(\.what)) func contradictorySettingsAreRefused(_ what: String) throws {
        let row = try #require(Self.unsound.first { $0.what == what })
        let error = #expect(throws: ResilienceError.self) { try row.build() }
        #expect(error?.description.contains(row.problem) == true, "\(String(describing: error))")
    }

    @Test func theErrorNamesAllProblems() {
        let error = #expect(throws: ResilienceError.self) {
            try ResiliencePolicy(
                totalTimeout: .seconds(5), attemptTimeout: .seconds(20),
                circuitBreaker: CircuitBreakerPolicy(slowCallThreshold: .seconds(30)))
        }
        #expect(error?.problems.count == 3)
    }

    @Test func aCallSurvivesTransientFailures() async throws {
        let stub = StubTransport(
            Stub().responds(
                .status(.serviceUnavailable), .failure(TransportError(.connectionLost, phase: .send, request: nil, delivery: .unknown)),
                .status(.ok, text: "fine")))
        let simulation = Simulation()
        let stack = stub.standardResilience(clock: simulation.clock)
        let task = simulation.begin { () -> (Data, Int) in
            let response = try await stack.send(try request())
            return (try await response.body.collect(), response.metadata.attempts.count)
        }
        simulation.run()
        let (body, attempts) = try await task.value
        #expect(body == Data("fine".utf8) && attempts == 2)
    }

    @Test func aBreakerOfTheAppIsUsed() async throws {
        let breaker = CircuitBreaker()
        breaker.isolate("https://a.example")
        let stack = StubTransport().standardResilience(breaker: breaker)
        await #expect(throws: CircuitBreakerError.self) { try await stack.send(try request()) }
    }
}
