import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResilienceTests {
    @Test func standsInTheCanonicalOrder() throws {
        let stack = StubTransport().standardResilience(try Resilience(hedge: .standard))
        #expect(
            stack.layers.map { $0.label.prefix { $0 != "(" } } == [
                "timeout", "retry", "hedge", "circuitBreaker", "concurrencyLimit", "phaseTimeouts", "StubTransport",
            ])
        #expect(stack.orderProblems.isEmpty)
        #expect(!StubTransport().standardResilience().contains(.hedge))
    }

    @Test func theStandardOneIsSound() throws {
        let built = try Resilience()
        #expect(built.description == Resilience.standard.description)
    }

    /// As the type's documentation has it.
    @Test func theSampleIsSound() throws {
        let transport = StubTransport()
        let stack = transport.standardResilience()
        let patient = try Resilience(total: .seconds(60), attempt: .seconds(15))
        let other = transport.standardResilience(patient)
        #expect(stack.orderProblems.isEmpty && other.description.hasPrefix("timeout(60 s)"))
    }

    static let unsound: [(what: String, build: @Sendable () throws -> Resilience, problem: String)] = [
        ("attempt", { try Resilience(total: .seconds(5), attempt: .seconds(5)) }, "an attempt of 5.0 seconds would use up"),
        ("window", { try Resilience(total: .seconds(90), attempt: .seconds(20)) }, "less than two attempts of 20.0 seconds"),
        ("zero", { try Resilience(total: .zero) }, "both must be positive"),
        ("backoff", { try Resilience(retry: RetryPolicy(backoff: .constant(.seconds(40)))) }, "the first backoff of 40.0 seconds"),
        ("slow", { try Resilience(circuit: CircuitPolicy(slowCall: .seconds(15))) }, "a call is slow after 15.0 seconds"),
        ("hedge", { try Resilience(hedge: HedgePolicy(.fixed(.seconds(11)))) }, "a hedge after 11.0 seconds"),
    ]

    @Test(arguments: unsound.map(\.what)) func whatDoesNotFitIsRefusedWhenItIsBuilt(_ what: String) throws {
        let row = try #require(Self.unsound.first { $0.what == what })
        let error = #expect(throws: ResilienceError.self) { try row.build() }
        #expect(error?.description.contains(row.problem) == true, "\(String(describing: error))")
    }

    @Test func allThatIsWrongIsNamedAtOnce() {
        let error = #expect(throws: ResilienceError.self) {
            try Resilience(total: .seconds(5), attempt: .seconds(20), circuit: CircuitPolicy(slowCall: .seconds(30)))
        }
        #expect(error?.problems.count == 3)
    }

    @Test func aCallSurvivesWhatPasses() async throws {
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

    @Test func theBreakerIsTheCallersToLookAt() async throws {
        let breaker = CircuitBreaker()
        breaker.isolate("https://a.example")
        let stack = StubTransport().standardResilience(breaker: breaker)
        await #expect(throws: CircuitOpenError.self) { try await stack.send(try request()) }
    }
}
