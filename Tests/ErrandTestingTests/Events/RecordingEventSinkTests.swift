import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RecordingEventSinkTests {
    private let sink = RecordingEventSink()

    private func request() throws -> Request {
        var request = try Request(.get, url: "https://a.example/x")
        request.options.eventSink = sink
        return request
    }

    @Test func everyEventIsKeptInOrder() async throws {
        let request = try request()
        _ = try await StubTransport(Stub().responds(.status(.ok))).send(request)
        #expect(sink.kinds.first == .start && sink.kinds.last == .end)
        #expect(sink.kinds == sink.events.map(\.kind) && sink.events.allSatisfy { $0.request == request.id })
    }

    @Test func decisionsOfACallAreCounted() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let request = try Request(.get, url: "https://a.example/x")
        _ = try await stub.retry(RetryPolicy(backoff: .immediate)).events(to: sink).send(request)
        #expect(sink.kinds.count { $0 == .retryDecision } == 2)
    }

    @Test func aRecordedEventNeedsNoWait() async throws {
        _ = try await StubTransport(Stub().responds(.status(.ok))).send(try request())
        try await sink.wait(for: .start)
    }

    @Test func aWaitEndsOnlyWithItsEvent() async throws {
        let body = StubResponse.streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(then: .stall)) }
        let stub = StubTransport(Stub().responds(body))
        let hasEnded = Watched(false)
        let waiting = Task { [sink] in
            try await sink.wait(for: .end)
            hasEnded.change { $0 = true }
        }
        let response = try await stub.send(try request())
        try await sink.wait(for: .responseHead)
        #expect(!hasEnded.value)
        response.body.abandon()
        try await waiting.value
        #expect(sink.kinds.last == .end)
    }

    @Test(arguments: [false, true]) func aCancelledWaitThrows(isCancelledBefore: Bool) async {
        let waiting = Task { [sink] in
            if isCancelledBefore { withUnsafeCurrentTask { $0?.cancel() } }
            try await sink.wait(for: .end)
        }
        if !isCancelledBefore { waiting.cancel() }
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
