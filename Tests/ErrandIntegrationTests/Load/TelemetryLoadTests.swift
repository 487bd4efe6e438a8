import Errand
import ErrandTesting
import TestSupport
import Testing
import Tracing

/// A thousand concurrent calls end in every possible way. No call is lost, counted twice, or left open.
@Suite(.timeLimit(.minutes(5))) struct TelemetryLoadTests {
    private static let paths = ["/ok", "/stream", "/missing", "/broken", "/refused", "/breaks", "/dropped", "/cancelled"]
    private static let calls = 1_000

    private func stub() -> StubTransport {
        StubTransport(
            Stub(.get, "/ok").responds(.status(.ok)), Stub(.get, "/stream").responds(.stream(streamed)),
            Stub(.get, "/missing").responds(.status(.notFound)),
            Stub(.get, "/broken").responds(.status(.internalServerError)),
            Stub(.get, "/refused").responds(.failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent))),
            Stub(.get, "/breaks").responds(.data(Data(count: 10)).breaking(afterBytes: 5)),
            Stub(.get, "/dropped").responds(.stream(streamed)), Stub(.get, "/cancelled").responds(.never))
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func everyCallIsCountedOnce(_ seed: UInt64) async throws {
        let (metrics, tracer, stub) = (RecordingMetrics(), RecordingTracer(), stub())
        let stack = stub.metrics(factory: metrics).trace(tracer: tracer).traceCall(tracer: tracer).server("https://a.example")
        var generator = SeededGenerator(seed: seed)
        let chosen = (0..<Self.calls).map { _ in Self.paths.randomElement(using: &generator) ?? "/ok" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in chosen { group.addTask { try await Self.call(path, on: stack, stub) } }
            try await group.waitForAll()
        }

        func chosenCount(_ paths: String...) -> Int { chosen.filter(paths.contains).count }
        func count(_ dimensions: [String: String]) -> Int { metrics.values("http.client.request.duration", dimensions).count }
        #expect(count([:]) == Self.calls && metrics.level("http.client.active_requests") == 0)
        #expect(count(["http.response.status_code": "200"]) == chosenCount("/ok", "/stream", "/breaks", "/dropped"))
        #expect(count(["error.type": "404"]) == chosenCount("/missing"))
        #expect(count(["error.type": "500"]) == chosenCount("/broken"))
        #expect(count(["error.type": "cannot_connect"]) == chosenCount("/refused"))
        #expect(count(["error.type": "connection_lost", "http.response.status_code": "200"]) == chosenCount("/breaks"))
        #expect(metrics.values("http.client.response.body.size").reduce(0, +) == Double(11 * chosenCount("/stream")))

        let (calls, attempts) = (tracer.spans.filter { $0.kind == .internal }, tracer.spans.filter { $0.kind == .client })
        #expect(calls.count == Self.calls && attempts.count == Self.calls)
        #expect(tracer.spans.allSatisfy { $0.endCount == 1 })
        #expect(Set(attempts.compactMap(\.parent)) == Set(calls.map(\.id)))
        #expect(attempts.filter { $0.status != nil }.count == chosenCount("/missing", "/broken", "/refused", "/breaks"))
        #expect(stub.openBodyCount == 0)
    }

    private static func call(_ path: String, on stack: HTTPStack, _ stub: StubTransport) async throws {
        let request = try Request(.get, PathTemplate(verbatim: path))
        switch path {
        case "/dropped": try await stack.send(request).body.abandon()
        case "/cancelled":
            let task = Task { try await stack.send(request) }
            await eventually { stub.requests.contains { $0.request.id == request.id } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        case "/refused", "/breaks":
            await #expect(throws: TransportError.self) { try await stack.send(request).body.collect() }
        default: _ = try await stack.send(request).body.collect()
        }
    }
}
