import Dispatch
import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPStackTests {

    private struct PlainMiddleware: HTTPMiddleware {
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
    }

    private let plain = StubSender { Response(head: HTTPResponse(status: .ok), request: $0) }

    private struct Client { let stack: HTTPStack }

    private let stub = StubTransport(Stub().responds(.status(.ok)))
    private let recorder = RecordingList<String>()

    private func stack(_ places: MiddlewarePlace...) -> HTTPStack {
        places.reduce(HTTPStack(stub)) {
            $0.wrapped(
                by: RecordingMiddleware(
                    name: $1.description, list: recorder, label: "\($1)(1)", place: $1, neighbors: $1.libraryNeighbors))
        }
    }

    @Test func theLastModifierIsTheOutermost() async throws {
        let stack = stub.wrapped(by: RecordingMiddleware(name: "first", list: recorder))
            .wrapped(by: RecordingMiddleware(name: "last", list: recorder))
        _ = try await stack.send(.sample())
        #expect(recorder.all == ["> last", "> first", "< first", "< last"])
    }

    @Test func theDescriptionIsAFlatListOutermostFirst() {
        let stack = HTTPStack(HTTPStack(stub.wrapped(by: PlainMiddleware()))).wrapped(
            by: RecordingMiddleware(name: "last", list: recorder, label: "last(1)"))
        #expect(stack.description == "last(1) > PlainMiddleware > StubTransport")
        #expect(stack.layers.map(\.description) == ["last(1)", "PlainMiddleware", "StubTransport"])
        #expect(HTTPStack(plain).description == "StubSender")
    }

    @Test func aStackIsOneTypeThatCanBeStored() async throws {
        var client = Client(stack: HTTPStack(plain))
        #expect(client.stack.capabilities == [])
        client = Client(stack: stub.wrapped(by: PlainMiddleware()))
        #expect(client.stack.capabilities == stub.capabilities)
        #expect(try await client.stack.send(.sample()).status == .ok)
    }

    @Test func aWrongOrderIsNamed() {
        #expect(stack(.cache, .authenticate, .retry, .validateStatus, .server).orderProblems == [])
        let wrong = stack(.validateStatus, .retry)
        #expect(wrong.orderProblems == ["retry is outside validateStatus: retry would get an error instead of the status"])
        #expect(wrong.description.hasSuffix("StubTransport\n  order: " + wrong.orderProblems[0]))
        #expect(stack(.server, .cache, .redirect).orderProblems.count == 2)
        #expect(wrong.contains(.retry) && !wrong.contains(.cache))
    }

    @Test func theCanonicalOrderIsSound() {
        let canonical = stack(
            .sign, .trace, .metrics, .concurrencyLimit, .rateLimit, .circuitBreaker, .coalesce, .cache, .decompress, .cookies,
            .authenticate,
            .compressRequests, .redirect, .retry,
            .fallback,
            .validateStatus, .timeout, .log, .traceCall, .number, .server)
        #expect(canonical.orderProblems == [])
    }

    #if SWIFT_NIO && Telemetry
    @Test func observersOfEachExchangeBeginWithDecompressing() {
        let stack = HTTPStack.decompressing.metrics().trace().redirect().retry().timeout(.seconds(30)).server("https://a.example")
        #expect(stack.orderProblems.isEmpty)
        #expect(!HTTPStack.decompressing.contains(.redirect) && HTTPStack.default.contains(.redirect))
    }

    /// In whatever order its layers are written.
    @Test func theDefaultStackSortsItsLayers() {
        let stacks = [
            HTTPStack.default.metrics().trace().retry().timeout(.seconds(30)).server("https://a.example"),
            HTTPStack.default.server("https://a.example").retry().timeout(.seconds(30)).trace().metrics(),
        ]
        for stack in stacks {
            #expect(stack.orderProblems.isEmpty)
            #expect(
                stack.layers.dropLast().map(\.place) == [.server, .userAgent, .timeout, .retry, .redirect, .decompress, .metrics, .trace])
        }
        #expect(HTTPStack.default.retry().metrics().orderProblems.isEmpty)
        #expect(HTTPStack.decompressing.redirect().metrics().orderProblems.count == 1, "a stack that does not sort wraps")
    }
    #endif

    /// Looks around where it runs.
    private func probing(_ probe: @escaping @Sendable () -> Void) -> ClosureMiddleware {
        ClosureMiddleware { request, next in
            probe()
            return try await next.send(request)
        }
    }

    @MainActor @Test func noLayerOfAStackRunsOnTheMainActor() async throws {
        let mainQueue = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: mainQueue, value: true)
        let isMain = RecordingList<Bool>()
        let stack = stub.wrapped(by: probing { isMain.record(DispatchQueue.getSpecific(key: mainQueue) ?? false) })
        #expect(DispatchQueue.getSpecific(key: mainQueue) == true)
        _ = try await stack.send(.sample())
        _ = try await stack.withResponse(to: .sample()) { _ in }
        #expect(isMain.all == [false, false])
        #expect(DispatchQueue.getSpecific(key: mainQueue) == true)
    }

    @Test func aPreferredTaskExecutorHoldsForTheWholeStack() async throws {
        let executor = QueueExecutor()
        let isPreferred = RecordingList<Bool>()
        let probe = probing { isPreferred.record(executor.isCurrent) }
        let stack = ClosureTransport { request in
            isPreferred.record(executor.isCurrent)
            return Response(head: HTTPResponse(status: .ok), request: request)
        }.wrapped(by: probe).wrapped(by: probe)
        try await withTaskExecutorPreference(executor) { _ = try await stack.send(.sample()) }
        #expect(isPreferred.all == [true, true, true])
    }

    @Test func aSecondCallOfNextIsASecondExchange() async throws {
        let doubling = ClosureMiddleware { request, next in
            async let first = next.send(request)
            async let second = next.send(request)
            _ = try await first
            return try await second
        }
        _ = try await stub.wrapped(by: doubling).send(.sample())
        #expect(stub.requests.count == 2)
    }

    @Test func withTransportShutsDownOnSuccessAndOnThrow() async throws {
        let transport = ClosureTransport { Response(head: HTTPResponse(status: .ok), request: $0) }
        let status = try await withTransport(transport) { try await HTTPStack($0).send(.sample()).status }
        #expect(status == .ok && transport.shutdownCount == 1)
        await #expect(throws: TestError()) { try await withTransport(transport) { _ in throw TestError() } }
        #expect(transport.shutdownCount == 2)
    }

    @Test func capabilitiesAreNamed() {
        #expect(TransportCapabilities().description == "")
        #expect(TransportCapabilities([.streamingDownload, .deadlines]).description == "deadlines, streamingDownload")
        #expect(
            TransportCapabilities(rawValue: .max).description
                == "deadlines, phaseTimeouts, streamingDownload, phaseEvents, informationalResponses, trailers, upgrades, decodesContent, "
                + "waitsForConnectivity, networkAccess, serverTrust")
    }

    @Test func eventsCarryTheirRequest() {
        let request = Request.sample()
        let event = ExchangeEvent(.end, request: request.id, failure: TestError())
        #expect(event.kind == .end && event.kind.description == "end" && event.request == request.id && event.failure is TestError)
    }
}
