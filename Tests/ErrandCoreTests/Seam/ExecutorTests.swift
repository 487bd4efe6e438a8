import Dispatch
import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// With a preference for an executor, a call takes every step there.
@Suite(.timeLimit(.minutes(5))) struct ExecutorTests {
    /// The executors of the steps by name: true on the given executor.
    private final class RecordedSteps: Sendable {
        private let steps = Mutex<[String: Set<Bool>]>([:])
        let executor = QueueExecutor()
        var all: [String: Set<Bool>] { steps.withLock { $0 } }

        func take(_ name: String) {
            let isThere = executor.isCurrent
            steps.withLock { _ = $0[name, default: []].insert(isThere) }
        }
    }

    private struct RecordingStepMiddleware: HTTPMiddleware {
        let steps: RecordedSteps

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            steps.take("request")
            await Task.yield()
            defer { steps.take("response") }
            return try await next.send(request)
        }
    }

    private struct RecordingStepTransport: HTTPTransport {
        let steps: RecordedSteps
        var capabilities: TransportCapabilities { [.deadlines] }

        func send(_ request: Request) async throws -> Response {
            steps.take("transport")
            await Task.yield()
            steps.take("transport")
            let lifetime = ExchangeLifetime()
            let chunks = ScriptedBodySource(["{", "\"id\":", "1", "}"]) { [steps] in
                steps.take("chunk")
                await Task.yield()
            }
            let body = ResponseBody(chunks).observed { if case .end(let end, _) = $0 { lifetime.end(end) } }
            return Response(head: HTTPResponse(status: .ok), body: body, request: request, exchange: lifetime)
        }

        func shutdown() async throws {}
    }

    private struct Item: Codable, Sendable { let id: Int }

    @Test func everyStepOfACallIsTakenOnTheCallersExecutor() async throws {
        let steps = RecordedSteps()
        var stack = RecordingStepTransport(steps: steps).wrapped(by: RecordingStepMiddleware(steps: steps)).phaseTimeouts(
            idleRead: .seconds(60), attempt: .seconds(60)
        )
        .concurrencyLimit(1).circuitBreaker().redirect().retry().validateStatus().timeout(.seconds(60)).profile()
        #if Telemetry
        stack = stack.log(to: recordingLogger().0, detail: .body())
        #endif
        let client = APIClient(stack.events(to: RecordingEventSink()).server("https://a.example"))
        let item = try await withTaskExecutorPreference(steps.executor) {
            steps.take("caller")
            let item = try await client.value(Endpoint<Item>.get("/x"))
            steps.take("caller")
            return item
        }
        #expect(item.id == 1)
        #expect(Set(steps.all.keys) == ["caller", "request", "response", "transport", "chunk"])
        #expect(steps.all.allSatisfy { $0.value == [true] }, "\(steps.all)")
    }
}
