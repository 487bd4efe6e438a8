import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TransformMiddlewareTests {
    @Test func aTransformChangesTheRequest() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.transformRequest {
            $0.head.headerFields[.acceptLanguage] = "de"
            $0.body = .text("another")
        }
        var original = try request(.post, body: .text("one"))
        original.head.headerFields[.acceptLanguage] = "en"
        _ = try await stack.send(original)
        #expect(stub.requests.map { $0.headers[.acceptLanguage] } == ["de"])
        #expect(stub.requests.map(\.text) == ["another"])
        #expect(original.head.headerFields[.acceptLanguage] == "en")
    }

    @Test func aTransformChangesTheResponse() async throws {
        let stub = StubTransport(Stub().responds(.status(.notFound, text: "gone")))
        let response = try await stub.transformResponse {
            $0.head.status = .ok
            $0.body = ResponseBody(try await $0.body.collect() + Data(" for good".utf8))
        }.send(try request())
        #expect(response.status == .ok)
        #expect(try await response.body.collect() == Data("gone for good".utf8))
    }

    @Test func aTransformCanWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.transformRequest { _ in try await clock.sleep(for: .seconds(1)) }
            .transformResponse { _ in try await clock.sleep(for: .seconds(2)) }
        let response = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(stub.requests.isEmpty)
        #expect(clock.advanceToNextSleeper() == .seconds(1))
        try await clock.sleepers(atLeast: 1)
        #expect(stub.requests.count == 1)
        #expect(clock.advanceToNextSleeper() == .seconds(2))
        #expect(try await response.value.status == .ok)
    }

    @Test func transformsSeeEarlierChanges() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.transformRequest { _ in passage.record("inner request") }.transformResponse { _ in passage.record("inner response")
        }
        .transformRequest { _ in passage.record("outer request") }.transformResponse { _ in passage.record("outer response") }
        _ = try await stack.send(try request())
        #expect(passage.all == ["outer request", "inner request", "inner response", "outer response"])
    }

    @Test func anErrorOfARequestTransformSendsNothing() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        await #expect(throws: TestError.self) { try await stub.transformRequest { _ in throw TestError() }.send(try request()) }
        #expect(stub.requests.isEmpty)
    }

    @Test func anErrorOfAResponseTransformReleasesTheBody() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        await #expect(throws: TestError.self) { try await stub.transformResponse { _ in throw TestError() }.send(try request()) }
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
    }

    @Test func aReplacedUnreadBodyIsReleased() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.transformResponse { $0.body = ResponseBody(Data("other".utf8)) }.send(try request())
        #expect(stub.openBodyCount == 0)
        #expect(try await response.body.collect() == Data("other".utf8))
    }

    @Test func aWrappedBodyIsStillStreamed() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.transformResponse { $0.body = $0.body.transformed(by: UppercaseTransform()) }.send(try request())
        #expect(stub.openBodyCount == 1)
        #expect(try await response.body.collect() == Data("ONETWOTHREE".utf8))
        #expect(stub.openBodyCount == 0)
    }

    @Test func aCancelledCallThrowsCancellationErrorForEveryError() async throws {
        for isRequest in [true, false] {
            let clock = ManualClock()
            let stub = StubTransport(Stub().responds(.stream(streamed)))
            @Sendable func work() async throws {
                do {
                    try await clock.sleep(for: .seconds(1))
                } catch {
                    throw TestError()
                }
            }
            let stack =
                isRequest ? stub.transformRequest { _ in try await work() } : stub.transformResponse { _ in try await work() }
            let task = Task { try await stack.send(try request()) }
            try await clock.sleepers(atLeast: 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(stub.openBodyCount == 0)
        }
    }

    @Test func theDescriptionNamesTheTransform() {
        let stack = StubTransport().transformRequest { _ in }.transformResponse("audit") { _ in }
        #expect(stack.description == "transform(audit) > transform(request) > StubTransport")
    }
}
