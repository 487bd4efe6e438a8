import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

/// The torture of middleware against middleware with one fault each: it must see the fault.
@Suite(.timeLimit(.minutes(5))) struct TortureMutantTests {
    private func violation(
        body: String = "onetwothree", _ wrap: @escaping @Sendable (Stage.Parts) -> HTTPStack
    ) async throws -> TortureError {
        let response = StubResponse.streaming { _, _ in
            await Task.yield()
            return (HTTPResponse(status: .ok), ScriptedBodySource(body.map { String($0) }) { await Task.yield() })
        }
        let scenario = Scenario(name: "mutant", stub: Stub().responds(response), expected: "200 \(body)", wrap: wrap)
        let torture = CancellationTorture(
            hangLimit: .seconds(2), leastCancelled: scenario.leastCancelled, lateJobs: scenario.lateJobs)
        return try #require(
            await #expect(throws: TortureError.self) {
                _ = try await torture.run {
                    try await Stage(scenario).play()
                } accepts: {
                    $0 == scenario.expected
                }
            })
    }

    @Test func aLifetimeThatHasEndedIsSeen() async throws {
        let violation = try await violation {
            $0.stub.wrapped(
                by: MiddlewareMutant.switchable { request, next in
                    try await next.send(request).with(ExchangeLifetime(outcome: .complete))
                })
        }
        #expect(violation.what.contains("an exchange that ended before its body"), "\(violation)")
    }

    @Test func readsThatIgnoreCancellationAreSeen() async throws {
        // A body long enough that nobody takes what goes on for an end: a reader of the whole notices the cancellation there.
        let violation = try await violation(body: String(repeating: "x", count: 300)) {
            $0.stub.wrapped(
                by: MiddlewareMutant.switchable { request, next in
                    var response = try await next.send(request)
                    response.replaceBody { DeafSource($0) }
                    return response
                })
        }
        // By the jobs that go on, or by the runs that end as if nothing had happened.
        #expect(
            violation.what.contains("jobs ran after the cancellation") || violation.what.contains("but `leastCancelled` is"),
            "\(violation)")
    }

    @Test func workInUnstructuredTasksIsSeen() async throws {
        let violation = try await violation {
            $0.stub.wrapped(
                by: MiddlewareMutant.switchable { request, next in
                    let task = Task {
                        let response = try await next.send(request)
                        return Response(head: response.head, data: try await response.body.collect(), request: request)
                    }
                    return try await task.value
                })
        }
        #expect(violation.what.contains("but `leastCancelled` is"), "\(violation)")
    }
}
