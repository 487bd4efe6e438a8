import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct ObservedCallTests {
    private let outcomes = RecordingList<CallOutcome>()

    private struct OtherRefusal: Error {}

    /// Reports a refusal, and then throws `error`.
    private struct RefusingMiddleware: HTTPMiddleware {
        var isSentAgain = false
        let error: any Error

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            let response = try await next.send(request)
            request.reportRefusal(of: response.head, with: TestError())
            if isSentAgain {
                var request = request
                request.countResend(after: .success(response))
            }
            throw error
        }
    }

    private var observer: RecordingObserver<Void> { RecordingObserver(outcomes) }
    private var observing: ObservingMiddleware<RecordingObserver<Void>> { ObservingMiddleware { observer } }

    private func stub(_ status: HTTPResponse.Status) -> StubTransport { StubTransport(Stub().responds(.status(status, text: "no"))) }

    // MARK: Reports of a middleware

    @Test func everyObserverOfACallGetsTheHeadThatAMiddlewareRefuses() async throws {
        let stack = stub(.conflict).wrapped(by: RefusingMiddleware(error: TestError())).wrapped(by: observing)
            .wrapped(by: observing)
        await #expect(throws: TestError.self) { try await stack.send(.sample()) }
        #expect(outcomes.all.map(\.refusal?.head.status) == [.conflict, .conflict])
        #expect(outcomes.all.allSatisfy { $0.failure is TestError && $0.response == nil && $0.exchange == nil && $0.refusal?.error == nil })
        #expect(outcomes.all[0].description == "status 409, TestError")
    }

    @Test func aRefusalThatIsNotTheEndIsNotReported() async throws {
        let failure = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        for (error, isSentAgain) in [(OtherRefusal(), false), (failure, false), (TestError(), true)] as [(any Error, Bool)] {
            let stack = stub(.conflict).wrapped(by: RefusingMiddleware(isSentAgain: isSentAgain, error: error))
                .wrapped(by: observing).wrapped(by: observing)
            _ = try? await stack.send(.sample())
        }
        #expect(outcomes.all.count == 6 && outcomes.all.allSatisfy { $0.refusal == nil && $0.failure != nil })
    }

    /// Declares a name as sensitive in a copy of the request, and sends the copy or the request itself.
    private struct DeclaringMiddleware: HTTPMiddleware {
        static let names = Sensitivity(fields: [.userAgent])
        var sendsCopy = true

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var copy = request
            copy.options.sensitivity.formUnion(Self.names)
            return try await next.send(sendsCopy ? copy : request)
        }
    }

    /// The request reaches a transport, another sender, or only a layer that fails.
    @Test(arguments: [true, false]) func onlyNamesOfASentRequestAreReported(sendsCopy: Bool) async throws {
        let sender = StubSender { _ in throw TestError() }
        for inner in [HTTPStack(stub(.ok)), HTTPStack(sender), stub(.ok).wrapped(by: ClosureMiddleware { _, _ in throw TestError() })] {
            let stack = inner.wrapped(by: DeclaringMiddleware(sendsCopy: sendsCopy)).wrapped(by: observing).wrapped(by: observing)
            _ = try? await stack.send(.sample()).body.collect()
        }
        let expected = sendsCopy ? DeclaringMiddleware.names : .standard
        #expect(outcomes.all.map(\.innerSensitivity) == Array(repeating: expected, count: 6))
    }

    @Test func namesOutsideAnObserverAreNotReported() async throws {
        let stack = stub(.ok).wrapped(by: observing).wrapped(by: DeclaringMiddleware()).wrapped(by: observing)
        let response = try await stack.send(.sample())
        _ = try await response.body.collect()
        #expect(Set(outcomes.all.map(\.innerSensitivity)) == [.standard, DeclaringMiddleware.names] && outcomes.all.count == 2)
        #expect(!response.request.options.hasUnreportedNames)
    }

    // MARK: Ends

    /// The error keeps the exchange. Therefore, the end of the call can't wait for the release of the exchange.
    @Test(arguments: [false, true]) func aRefusedStatusEndsTheCallBeforeTheExchange(isLong: Bool) async throws {
        let exchange = ExchangeLifetime()
        let body = Data(count: isLong ? StatusError.bodyLimitBytes + 1 : 2)
        let sender = StubSender {
            Response(head: HTTPResponse(status: .notFound), body: ResponseBody(body), request: $0, exchange: exchange)
        }
        let stack = sender.validateStatus().wrapped(by: observing)
        let error = await #expect(throws: StatusError.self) { try await stack.send(.sample()) }
        exchange.end(.failed(TestError()))
        let outcome = try #require(outcomes.all.first)
        #expect(outcomes.all.count == 1 && outcome.refusal?.innerError?.status == .notFound && outcome.failure == nil)
        #expect(outcome.exchange?.description == (isLong ? "abandoned" : "complete") && outcome.response?.status == .notFound)
        withExtendedLifetime(error) {}
    }

    @Test func aCancelledCallIsCancelledForItsObserverWhateverAnInnerLayerThrows() async {
        let stack = StubSender { _ in
            withUnsafeCurrentTask { $0?.cancel() }
            throw TestError()
        }.wrapped(by: observing)
        let call = Task { try await stack.send(.sample()) }
        await #expect(throws: TestError.self) { try await call.value }
        #expect(outcomes.all.map(\.isCancelled) == [true])
    }

    @Test func anObserverDoesNotKeepAnExchangeAlive() async throws {
        let sender = StubSender {
            Response(head: HTTPResponse(status: .ok), body: ResponseBody(), request: $0, exchange: ExchangeLifetime())
        }
        let stack = sender.wrapped(by: observing)
        for isTyped in [false, true] {
            var request = Request.sample()
            request.options.call.awaitsDecoding = isTyped
            let before = outcomes.all.count
            var response: Response? = try await stack.send(request, observedBy: observer)
            #expect(response != nil && outcomes.all.count == before)
            response = nil
            #expect(outcomes.all.dropFirst(before).map(\.description) == ["200, abandoned", "200, abandoned"])
        }
    }

    @Test func anOutcomeHasTheResponseWithoutItsBody() async throws {
        let response = try await stub(.ok).number().send(.sample(), observedBy: observer)
        _ = try await response.body.collect()
        let outcome = try #require(outcomes.all.first)
        #expect(outcome.response?.request.id == response.request.id)
        #expect(outcome.response?.metadata.requestNumber == response.metadata.requestNumber)
        #expect(outcome.response?.body.bufferedData?.isEmpty == true && outcome.sizes.responseBytes == 2)
        #expect(outcome.response?.exchange.outcome?.description == "complete" && "\(outcome)" == "200, complete")
    }

    // MARK: Costs of an observer

    @Test func aCallWithoutAnObserverMakesNoObservation() async throws {
        let made = RecordingList<Bool>()
        let stack = stub(.ok).transformResponse { response in
            made.record(response.metadata.callEnd != nil || response.request.options.call.observation != nil)
        }
        var request = Request.sample()
        request.options.call.awaitsDecoding = true
        _ = try await stack.send(request)
        _ = try await stack.send(request, observedBy: observer)
        #expect(made.all == [false, true])
    }

    @Test func aReturnedRequestHasNoObserver() async throws {
        let sink = RecordingEventSink()
        let observer = RecordingObserver(outcomes, eventSink: sink)
        let response = try await stub(.ok).send(.sample(), observedBy: observer)
        #expect(response.request.options.call.observation == nil && response.request.options.eventSink == nil)
        let failing = StubTransport(
            Stub().responds(.failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown))))
        let error = await #expect(throws: TransportError.self) { try await failing.send(.sample(), observedBy: observer) }
        #expect(error?.request?.options.call.observation == nil && error?.request?.options.eventSink == nil)
    }

    @Test func sinksOfTheObserverAndTheRequestGetTheEvents() async throws {
        let (own, others) = (RecordingEventSink(), RecordingEventSink())
        var request = Request.sample()
        request.options.eventSink = others
        let response = try await stub(.ok).send(request, observedBy: RecordingObserver(outcomes, eventSink: own))
        #expect(own.kinds == others.kinds && own.kinds.contains(.responseHead))
        #expect(response.request.options.eventSink as? RecordingEventSink === others)
    }
}
