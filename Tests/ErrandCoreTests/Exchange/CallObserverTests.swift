import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// The end of a call for its observers, and what keeps the observers.
@Suite(.timeLimit(.minutes(10))) struct CallObserverTests {
    private func ok() -> StubTransport {
        StubTransport(Stub().responds(.status(.ok, text: "text"), repeatingLast: true))
    }

    /// Two calls that share an exchange are two calls: each ends when its own value was decoded.
    @Test(arguments: [false, true]) func typedCallsThatShareAnExchangeEndSeparately(observesInside: Bool) async throws {
        let (inner, outer) = (RecordingList<CallOutcome>(), RecordingList<CallOutcome>())
        let (arrived, gate) = (Watched(0), Signal())
        let transport = ClosureTransport { request in
            await gate.waitIgnoringCancellation()
            return Response(head: HTTPResponse(status: .ok), data: Data("text".utf8), request: request)
        }
        var stack = HTTPStack(transport)
        if observesInside { stack = stack.wrapped(by: ObservingMiddleware { RecordingObserver(inner) }) }
        let coalesce = CoalesceMiddleware()
        stack = stack.wrapped(by: coalesce).wrapped(by: ObservingMiddleware { RecordingObserver(outer) })
        let (firstIsRead, secondMayEnd) = (Signal(), Signal())
        let full = stack
        let first = Task {
            try await full.value(of: .sample(), serviceErrors: nil) { _ in
                arrived.change { $0 += 1 }
                try await arrived.wait { $0 == 2 }
                return 1
            }
        }
        let second = Task {
            try await full.value(of: .sample(), serviceErrors: nil) { _ -> Int in
                arrived.change { $0 += 1 }
                await secondMayEnd.waitIgnoringCancellation()
                throw TestError()
            }
        }
        try await poll("two callers", value: { coalesce.state.callers }) { $0 == 2 }
        gate.signal()
        _ = try await first.value
        firstIsRead.signal()
        #expect(outer.all.count == 1, "the second call is still being decoded (observer inside: \(observesInside))")
        secondMayEnd.signal()
        _ = try? await second.value
        #expect(outer.all.count == 2)
        #expect(outer.all.filter { $0.failure is TestError }.count == 1, "the second call failed while it was decoded")
        #expect(inner.all.count == (observesInside ? 1 : 0))
    }

    /// Two calls share a refused response. If one call drops its own response, the other call does not end.
    @Test(arguments: [false, true]) func refusedCallsThatShareAnExchangeEndSeparately(observesInside: Bool) async throws {
        let (outer, gate) = (RecordingList<CallOutcome>(), Signal())
        let discarded = Signal()
        let transport = ClosureTransport { request in
            await gate.waitIgnoringCancellation()
            return Response(head: HTTPResponse(status: .notFound), data: Data("text".utf8), request: request)
        }
        let coalesce = CoalesceMiddleware()
        let impatient = ClosureMiddleware { request, next in
            let response = try await next.send(request)
            if request.options.tags["impatient"] != nil {
                response.discard()
                discarded.signal()
                throw TestError()
            }
            await discarded.waitIgnoringCancellation()
            return response
        }
        let inner =
            observesInside ? HTTPStack(transport).wrapped(by: ObservingMiddleware { RecordingObserver { _ in } }) : HTTPStack(transport)
        let stack = inner.wrapped(by: coalesce)
            .wrapped(by: ObservingMiddleware { RecordingObserver(outer) }).wrapped(by: impatient).validateStatus()
        let reader = ServiceErrorReader { _ in ServiceError("none") }
        let calls = [true, false].map { isImpatient in
            Task {
                var request = Request.sample()
                if isImpatient { request.options.tags["impatient"] = "yes" }
                return try await stack.value(of: request, serviceErrors: reader) { _ in 1 }
            }
        }
        try await poll("two callers", value: { coalesce.state.callers }) { $0 == 2 }
        gate.signal()
        for call in calls { _ = try? await call.value }
        #expect(outer.all.count == 2)
        #expect(outer.all.filter { $0.refusal?.serviceError != nil }.count == 1, "\(outer.all)")
    }

    /// If the app keeps a response after the end of the call, the response keeps no observer.
    @Test(arguments: [false, true], [HTTPResponse.Status.ok, .notFound]) func aResponseKeepsNoObserver(
        retries: Bool, status: HTTPResponse.Status
    ) async throws {
        for how in 0..<4 {
            let made = Mutex<[RecordingObserver<Void>]>([])
            let outcomes = Counter()
            let transport = ClosureTransport { request in
                let exchange = how == 3 ? ExchangeLifetime(outcome: .complete) : ExchangeLifetime()
                if how == 0 { exchange.end(.complete) }
                if how == 1 { Task { exchange.end(.failed(TestError())) } }
                if how == 2 { Task { exchange.end(.complete) } }
                return Response(
                    head: HTTPResponse(status: status), body: ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2), request: request,
                    exchange: exchange)
            }
            let observing = ObservingMiddleware {
                let observer = RecordingObserver { _ in outcomes.add(1) }
                made.withLock { $0.append(observer) }
                return observer
            }
            var stack = HTTPStack(transport).wrapped(by: observing)
            if retries { stack = stack.retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.zero)), budget: nil) }
            stack = stack.wrapped(by: observing)
            let response = try await stack.send(.sample())
            await eventually { outcomes.value == 2 }
            let weak = made.withLock { observers in
                defer { observers = [] }
                return observers.map(Weak.init)
            }
            let kept = weak.indices.filter { weak[$0].observer != nil }
            #expect(
                kept == [],
                "how \(how): the observers with these numbers, of which 0 is the outermost; \(response.request.options.call.observation == nil)"
            )
            response.discard()
        }
    }

    /// A call that was refused inside an observer has ended. If the app releases the error, the observer and the body are also released.
    @Test(arguments: [true, false]) func aRefusedCallReleasesItsObserverAndBody(isRefusedInside: Bool) async throws {
        final class LiveCountingSink: EventSink {
            let live: Counter
            init(_ live: Counter) { self.live = live; live.add(1) }
            deinit { live.add(-1) }
            func record(_ event: ExchangeEvent) {}
        }
        let (sinks, observers, ends) = (Counter(), Counter(), Counter())
        // The transport is not a stub, because a stub keeps the requests.
        let transport = ClosureTransport {
            Response(head: HTTPResponse(status: .notFound), data: Data(repeating: 120, count: 60_000), request: $0)
        }
        let observing = ObservingMiddleware { RecordingObserver(live: observers) { _ in ends.add(1) } }
        let stack =
            isRefusedInside
            ? HTTPStack(transport).validateStatus().wrapped(by: observing).events { _ in LiveCountingSink(sinks) }
            : HTTPStack(transport).wrapped(by: observing).events { _ in LiveCountingSink(sinks) }.validateStatus()
        for _ in 0..<200 { await #expect(throws: StatusError.self) { try await stack.send(.sample()) } }
        #expect(ends.value == 200)
        #expect(observers.value == 0, "observers, each with the body of its response")
        #expect(sinks.value == 0, "sinks of events")
    }

    /// "in progress until end, or until the last reference to it goes away": also if the status is refused.
    @Test func theExchangeOfARefusedCallEndsWithItsLastReference() async throws {
        let (ends, inner) = (Counter(), RecordingList<CallOutcome>())
        let transport = ClosureTransport { request in
            let exchange = ExchangeLifetime()
            exchange.onEnd { _ in ends.add(1) }
            return Response(head: HTTPResponse(status: .notFound), body: ResponseBody(Data("x".utf8)), request: request, exchange: exchange)
        }
        let stack = HTTPStack(transport).wrapped(by: ObservingMiddleware { RecordingObserver(inner) }).validateStatus()
            .wrapped(by: ObservingMiddleware { RecordingObserver { _ in } })
        for _ in 0..<20 { await #expect(throws: StatusError.self) { try await stack.send(.sample()) } }
        #expect(ends.value == 20 && inner.all.count == 20)
    }

    private final class Weak {
        weak var observer: RecordingObserver<Void>?
        init(_ observer: RecordingObserver<Void>) { self.observer = observer }
    }

    /// A request is sent twice at the same time inside a call. The call has one end, which is the last event.
    @Test func aRequestSentTwiceConcurrentlyHasOneEnd() async throws {
        let outcomes = RecordingList<CallOutcome>()
        for _ in 0..<300 {
            let sink = RecordingEventSink()
            let racing = ClosureMiddleware { request, next in
                try await withThrowingTaskGroup(of: Response.self) { group in
                    for _ in 0..<2 { group.addTask { try await next.send(request) } }
                    guard let first = try await group.next() else { throw TestError() }
                    if Bool.random() { group.cancelAll() }
                    while let late = await group.nextResult() { if case .success(let late) = late { late.discard() } }
                    return first
                }
            }
            let stack = HTTPStack(ok()).wrapped(by: ObservingMiddleware { RecordingObserver(outcomes) }).wrapped(by: racing)
                .wrapped(by: ObservingMiddleware { RecordingObserver(outcomes) }).events(to: sink)
            _ = try await stack.send(.sample()).body.collect()
            #expect(sink.kinds.filter { $0 == .callEnd }.count == 1 && sink.kinds.last == .callEnd, "\(sink.kinds)")
        }
        #expect(outcomes.all.count == 900)
    }

    /// Exactly one end, in every interleaving.
    @Test func everyCallOfManyHasOneEndAtEachObserver() async throws {
        let (ends, numbers, live) = (RecordingList<Int>(), Counter(), Counter())
        let transport = ClosureTransport { request in
            switch Int.random(in: 0..<8) {
            case 0: throw CancellationError()
            case 1: throw TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent)
            case 2: throw TestError()
            default: break
            }
            let exchange = ExchangeLifetime()
            let source = ScriptedBodySource(["a", "b"], then: Bool.random() ? .end : .failure(TestError()))
            let how = Int.random(in: 0..<4)
            if how == 0 { exchange.end(.complete) }
            if how == 1 { Task { exchange.end(Bool.random() ? .complete : .failed(TestError())) } }
            if how == 2 {
                Task {
                    await Task.yield(); exchange.end(.abandoned)
                }
            }
            return Response(
                head: HTTPResponse(status: [.ok, .serviceUnavailable, .notFound].randomElement()!),
                body: ResponseBody(source, expectedLength: 2), request: request, exchange: exchange)
        }
        let observing = ObservingMiddleware {
            let number = numbers.add(1)
            return RecordingObserver(live: live) { _ in ends.record(number) }
        }
        let kept = Watched<[Response]>([])
        for sorted in [false, true] {
            let base = sorted ? HTTPStack.sorted(around: transport) : HTTPStack(transport)
            let stack = base.wrapped(by: observing).retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.zero)), budget: nil)
                .wrapped(by: observing).validateStatus().wrapped(by: observing)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<3_000 {
                    group.addTask {
                        let call = Task {
                            if number % 2 == 0 {
                                let response = try await stack.send(.sample())
                                if number % 4 == 0 {
                                    var response = response
                                    // Another test checks which objects the failures keep.
                                    response.metadata.attempts = []
                                    kept.change { [response] in $0.append(response) }
                                }
                                switch number % 3 {
                                case 0: response.discard()
                                case 1: _ = try await response.body.collect()
                                default: break
                                }
                            } else {
                                _ = try await stack.value(of: .sample(), serviceErrors: ServiceErrorReader { _ in nil }) { response in
                                    if number % 3 == 0 { throw TestError() }
                                    if number % 3 == 1 { return 0 }
                                    return try await response.body.collect().count
                                }
                            }
                        }
                        if number % 5 == 0 {
                            if Bool.random() { await Task.yield() }
                            call.cancel()
                        }
                        _ = try? await call.value
                    }
                }
            }
        }
        for response in kept.value { response.discard() }
        let counted = Dictionary(ends.all.map { ($0, 1) }, uniquingKeysWith: +)
        // If a response is kept, and nobody ends its exchange, the exchange is still in progress.
        #expect(counted.values.allSatisfy { $0 == 1 })
        // An observer whose call has ended is released, although the app keeps the response.
        await eventually { live.value <= numbers.value - counted.count }
        #expect(live.value <= numbers.value - counted.count)
        kept.change { $0 = [] }
        await eventually { live.value == 0 }
        #expect(ends.all.count == numbers.value)
    }
}
