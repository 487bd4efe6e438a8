import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// What becomes of a request's body that a stub has begun to read.
@Suite(.timeLimit(.minutes(5)))
struct StubTransportBodyTests {
    private struct AppBroke: Error, CustomStringConvertible { var description: String { "s3cr3t-detail" } }

    /// A body that can be read once, with `bytes` zeros in pieces of a mebibyte.
    private func oneShot(bytes: Int, trailers: HTTPFields? = nil) -> (body: RequestBody, source: ScriptedBodySource) {
        let piece = min(bytes, 1024 * 1024)
        let source = ScriptedBodySource(steps: (0..<max(1, bytes / max(1, piece))).map { _ in { Data(count: piece) } }, trailers: trailers)
        return (.stream(replay: .oneShot) { _ in source }, source)
    }

    @Test func aBodyTooLongForMatchingFails() async throws {
        let server = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub(.post).body("other").responds(.status(.created)), unmatched: .passesThrough(to: server))
        let (body, _) = oneShot(bytes: 17 * 1024 * 1024)
        let failure = try #require(
            await #expect(throws: TransportError.self) { _ = try await stub.send(post("/", body)) })
        #expect(failure.code == .bodyTooLarge && failure.delivery == .notSent)
        #expect(failure.message.contains("16777216 bytes"))
        #expect(server.requests.isEmpty)
    }

    @Test func aBodyReadForMatchingIsRecordedOnce() async throws {
        let stub = StubTransport(Stub(.post).body("tea").responds(.echo))
        let response = try await stub.send(post("/", .text("tea")))
        #expect(try await response.body.collect() == Data("tea".utf8) && stub.requests.first?.text == "tea")
    }

    @Test func aBodyReadForMatchingIsPassedOnWholeWithItsTrailers() async throws {
        let server = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub(.post).body("other").responds(.status(.created)), unmatched: .passesThrough(to: server))
        let (body, _) = oneShot(bytes: 3 * 1024 * 1024, trailers: [.init("X-Checksum")!: "abc"])
        #expect(try await stub.send(post("/", body)).status == .ok)
        #expect(server.requests.first?.body.count == 3 * 1024 * 1024)
        #expect(server.requests.first?.trailers?[.init("X-Checksum")!] == "abc")
        // Also one without a byte.
        #expect(try await stub.send(post("/", .stream(AsyncStream<Data> { $0.finish() }))).status == .ok)
        #expect(server.requests.count == 2)
    }

    @Test func aThrowingStreamingResponseAbandonsTheBody() async throws {
        let (body, source) = oneShot(bytes: 10)
        let stub = StubTransport(Stub(.post).responds(.streaming { _, _ in throw AppBroke() }))
        await #expect(throws: AppBroke.self) { _ = try await stub.send(post("/", body)) }
        #expect(source.abandonments.value > 0)
    }

    @Test func aCancelledEchoAbandonsTheBody() async throws {
        let clock = ManualClock()
        let (body, source) = oneShot(bytes: 10)
        let stub = StubTransport(Stub(.post).responds(.echo.delayed(by: .seconds(1))), clock: clock)
        let call = Task { _ = try await stub.send(post("/", body)) }
        try await clock.sleepers(atLeast: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(source.abandonments.value > 0 && stub.openBodyCount == 0)
    }

    @Test func aCancelledCallerAbandonsTheBodyOfTheResponse() async throws {
        let (body, source) = oneShot(bytes: 10)
        let responded = ScriptedBodySource(steps: [{ Data("late".utf8) }])
        let stub = StubTransport(
            Stub(.post).responds(
                .streaming { _, _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    return (HTTPResponse(status: .ok), responded)
                }))
        let call = Task { _ = try await stub.send(post("/", body)) }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(source.abandonments.value > 0 && responded.abandonments.value > 0 && stub.openBodyCount == 0)
    }

    /// The response does not read it, and is over.
    @Test(arguments: [true, false]) func aBodyIsAbandonedWithTheEndOfAResponseThatDoesNotReadIt(isRead: Bool) async throws {
        let (body, source) = oneShot(bytes: 10)
        let stub = StubTransport(
            Stub(.post).responds(.streaming { _, _ in (HTTPResponse(status: .ok), ScriptedBodySource(steps: [{ Data("a".utf8) }])) }))
        let response = try await stub.send(post("/", body))
        if isRead { _ = try await response.body.collect() } else { response.body.abandon() }
        #expect(source.abandonments.value > 0)
    }

    @Test func theTextOfAnAppErrorIsNotInTheFailure() async throws {
        let stub = StubTransport(Stub(.post).responds(.status(.ok)))
        let body = RequestBody.stream { _ in ScriptedBodySource(steps: [{ throw AppBroke() }]) }
        let failure = try #require(await #expect(throws: TransportError.self) { _ = try await stub.send(post("/", body)) })
        #expect(failure.code == .requestBody && failure.underlying is AppBroke)
        #expect("\(failure)".contains("AppBroke") && !"\(failure)".contains("s3cr3t"))
    }

    @Test func hugeDelaysAreWaitedForAndDoNotOverflow() async throws {
        let clock = ManualClock()
        let huge = Duration(attoseconds: .max)
        let stubbed = StubResponse.status(.ok).delayed(by: huge).delayed(by: huge).over(NetworkConditions(latency: huge))
        let stub = StubTransport(Stub().responds(stubbed), clock: clock)
        let call = Task { try await stub.send(get("/")).status }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(86_400 * 365))
        #expect(clock.sleeperCount == 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}
