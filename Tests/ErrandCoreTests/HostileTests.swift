import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

#if canImport(Glibc)
import Glibc
#endif

/// What the documents promise, tried with bad intentions.
@Suite(.timeLimit(.minutes(10))) struct HostileTests {
    private struct Named: HTTPMiddleware {
        let label: String
        var place = MiddlewarePlace.unplaced
        var neighbors: [MiddlewareNeighbor] = []
        var servedPlaces: Set<MiddlewarePlace> = []
        var takesDetours = false
        var passed: Recorder<String>?

        init(
            _ label: String, at place: MiddlewarePlace = .unplaced, _ neighbors: [MiddlewareNeighbor] = [],
            passed: Recorder<String>? = nil
        ) { (self.label, self.place, self.neighbors, self.passed) = (label, place, neighbors, passed) }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            passed?.record(label)
            return try await next.send(request)
        }
    }

    private struct Doing: HTTPMiddleware {
        var label = "doing"
        let work: @Sendable (Request, any HTTPSender) async throws -> Response
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await work(request, next) }
    }

    private struct Observing<Observer: CallObserver>: HTTPMiddleware {
        let make: @Sendable () -> Observer
        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            try await next.send(request, observedBy: make())
        }
    }

    private final class Watching: CallObserver {
        let outcomes: Recorder<CallOutcome>
        init(_ outcomes: Recorder<CallOutcome>) { self.outcomes = outcomes }
        func ended(_ outcome: CallOutcome, at mark: Void) { outcomes.record(outcome) }
    }

    private struct Refusal: Error { var name = "" }

    private static let always = RequestCondition.custom("always") { _ in true }
    private static let never = RequestCondition.custom("never") { _ in false }

    private func ok(_ status: HTTPResponse.Status = .ok) -> StubTransport {
        StubTransport(Stub().responds(.status(status, text: "text"), repeatingLast: true))
    }

    private func lost(_ request: Request?) -> TransportError {
        TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent)
    }

    private func labels(_ stack: HTTPStack) -> [String] { stack.layers.dropLast().map(\.label) }

    private static func response(_ source: ScriptedBodySource) -> Response {
        Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: 2), request: .sample(), exchange: ExchangeLifetime()
        )
    }

    // MARK: Sorted stacks

    /// "sort their layers, in whatever order they are written": no layer of the app may be lost.
    @Test func aConditionalLayerOfTheAppSurvivesALaterOneOfItsPlace() async throws {
        func passed(_ make: (HTTPStack, Recorder<String>) -> HTTPStack) async throws -> [String] {
            let passed = Recorder<String>()
            let start = HTTPStack.ordered(around: ok()) { Named("default", at: .redirect, passed: passed) }
            _ = try await make(start, passed).send(.sample())
            return passed.all
        }
        let first = try await passed {
            $0.wrapped(by: Named("app's, conditional", at: .redirect, passed: $1), when: Self.always)
                .wrapped(by: Named("app's", at: .redirect, passed: $1))
        }
        let second = try await passed {
            $0.wrapped(by: Named("app's", at: .redirect, passed: $1))
                .wrapped(by: Named("app's, conditional", at: .redirect, passed: $1), when: Self.always)
        }
        #expect(Set(first) == Set(second), "the same two modifiers, in two orders")
    }

    @Test func twoDefaultsOfOnePlaceAreNotOneSilently() {
        let stack = HTTPStack.ordered(around: ok()) {
            TimeoutMiddleware(.seconds(1))
            TimeoutMiddleware(.seconds(2))
        }
        #expect(labels(stack).count == 2 || !stack.orderProblems.isEmpty, "\(stack)")
    }

    @Test func nestedConditionsOverADefault() async throws {
        for (outer, inner, expected) in [
            (Self.always, Self.always, "app"), (Self.always, Self.never, "default"), (Self.never, Self.always, "default"),
        ] {
            let passed = Recorder<String>()
            let stack = HTTPStack.ordered(around: ok()) { Named("default", at: .redirect, passed: passed) }
                .wrapped(by: Named("app", at: .redirect, passed: passed), when: outer && inner)
            _ = try await stack.send(.sample())
            #expect(passed.all == [expected])
        }
        let passed = Recorder<String>()
        let stack = HTTPStack.ordered(around: ok()) { Named("default", at: .redirect, passed: passed) }
            .wrapped(by: Named("first", at: .redirect, passed: passed), when: Self.always)
            .wrapped(by: Named("second", at: .redirect, passed: passed), when: Self.never)
        _ = try await stack.send(.sample())
        #expect(passed.all == ["first"], "\(stack)")
    }

    /// A default that serves what its conditional replacement does not: an option is refused, or served.
    @Test func anAlternativeServesWhatBothServe() {
        struct Serving: HTTPMiddleware {
            var place: MiddlewarePlace { .redirect }
            var servedPlaces: Set<MiddlewarePlace> { [.redirect, .timeout] }
            func send(_ request: Request, to next: some HTTPSender) async throws -> Response { try await next.send(request) }
        }
        let stack = HTTPStack.ordered(around: ok()) { Serving() }.wrapped(by: Named("app", at: .redirect), when: Self.always)
        #expect(!stack.obeysTimeout)
    }

    /// A timeout of some requests alone does not excuse the stack from obeying the option for all others.
    @Test func aConditionalTimeoutDoesNotObeyTheOptionOfOthers() async throws {
        let deadlines = Recorder<Bool>()
        let transport = ScriptedTransport { request in
            deadlines.record(request.deadline != nil)
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        for sorted in [false, true] {
            let base = sorted ? HTTPStack.ordered(around: transport) : HTTPStack(transport)
            let stack = base.wrapped(by: TimeoutMiddleware(.seconds(9)), when: Self.never)
            var request = Request.sample()
            request.options.timeout = .use(.seconds(5))
            _ = try await stack.send(request)
        }
        #expect(deadlines.all == [true, true])
    }

    @Test func aTimeoutByRuleIsNoSecondOneAndOneInABaseNeither() {
        let byRule = HTTPStack.ordered(around: ok()).timeout(.seconds(2)).wrapped(by: TimeoutMiddleware(.seconds(1)), inside: .redirect)
        #expect(!byRule.description.contains("another timeout"), "\(byRule)")
        let base = HTTPStack.ordered(around: HTTPStack.ordered(around: ok()).timeout(.seconds(1))).timeout(.seconds(2))
        #expect(!base.description.contains("another timeout"), "\(base)")
    }

    @Test func outsideTheOutermostOfSeveralRules() {
        let rules: [MiddlewareNeighbor] = [.outside(.sign, because: "x"), .outside(.server, because: "x"), .outside(.retry, because: "x")]
        let stack = HTTPStack.ordered(around: ok()).wrapped(by: Named("own", rules)).wrapped(by: Named("s", at: .server))
            .wrapped(by: Named("r", at: .retry))
        #expect(labels(stack) == ["own", "s", "r"])
        let moved = HTTPStack.ordered(around: ok()).wrapped(by: Named("s", at: .server)).wrapped(
            by: Named("r", at: .retry), outside: .server)
        #expect(labels(moved) == ["r", "s"])
    }

    @Test func rulesThatContradictEachOtherAreReportedAndTheStackWorks() async throws {
        let odd: [MiddlewareNeighbor] = [
            .inside(.sign, because: "a"), .outside(.server, because: "b"), .inside(.unplaced, because: "c"),
            .outside(.unplaced, because: "d"),
            .inside(MiddlewarePlace("odd"), because: "self"), .once(because: "e"), .onceWhenOrdered(because: "f"),
        ]
        var stack = HTTPStack.ordered(around: ok())
        for number in 0..<20 {
            stack = stack.wrapped(
                by: Named("\(number)", at: number % 2 == 0 ? MiddlewarePlace("odd") : MiddlewarePlace("odd\(number)"), odd)
            )
            .wrapped(by: Named("s", at: .sign)).wrapped(by: Named("server", at: .server))
        }
        #expect(!stack.orderProblems.isEmpty)
        #expect(try await stack.send(.sample()).status == .ok)
    }

    private static func stack(of count: Int) -> HTTPStack {
        HTTPStack(StubTransport(Stub().responds(.status(.ok), repeatingLast: true))).wrapped {
            for number in 0..<count { Named("\(number)") }
        }
    }

    @Test func aThousandLayersAreReleasedOnASmallStack() async {
        await #expect(processExitsWith: .success) {
            final class Box: Sendable {
                let stack = Mutex<HTTPStack?>(nil)
            }
            let box = Box()
            box.stack.withLock { $0 = Self.stack(of: 1_000) }
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    box.stack.withLock { $0 = nil }
                    continuation.resume()
                }
                thread.stackSize = 512 * 1024
                thread.start()
            }
        }
    }

    // MARK: The call is restored

    /// At each layer, for responses and failures.
    @Test(arguments: [false, true]) func theCallIsRestoredAtEachLayer(fails: Bool) async throws {
        struct Sink: EventSink { func record(_ event: ExchangeEvent) {} }
        let problems = Recorder<String>()
        @Sendable func check(_ found: Request?, _ wanted: Request, _ layer: String) {
            guard let found else { return }
            if found.deadline?.remaining.rounded != wanted.deadline?.remaining.rounded { problems.record("\(layer): deadline") }
            if (found.options.eventSink == nil) != (wanted.options.eventSink == nil) { problems.record("\(layer): sink") }
            if found.options.call.hasEntered != wanted.options.call.hasEntered { problems.record("\(layer): hasEntered") }
            if found.options.call.hasAttemptDeadline != wanted.options.call.hasAttemptDeadline { problems.record("\(layer): attempt") }
            if (found.options.call.observation == nil) != (wanted.options.call.observation == nil) {
                problems.record("\(layer): observation")
            }
        }
        let transport = ScriptedTransport { request in
            if fails { throw TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent) }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        func layer(_ name: String) -> Doing {
            Doing(label: name) { request, next in
                var changed = request
                changed.deadline = Deadline(after: .seconds(Int64.random(in: 1_000...9_000)))
                changed.options.eventSink = Bool.random() ? Sink() : nil
                changed.options.call.hasAttemptDeadline.toggle()
                do {
                    let response = try await next.send(changed)
                    check(response.request, changed, name)
                    return response
                } catch {
                    check((error as? any RequestFailure)?.request, changed, name)
                    throw error
                }
            }
        }
        let outcomes = Recorder<CallOutcome>()
        let stack = HTTPStack(transport).wrapped(by: layer("1")).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .wrapped(by: layer("2")).wrapped(by: Observing { Watching(outcomes) }).wrapped(by: layer("3")).redirect()
            .validate(ResponseValidator("any") { _, _, _ in .next }).fallback(statuses: [503]) { _, _ in nil }.timeout(.seconds(100))
        var request = Request.sample()
        request.options.timeout = .use(.seconds(50))
        for _ in 0..<50 {
            do { check(try await stack.send(request).request, request, "app") } catch {
                check((error as? any RequestFailure)?.request, request, "app, failure")
                // What was sent earlier in the call is the same call.
                for attempt in (error as? any RequestFailure)?.attempts ?? [] {
                    if case .failure(let error as any RequestFailure) = attempt.outcome { check(error.request, request, "app, attempt") }
                }
            }
        }
        #expect(Set(problems.all) == [])
        #expect(outcomes.all.count == 50)
    }

    /// The failures in `attempts` must not keep the call: its observers, its sink and its deadline.
    @Test func nothingOfTheObserverIsKeptByTheErrorOfTheCall() async throws {
        weak var observer: Watching?
        let outcomes = Recorder<CallOutcome>()
        let transport = ScriptedTransport { throw TransportError(.connectionLost, phase: .response, request: $0, delivery: .notSent) }
        let made = Mutex<[Watching]>([])
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .wrapped(
                by: Observing {
                    let observer = Watching(outcomes)
                    made.withLock { $0.append(observer) }
                    return observer
                })
        let error = try await transportError { try await stack.send(.sample()) }
        observer = made.withLock { $0.removeLast() }
        #expect(outcomes.all.count == 1 && error.attempts.count >= 1)
        #expect(observer == nil, "an error that the app keeps holds the observer of the call, by the request of an attempt")
        withExtendedLifetime(error) {}
    }

    /// "Sending such a request again begins a new call."
    @Test func theRequestOfAnAttemptBeginsANewCall() async throws {
        let transport = ScriptedTransport { throw TransportError(.connectionLost, phase: .response, request: $0, delivery: .notSent) }
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil).timeout(.seconds(100))
        var request = Request.sample()
        request.options.timeout = .use(.seconds(50))
        let error = try await transportError { try await stack.send(request) }
        guard case .failure(let first as TransportError) = error.attempts.first?.outcome else {
            Issue.record("no attempt")
            return
        }
        #expect(error.request?.options.call.hasEntered == false && error.request?.deadline == nil)
        #expect(first.request?.options.call.hasEntered == false && first.request?.deadline == nil)
    }

    // MARK: Observers

    /// Two calls that share an exchange are two calls: each ends when its own value was decoded.
    @Test(arguments: [false, true]) func typedCallsThatShareAnExchangeEndByThemselves(observesInside: Bool) async throws {
        let (inner, outer) = (Recorder<CallOutcome>(), Recorder<CallOutcome>())
        let (arrived, gate) = (Watched(0), Gate())
        let transport = ScriptedTransport { request in
            await gate.passed()
            return Response(head: HTTPResponse(status: .ok), data: Data("text".utf8), request: request)
        }
        var stack = HTTPStack(transport)
        if observesInside { stack = stack.wrapped(by: Observing { Watching(inner) }) }
        let coalesce = CoalesceMiddleware()
        stack = stack.wrapped(by: coalesce).wrapped(by: Observing { Watching(outer) })
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
                await secondMayEnd.wait()
                throw Refusal()
            }
        }
        try await poll("two callers", value: { coalesce.state.callers }) { $0 == 2 }
        gate.open()
        _ = try await first.value
        firstIsRead.fire()
        #expect(outer.all.count == 1, "the second call is still being decoded (observer inside: \(observesInside))")
        secondMayEnd.fire()
        _ = try? await second.value
        #expect(outer.all.count == 2)
        #expect(outer.all.filter { $0.failure is Refusal }.count == 1, "the second call failed while it was decoded")
        #expect(inner.all.count == (observesInside ? 1 : 0))
    }

    /// Of two calls that share a refused response, the one that throws its own away does not end the other.
    @Test(arguments: [false, true]) func refusedCallsThatShareAnExchangeEndByThemselves(observesInside: Bool) async throws {
        let (outer, gate) = (Recorder<CallOutcome>(), Gate())
        let discarded = Signal()
        let transport = ScriptedTransport { request in
            await gate.passed()
            return Response(head: HTTPResponse(status: .notFound), data: Data("text".utf8), request: request)
        }
        let coalesce = CoalesceMiddleware()
        let impatient = Doing { request, next in
            let response = try await next.send(request)
            if request.options.tags["impatient"] != nil {
                response.discard()
                discarded.fire()
                throw Refusal()
            }
            await discarded.wait()
            return response
        }
        let inner = observesInside ? HTTPStack(transport).wrapped(by: Observing { Quiet(Count()) }) : HTTPStack(transport)
        let stack = inner.wrapped(by: coalesce)
            .wrapped(by: Observing { Watching(outer) }).wrapped(by: impatient).validateStatus()
        let reader = ServiceErrorReader { _ in ServiceError("none") }
        let calls = [true, false].map { isImpatient in
            Task {
                var request = Request.sample()
                if isImpatient { request.options.tags["impatient"] = "yes" }
                return try await stack.value(of: request, serviceErrors: reader) { _ in 1 }
            }
        }
        try await poll("two callers", value: { coalesce.state.callers }) { $0 == 2 }
        gate.open()
        for call in calls { _ = try? await call.value }
        #expect(outer.all.count == 2)
        #expect(outer.all.filter { $0.serviceError != nil }.count == 1, "\(outer.all)")
    }

    /// A response that the app keeps, and whose call is over, keeps no observer.
    @Test(arguments: [false, true], [HTTPResponse.Status.ok, .notFound]) func aResponseKeepsNoObserver(
        retries: Bool, status: HTTPResponse.Status
    ) async throws {
        for how in 0..<4 {
            let made = Mutex<[Quiet]>([])
            let outcomes = Count()
            let transport = ScriptedTransport { request in
                let exchange = how == 3 ? ExchangeLifetime(outcome: .complete) : ExchangeLifetime()
                if how == 0 { exchange.end(.complete) }
                if how == 1 { Task { exchange.end(.failed(Refusal())) } }
                if how == 2 { Task { exchange.end(.complete) } }
                return Response(
                    head: HTTPResponse(status: status), body: ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2), request: request,
                    exchange: exchange)
            }
            let observing = Observing {
                let observer = Quiet(outcomes)
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

    /// A call that was refused inside an observer is over: neither its observer nor its body is kept, once the app has let go of the error.
    @Test(arguments: [true, false]) func nothingIsKeptOfARefusedCall(isRefusedInside: Bool) async throws {
        final class Sink: EventSink {
            let live: Count
            init(_ live: Count) { self.live = live; live.add(1) }
            deinit { live.add(-1) }
            func record(_ event: ExchangeEvent) {}
        }
        let (sinks, observers, ends) = (Count(), Count(), Count())
        final class Counted: CallObserver {
            let (live, ends): (Count, Count)
            init(_ live: Count, _ ends: Count) { (self.live, self.ends) = (live, ends); live.add(1) }
            deinit { live.add(-1) }
            func ended(_ outcome: CallOutcome, at mark: Void) { ends.add(1) }
        }
        // Not a stub, which keeps the requests.
        let transport = ScriptedTransport {
            Response(head: HTTPResponse(status: .notFound), data: Data(repeating: 120, count: 60_000), request: $0)
        }
        let observing = Observing { Counted(observers, ends) }
        let stack =
            isRefusedInside
            ? HTTPStack(transport).validateStatus().wrapped(by: observing).events { _ in Sink(sinks) }
            : HTTPStack(transport).wrapped(by: observing).events { _ in Sink(sinks) }.validateStatus()
        for _ in 0..<200 { await #expect(throws: StatusError.self) { try await stack.send(.sample()) } }
        #expect(ends.value == 200)
        #expect(observers.value == 0, "observers, each with the body of its response")
        #expect(sinks.value == 0, "sinks of events")
    }

    /// "in progress until end, or until the last reference to it goes away": also if the status is refused.
    @Test func theExchangeOfARefusedCallEndsWithItsLastReference() async throws {
        let (ends, inner) = (Count(), Recorder<CallOutcome>())
        let transport = ScriptedTransport { request in
            let exchange = ExchangeLifetime()
            exchange.onEnd { _ in ends.add(1) }
            return Response(head: HTTPResponse(status: .notFound), body: ResponseBody(Data("x".utf8)), request: request, exchange: exchange)
        }
        let stack = HTTPStack(transport).wrapped(by: Observing { Watching(inner) }).validateStatus()
            .wrapped(by: Observing { Quiet(Count()) })
        for _ in 0..<20 { await #expect(throws: StatusError.self) { try await stack.send(.sample()) } }
        #expect(ends.value == 20 && inner.all.count == 20)
    }

    private final class Weak {
        weak var observer: Quiet?
        init(_ observer: Quiet) { self.observer = observer }
    }

    private final class Quiet: CallObserver {
        let ends: Count
        init(_ ends: Count) { self.ends = ends }
        func ended(_ outcome: CallOutcome, at mark: Void) { ends.add(1) }
    }

    /// Sent twice at once inside a call: one end, which is the last event.
    @Test func aRequestThatIsSentTwiceAtOnceHasOneEnd() async throws {
        let outcomes = Recorder<CallOutcome>()
        for _ in 0..<300 {
            let sink = RecordingEventSink()
            let racing = Doing { request, next in
                try await withThrowingTaskGroup(of: Response.self) { group in
                    for _ in 0..<2 { group.addTask { try await next.send(request) } }
                    guard let first = try await group.next() else { throw Refusal() }
                    if Bool.random() { group.cancelAll() }
                    while let late = await group.nextResult() { if case .success(let late) = late { late.discard() } }
                    return first
                }
            }
            let stack = HTTPStack(ok()).wrapped(by: Observing { Watching(outcomes) }).wrapped(by: racing)
                .wrapped(by: Observing { Watching(outcomes) }).events(to: sink)
            _ = try await stack.send(.sample()).body.collect()
            #expect(sink.kinds.filter { $0 == .callEnd }.count == 1 && sink.kinds.last == .callEnd, "\(sink.kinds)")
        }
        #expect(outcomes.all.count == 900)
    }

    /// Exactly one end, in every interleaving.
    @Test func everyCallOfManyHasOneEndAtEachObserver() async throws {
        final class Counting: CallObserver {
            let ends: Recorder<Int>
            let number: Int
            let live: Count
            let alive: Watched<[Int: Int]>
            init(_ ends: Recorder<Int>, _ number: Int, _ live: Count, _ alive: Watched<[Int: Int]>, _ position: Int) {
                (self.ends, self.number, self.live, self.alive) = (ends, number, live, alive)
                live.add(1)
                alive.change { $0[number] = position }
            }
            deinit {
                live.add(-1)
                alive.change { [number] in $0[number] = nil }
            }
            func ended(_ outcome: CallOutcome, at mark: Void) { ends.record(number) }
        }
        let (ends, numbers, live) = (Recorder<Int>(), Count(), Count())
        let transport = ScriptedTransport { request in
            switch Int.random(in: 0..<8) {
            case 0: throw CancellationError()
            case 1: throw TransportError(.connectionLost, phase: .response, request: request, delivery: .notSent)
            case 2: throw Refusal()
            default: break
            }
            let exchange = ExchangeLifetime()
            let source = ScriptedBodySource(["a", "b"], then: Bool.random() ? .end : .failure(Refusal()))
            let how = Int.random(in: 0..<4)
            if how == 0 { exchange.end(.complete) }
            if how == 1 { Task { exchange.end(Bool.random() ? .complete : .failed(Refusal())) } }
            if how == 2 {
                Task {
                    await Task.yield(); exchange.end(.abandoned)
                }
            }
            return Response(
                head: HTTPResponse(status: [.ok, .serviceUnavailable, .notFound].randomElement()!),
                body: ResponseBody(source, expectedLength: 2), request: request, exchange: exchange)
        }
        let alive = Watched<[Int: Int]>([:])
        func observing(_ position: Int) -> Observing<Counting> { Observing { Counting(ends, numbers.add(1), live, alive, position) } }
        let kept = Watched<[Response]>([])
        for sorted in [false, true] {
            let base = sorted ? HTTPStack.ordered(around: transport) : HTTPStack(transport)
            let stack = base.wrapped(by: observing(2)).retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.zero)), budget: nil)
                .wrapped(by: observing(1)).validateStatus().wrapped(by: observing(0))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<3_000 {
                    group.addTask {
                        let call = Task {
                            if number % 2 == 0 {
                                let response = try await stack.send(.sample())
                                if number % 4 == 0 {
                                    var response = response
                                    // What is kept by the failures in it is another test.
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
                                    if number % 3 == 0 { throw Refusal() }
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
        // A response that is kept and whose exchange nobody ends is still in progress.
        #expect(counted.values.allSatisfy { $0 == 1 })
        let ended = alive.value.filter { counted[$0.key] != nil }.values
        let open = alive.value.filter { counted[$0.key] == nil }.values
        print("hostile: not ended by position, from outside", [0, 1, 2].map { position in open.filter { $0 == position }.count })
        print("hostile: ended and alive by position, from outside", [0, 1, 2].map { position in ended.filter { $0 == position }.count })
        do { print("hostile: kept \(kept.value.count), \(numbers.value) observers, \(counted.count) ends, live \(live.value)") }
        try? await Task.sleep(for: .seconds(1))
        // Whoever has ended is not kept: the app keeps responses, not observers.
        #expect(live.value <= numbers.value - counted.count)
        kept.change { $0 = [] }
        await eventually { live.value == 0 }
        #expect(ends.all.count == numbers.value)
    }

    // MARK: Attempts

    private static let still = Response(
        head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource(then: .stall), expectedLength: 2), request: .sample(),
        exchange: ExchangeLifetime())

    /// "No duration is too long to be a deadline." The body does not come meanwhile.
    @Test func aHugeLimitOfReleaseIsALongOneAndNotACrash() async {
        await #expect(processExitsWith: .success) {
            let work = Task { try await Self.still.release(within: .seconds(Int64.max)) }
            try await Task.sleep(for: .milliseconds(300))
            work.cancel()
            _ = try? await work.value
        }
    }

    @Test func aHugeLimitOfHoldIsALongOneAndNotACrash() async {
        await #expect(processExitsWith: .success) {
            let work = Task {
                var response = Self.still
                try await response.hold(within: .seconds(Int64.max))
            }
            try await Task.sleep(for: .milliseconds(300))
            work.cancel()
            _ = try? await work.value
        }
    }

    @Test func aLimitThatIsOverReleasesTheBody() async throws {
        for limit in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            let source = ScriptedBodySource(then: .stall)
            try await Self.response(source).release(within: limit)
            #expect(source.abandonCount == 1)
        }
    }

    @Test func aCancelledHoldReleasesTheBody() async throws {
        let source = ScriptedBodySource(["ab"], then: .stall)
        let kept = Recorder<Response>()
        let holding = Task {
            var response = Response(
                head: HTTPResponse(status: .ok), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
            kept.record(response)
            try await response.hold(within: .seconds(100))
        }
        await source.reachedEnding.wait()
        holding.cancel()
        await #expect(throws: CancellationError.self) { try await holding.value }
        #expect(source.abandonCount == 1)
        withExtendedLifetime(kept) {}
    }

    @Test func aHugeLimitHoldsTheBody() async throws {
        var held = Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2), request: .sample(),
            exchange: ExchangeLifetime())
        try await held.hold(within: .seconds(100 * 365 * 86_400))
        #expect(try await held.body.collect() == Data("ab".utf8))
    }

    @Test func hugeDurationsEverywhere() async {
        await #expect(processExitsWith: .success) {
            let transport = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
            for long in [Duration.seconds(Int64.max), .nanoseconds(Int64.max)] {
                let stack = HTTPStack(transport).phaseTimeouts(connect: long, firstByte: long, idleRead: long, attempt: long)
                    .fallback(to: transport, deadlineShare: 0.999_999_999).timeout(long)
                _ = try await stack.send(.sample()).body.collect()
            }
            for odd in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .seconds(-1)] {
                var request = Request.sample()
                request.options.timeout = .use(odd)
                request.options.attemptTimeout = .use(odd)
                _ = try? await HTTPStack(transport).fallback(to: transport).send(request)
            }
            try await Request.sample().wait(for: .seconds(Int64.min))
        }
    }

    @Test func aCountOfAttemptsDoesNotTrap() async {
        await #expect(processExitsWith: .success) {
            var request = Request.sample()
            request.options.resendCount = Int.max
            request.countResend(after: .failure(Refusal()))
        }
    }

    /// Each body is released once, whatever it is.
    @Test func eachBodyIsReleasedOnce() async throws {
        enum How: CaseIterable { case release, discard, hold, holdAndDiscard, followUp, statusError, drop, discardTwice }
        enum Kind: CaseIterable { case short, failing, stalled, huge, lying, unknown }
        for kind in Kind.allCases {
            for how in How.allCases {
                let source: ScriptedBodySource
                let length: Int64?
                switch kind {
                case .short: (source, length) = (ScriptedBodySource(["ab"]), 2)
                case .failing: (source, length) = (ScriptedBodySource(["ab"], then: .failure(Refusal())), 4)
                case .stalled: (source, length) = (ScriptedBodySource(["ab"], then: .stall), 4)
                case .huge:
                    (source, length) = (ScriptedBodySource(Array(repeating: String(repeating: "x", count: 40_000), count: 40)), 1_600_000)
                case .lying: (source, length) = (ScriptedBodySource(Array(repeating: String(repeating: "x", count: 40_000), count: 40)), 1)
                case .unknown: (source, length) = (ScriptedBodySource(["ab"]), nil)
                }
                do {
                    var response = Response(
                        head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: length), request: .sample(),
                        exchange: ExchangeLifetime())
                    switch how {
                    case .release: try await response.release(within: .milliseconds(20))
                    case .discard: response.discard()
                    case .discardTwice:
                        response.discard()
                        response.discard()
                        try await response.release(within: .milliseconds(20))
                    case .hold: try await response.hold(within: .milliseconds(20))
                    case .holdAndDiscard:
                        try await response.hold(within: .milliseconds(20))
                        response.discard()
                    case .followUp:
                        var attempts = CallAttempts()
                        _ = try await attempts.followUp(with: .sample(), after: .success(response))
                    case .statusError: if kind != .stalled { _ = try await StatusError(reading: response) }
                    case .drop: break
                    }
                    if [.holdAndDiscard, .discard, .release].contains(how) {
                        await #expect(throws: (any Error).self) { try await response.body.collect() }
                    }
                }
                let readsAll = source.unreadCount == 0 && source.abandonCount == 0
                #expect(source.abandonCount == 1 || readsAll, "\(kind) \(how): abandoned \(source.abandonCount) times")
                #expect(source.abandonCount <= 1, "\(kind) \(how)")
            }
        }
    }

    /// What is held is the body, or ends with an error: never a part that looks whole.
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072]) func aHeldBodyIsWholeOrFails(count: Int) async throws {
        for pieces in [1, 7, 65_536] {
            var texts: [String] = []
            var left = count
            while left > 0 {
                texts.append(String(repeating: "x", count: min(left, max(1, count / pieces))))
                left -= texts.last?.count ?? 1
                if texts.count > 2_000 { break }
            }
            let sent = texts.reduce(0) { $0 + $1.count }
            let source = ScriptedBodySource(texts)
            var response = Response(
                head: HTTPResponse(status: .unauthorized), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
            try await response.hold(within: .seconds(20))
            let data = try? await response.body.collect()
            #expect(sent <= 65_536 ? data?.count == sent : data == nil, "\(sent) in \(texts.count) pieces: \(data?.count ?? -1)")
        }
    }

    /// A count of attempts that layers inside have made is not lost.
    @Test func theCountOfAttemptsIsThatOfAllLayers() async throws {
        let counts = Recorder<Int>()
        let transport = ScriptedTransport { request in
            counts.record(request.options.resendCount)
            return Response(head: HTTPResponse(status: .serviceUnavailable), request: request)
        }
        let stack = HTTPStack(transport).retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
            .validate(ResponseValidator("again") { _, _, retries in retries < 2 ? .retry(.constant(.zero), atMost: 2) : .next })
        let response = try await stack.send(.sample())
        #expect(counts.all == [0, 1, 2, 3, 4, 5])
        #expect(response.metadata.attempts.map(\.number) == [1, 2, 3, 4, 5])
    }

    // MARK: Another origin

    @Test func nothingSecretCrossesOrigins() throws {
        let secret = "s3cret"
        let names = [
            "Authorization", "authorization", "AUTHORIZATION", "Proxy-Authorization", "Cookie", "cookie", "Set-Cookie", "X-Auth-Token",
            "X-API-Key",
            "x-api-key", "Api-Key", "X-Amz-Security-Token", "X-CSRF-Token", "X-Xsrf-Token", "X-Goog-IAP-JWT-Assertion", "X-Session-Id",
            "X-Access-Token", "X-Client-Secret", "X-Vault-Token", "Private-Token", "X-Password", "WWW-Authenticate", "Referer", "Origin",
            "Host",
            "DPoP", "X-Shopify-Access-Token", "Ocp-Apim-Subscription-Key",
            "Authentication-Info", "X-Forwarded-Access-Token", "X-Passphrase",
        ]
        var kept: [String] = []
        for target in [
            "https://b.example/", "http://a.example/", "https://a.example:444/", "https://a.example./", "https://sub.a.example/",
        ] {
            for name in names {
                for isFallback in [false, true] {
                    guard let field = HTTPField.Name(name) else { continue }
                    var request = try Request(.get, url: "https://a.example/x")
                    if isFallback { request.options.fallbackHeaders[field] = secret } else { request.headers[field] = secret }
                    request.options.credentialIdentity = CredentialIdentity(scheme: "x", secret)
                    try request.move(to: HTTPURL(target), from: Origin("https://a.example"))
                    if request.completedFields.contains(where: { $0.value.contains(secret) }) { kept.append("\(name) to \(target)") }
                    #expect(request.options.credentialIdentity == nil && request.options.hasLeftOrigin)
                }
            }
        }
        #expect(Set(kept) == [])
        for same in ["https://A.EXAMPLE/", "https://a.example:443/y"] {
            var request = try Request(.get, url: "https://a.example/x")
            request.headers[.authorization] = secret
            try request.move(to: HTTPURL(same), from: Origin("https://a.example"))
            #expect(request.headers[.authorization] == secret)
        }
    }

    /// A secret that a layer inside has declared is hidden in what is said of the hops.
    @Test func aDeclaredSecretIsHiddenInTheNextURL() async throws {
        let transport = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "https://b.example/y?sesame=s3cret")), Stub().responds(.status(.ok)))
        let declaring = Doing { request, next in
            var request = request
            request.options.sensitivity.formUnion(Sensitivity(fields: [HTTPField.Name](), queryNames: ["sesame"]))
            return try await next.send(request)
        }
        let response = try await HTTPStack(transport).wrapped(by: declaring).redirect().send(.sample("/x"))
        let shown = "\(response.metadata.redirects)" + response.metadata.redirects.map { $0.from + $0.to }.joined()
        #expect(!shown.contains("s3cret"))
    }

    // MARK: Sinks

    private final class Telling: BodySink {
        let told = Recorder<String>()
        let failsAt: Int
        let count = Count()
        init(failsAt: Int = .max) { self.failsAt = failsAt }
        func write(_ chunk: Data) async throws {
            told.record("write")
            await Task.yield()
            if count.add(1) >= failsAt { throw Refusal() }
        }
        func finish(trailers: HTTPFields?) async throws {
            told.record("finish")
            await Task.yield()
            if failsAt == 0 { throw Refusal() }
        }
        func abandon(_ end: ExchangeLifetime.Outcome) { told.record("abandon") }
    }

    /// "finish: Called once, and not after abandon. abandon: Called once, and not after finish has begun." One of the two always comes.
    @Test func aSinkGetsOneEnd() async throws {
        let problems = Recorder<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3_000 {
                group.addTask {
                    let sink = Telling(failsAt: [0, 1, 2, .max, .max][number % 5])
                    do {
                        let source = ScriptedBodySource(["a", "b", "c"], then: number % 7 == 0 ? .failure(Refusal()) : .end)
                        let body = ResponseBody(source).copied(to: sink)
                        let reading = Task { try await body.collect() }
                        switch number % 4 {
                        case 0: reading.cancel()
                        case 1:
                            await Task.yield()
                            body.abandon()
                        case 2:
                            await Task.yield()
                            await Task.yield()
                            reading.cancel()
                            body.abandon()
                        default: break
                        }
                        _ = try? await reading.value
                    }
                    let ends = sink.told.all.filter { $0 != "write" }
                    if ends.count != 1 { problems.record("\(number % 5) \(number % 7 == 0) \(number % 4): \(sink.told.all)") }
                }
            }
        }
        #expect(Set(problems.all) == [])
    }

    @Test(arguments: ["read", "abandoned", "buffered and read", "dropped", "buffered and dropped"])
    func aSinkOfABodyThatIsUsedLearnsOfIt(how: String) async throws {
        let sink = Telling()
        do {
            let isBuffered = how.hasPrefix("buffered")
            let body = isBuffered ? ResponseBody(Data("ab".utf8)) : ResponseBody(ScriptedBodySource(["ab"]))
            if how.hasSuffix("read") { _ = try await body.collect() }
            if how == "abandoned" { body.abandon() }
            let copied = body.copied(to: sink)
            if !how.hasSuffix("dropped") { _ = try? await copied.collect() }
        }
        #expect(sink.told.all.filter { $0 != "write" }.count == 1, "\(sink.told.all)")
    }

    // MARK: Files

    private static let quick: FileCalls = {
        var calls = FileCalls.system
        calls.synchronize = { _ in 0 }
        return calls
    }()

    /// "The owner of the file alone can read it (mode 0600)."
    @Test func aJournalThatOthersMayReadIsMadePrivateOrRefused() throws {
        let folder = try TestFolder("hostile")
        let path = try folder.write(Data("ERRJRNL1".utf8), to: "journal")  // 0644
        let journal = try? JournalFile(path: path, calls: Self.quick)
        try journal?.append(Data("private".utf8))
        let mode = try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        #expect(journal == nil || mode & 0o077 == 0, "mode \(String(mode, radix: 8))")
    }

    @Test func aJournalAtEveryLengthAndWithEveryOctetChangedIsAPrefix() throws {
        let folder = try TestFolder("hostile")
        let path = folder.file("journal")
        let records = [Data(), Data("a".utf8), Data("ERRJRNL1".utf8), Data(repeating: 0, count: 40), Data(repeating: 255, count: 9)]
        do {
            let journal = try JournalFile(path: path, calls: Self.quick)
            for record in records { try journal.append(record) }
        }
        let whole = try folder.read("journal")
        for length in 0...whole.count {
            try folder.write(whole.prefix(length), to: "journal")
            let journal = try JournalFile(path: path, calls: Self.quick)
            #expect(journal.openedRecords == Array(records.prefix(journal.openedRecords.count)))
            let count = journal.openedRecords.count
            try journal.append(Data("next".utf8))
            journal.close()
            let again = try JournalFile(path: path, calls: Self.quick)
            #expect(again.openedRecords == records.prefix(count) + [Data("next".utf8)] && again.droppedBytes == 0)
        }
        for index in whole.indices {
            var changed = whole
            changed[index] ^= UInt8.random(in: 1...255)
            try folder.write(changed, to: "journal")
            guard let journal = try? JournalFile(path: path, calls: Self.quick) else {
                #expect(index < 8)
                continue
            }
            #expect(index >= 8 && journal.openedRecords == Array(records.prefix(journal.openedRecords.count)))
        }
    }

    @Test func lengthsThatLieAllocateNothing() throws {
        let folder = try TestFolder("hostile")
        for length in [UInt32.max, UInt32.max - 7, 1 << 31, 1 << 30] {
            var data = Data("ERRJRNL1".utf8)
            withUnsafeBytes(of: length.littleEndian) { data += $0 }
            data += Data(repeating: 0, count: 12)
            try folder.write(data, to: "journal")
            let journal = try JournalFile(path: folder.file("journal"), calls: Self.quick)
            #expect(journal.openedRecords.isEmpty && journal.droppedBytes == 16 && journal.lengthBytes == 8)
        }
    }

    @Test func aFileThatIsNoneIsRefused() throws {
        let folder = try TestFolder("hostile")
        let target = try folder.write("ERRJRNL1", to: "target")
        let link = folder.file("link")
        #expect(symlink(target, link) == 0)
        #expect(throws: FileWriteError.self) { try JournalFile(path: link, calls: Self.quick) }
        for opening in [PartialFile.Opening.new, .existing, .either] {
            #expect(throws: FileWriteError.self) { try PartialFile(path: link, opening) }
            #expect(throws: FileWriteError.self) { try PartialFile(path: folder.path, opening) }
        }
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileWriteError.self) { try JournalFile(path: pipe, calls: Self.quick) }
        // A link where the replacement is written must not lead elsewhere.
        let path = folder.file("journal")
        let journal = try JournalFile(path: path, calls: Self.quick)
        #expect(symlink(target, path + ".new") == 0)
        try journal.replace(with: [Data("x".utf8)])
        #expect(try folder.read("target") == Data("ERRJRNL1".utf8))
        #expect(try JournalFile(path: path, calls: Self.quick).openedRecords == [Data("x".utf8)])
    }

    @Test func aRecordOfManyGigabytesIsRefused() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder("hostile")
            let journal = try JournalFile(path: folder.file("journal"))
            let huge = Data(count: 5 << 30)  // never written, so it takes no memory
            do { try journal.append(huge); exit(3) } catch {}
            do { try journal.replace(with: [huge]); exit(4) } catch {}
            guard !journal.hasRoom(for: .max), journal.hasRoom(for: .min) else { exit(5) }
        }
    }

    @Test func theLimitOfAJournalHoldsForReplacementsToo() throws {
        let folder = try TestFolder("hostile")
        let journal = try JournalFile(path: folder.file("journal"), limitBytes: 64, calls: Self.quick)
        try journal.append(Data("old".utf8))
        #expect(throws: FileWriteError.self) { try journal.replace(with: [Data(count: 49)]) }
        #expect(try JournalFile(path: folder.file("journal"), calls: Self.quick).openedRecords == [Data("old".utf8)])
        try journal.replace(with: [Data(count: 48)])
    }

    /// A write that fails, on a disk that also refuses to remove what came of it.
    @Test func aTornFrameIsRemovedBeforeTheNextRecord() throws {
        let folder = try TestFolder("hostile")
        let isBroken = Mutex(false)
        var calls = Self.quick
        calls.writeAt = { descriptor, bytes, offset in
            guard isBroken.withLock({ $0 }) else { return FileCalls.system.writeAt(descriptor, bytes, offset) }
            if bytes.count > 9 { return FileCalls.system.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<9]), offset) }
            return -Int(EIO)
        }
        calls.truncate = { isBroken.withLock { $0 } ? EIO : FileCalls.system.truncate($0, $1) }
        let journal = try JournalFile(path: folder.file("journal"), calls: calls)
        try journal.append(Data("first".utf8))
        isBroken.withLock { $0 = true }
        #expect(throws: FileWriteError.self) { try journal.append(Data(repeating: 7, count: 30)) }
        isBroken.withLock { $0 = false }
        try journal.append(Data("x".utf8))
        journal.close()
        let again = try JournalFile(path: folder.file("journal"), calls: calls)
        #expect(again.openedRecords == [Data("first".utf8), Data("x".utf8)] && again.droppedBytes == 0)
    }

    @Test func aPartialFileSurvivesOddNumbers() throws {
        let folder = try TestFolder("hostile")
        let file = try PartialFile(path: folder.file("part"), .new)
        for offset in [Int64.max, Int64.max - 1, -1, .min] {
            #expect(throws: FileWriteError.self) { try file.write(Data("ab".utf8), at: offset) }
        }
        for length in [Int64.max, -1, .min] { #expect(throws: FileWriteError.self) { try file.truncate(to: length) } }
        #expect(try file.read(count: 10, at: 1 << 40).isEmpty && file.lengthBytes() == 0)
        #expect(throws: FileWriteError.self) { try file.read(count: 10, at: -1) }
        file.close()
        file.close()
        #expect(throws: FileWriteError.self) { try file.write(Data("a".utf8), at: 0) }
        for path in ["", "a\0b", folder.path + "/none/x"] { #expect(throws: FileWriteError.self) { try PartialFile(path: path, .either) } }
    }

    @Test func aJournalThatManyThreadsUseIsWhole() async throws {
        let folder = try TestFolder("hostile")
        let journal = try JournalFile(path: folder.file("journal"), calls: Self.quick)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    try? journal.append(Data("\(number)".utf8), synchronizes: number % 2 == 0)
                    if number % 17 == 0 { try? journal.replace(with: [Data("replaced".utf8)]) }
                    if number % 5 == 0 { try? journal.synchronize() }
                }
            }
        }
        let length = journal.lengthBytes
        journal.close()
        let again = try JournalFile(path: folder.file("journal"), calls: Self.quick)
        #expect(again.droppedBytes == 0 && again.lengthBytes == length && again.openedRecords.first == Data("replaced".utf8))
    }

    // MARK: Single flights

    @Test func flightsUnderCancellation() async throws {
        let flights = SingleFlight<Int, Int>()
        let (running, most) = (Count(), Watched(0))
        let problems = Recorder<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4_000 {
                group.addTask {
                    let key = number % 5
                    let caller = Task {
                        try await flights.run(key, mustFinish: number % 3 == 0) {
                            let now = running.add(1)
                            defer { running.add(-1) }
                            most.change { $0 = max($0, now) }
                            for _ in 0..<Int.random(in: 0..<5) { await Task.yield() }
                            if number % 7 == 0 { throw Refusal() }
                            return key
                        }
                    }
                    if number % 2 == 0 {
                        for _ in 0..<Int.random(in: 0..<4) { await Task.yield() }
                        caller.cancel()
                    }
                    if number % 501 == 0 { flights.cancelAll(where: { $0 == key }) }
                    switch await caller.result {
                    case .success(let value): if value != key { problems.record("\(value) for \(key)") }
                    case .failure(let error):
                        if !(error is CancellationError || error is Refusal) { problems.record("\(error)") }
                    }
                }
            }
        }
        try await flights.drained()
        #expect(flights.count == 0 && problems.all == [])
        await eventually { running.value == 0 }
    }

    /// Whoever waits for the flights to end goes on when the last one was given up or cancelled.
    @Test(arguments: [false, true]) func drainedReturnsWhenTheLastCallerLeaves(cancelsAll: Bool) async throws {
        let flights = SingleFlight<Int, Int>()
        let begun = Signal()
        let caller = Task {
            try await flights.run(1) {
                begun.fire(); try await untilCancelled()
            }
        }
        await begun.wait()
        let drained = Watched(false)
        let waiting = Task {
            try await flights.drained()
            drained.change { $0 = true }
        }
        for _ in 0..<100 { await Task.yield() }
        if cancelsAll { flights.cancelAll() } else { caller.cancel() }
        try await drained.wait(upTo: .seconds(10)) { $0 }
        _ = try? await (caller.value, waiting.value)
    }

    /// Work whose callers have all left before its task was stored is cancelled.
    @Test func workThatNobodyAwaitsIsCancelled() async throws {
        let running = Count()
        for _ in 0..<3_000 {
            let flights = SingleFlight<Int, Int>()
            let caller = Task {
                try await flights.run(1) {
                    running.add(1)
                    defer { running.add(-1) }
                    try await untilCancelled()
                }
            }
            if Bool.random() { await Task.yield() }
            caller.cancel()
            _ = try? await caller.value
        }
        await eventually { running.value == 0 }
    }

    // MARK: Tables

    @Test func aTableAgreesWithAModelWhateverTheWeights() {
        struct Value: Sendable { var weight: Int; var pinned: Bool }
        for limit in [0, 1, 10, 1 << 60] {
            var table = BoundedTable<Int, Value>(limit: 8, weightLimit: limit, weight: { $0.weight }, isPinned: { $0.pinned })
            var order: [(key: Int, value: Value)] = []
            for _ in 0..<5_000 {
                let key = Int.random(in: 0..<14)
                let value = Value(weight: [0, 1, 3, 9, .max, .min, 1 << 60].randomElement()!, pinned: Int.random(in: 0..<4) == 0)
                if Int.random(in: 0..<5) == 0 {
                    table.removeValue(forKey: key)
                    order.removeAll { $0.key == key }
                } else {
                    table.update(key, default: value) { $0 = value }
                    order.removeAll { $0.key == key }
                    order.append((key, value))
                    func counted(_ value: Value) -> Int { value.pinned ? 0 : min(max(0, value.weight), limit + 1) }
                    while order.filter({ !$0.value.pinned }).count > 8 || order.reduce(0, { $0 + counted($1.value) }) > limit,
                        let oldest = order.firstIndex(where: { !$0.value.pinned }), oldest != order.count - 1
                    {
                        order.remove(at: oldest)
                    }
                    #expect(table.totalWeight == order.reduce(0) { $0 + counted($1.value) })
                }
                #expect(table.count == order.count && order.allSatisfy { table[$0.key]?.weight == $0.value.weight })
            }
        }
    }

    // MARK: Needs

    private enum NeedyKey: OptionKey {
        static var defaultValue: OptionOverride<Int> { .inherited }
        static var needs: Capabilities { [.trailers, .networkAccess] }
    }

    @Test func whatATransportLacksIsRefusedByNameInEveryForm() async throws {
        let lacking = ScriptedTransport(capabilities: [.trailers]) { Response(head: HTTPResponse(status: .ok), request: $0) }
        let having = ScriptedTransport(capabilities: [.trailers, .networkAccess]) { Response(head: HTTPResponse(status: .ok), request: $0) }
        func stacks(_ transport: ScriptedTransport) -> [HTTPStack] {
            [
                HTTPStack(transport), HTTPStack.ordered(around: transport),
                HTTPStack.ordered(around: HTTPStack(transport).retry()).redirect(),
                HTTPStack.ordered(around: HTTPStack.ordered(around: transport)).keepingOrder, HTTPStack(HTTPStack(transport)),
            ]
        }
        var request = Request.sample()
        request.options[NeedyKey.self] = .use(1)
        for stack in stacks(lacking) {
            let error = try await failure(UnservedOptionError.self) { try await stack.send(request) }
            #expect("\(error)".contains("networkAccess") && !"\(error)".contains("trailers"), "\(error)")
        }
        for stack in stacks(having) { #expect(try await stack.send(request).status == .ok) }
        for unset in [OptionOverride<Int>.inherited, .off] {
            request.options[NeedyKey.self] = unset
            for stack in stacks(lacking) { #expect(try await stack.send(request).status == .ok) }
        }
    }

    // MARK: Validators

    /// A request that a validator sends in between obeys the deadline of the call.
    @Test func theRequestInBetweenObeysTheDeadlineOfTheCall() async throws {
        let deadlines = Recorder<Bool>()
        let transport = ScriptedTransport { request in
            deadlines.record(request.deadline != nil)
            return Response(head: HTTPResponse(status: .accepted), request: request)
        }
        let stack = HTTPStack(transport).validate(
            ResponseValidator("renew") { _, _, retries in retries == 0 ? .retryAfterSending(.sample("/renew")) : .next }
        ).timeout(.seconds(30))
        _ = try await stack.send(.sample())
        #expect(deadlines.all == [true, true, true])
    }

    /// The first response is released when the fallback is cancelled.
    @Test func aResponseIsReleasedWhenItsFallbackIsCancelled() async throws {
        let source = ScriptedBodySource(["ab"])
        let kept = Recorder<Response>()
        let transport = ScriptedTransport { request in
            let response = Response(
                head: HTTPResponse(status: .serviceUnavailable), body: ResponseBody(source), request: request, exchange: ExchangeLifetime())
            kept.record(response)
            return response
        }
        let begun = Signal()
        let stack = HTTPStack(transport).fallback(statuses: [503]) { _, _ in
            begun.fire()
            try await untilCancelled()
        }
        let call = Task { try await stack.send(.sample()) }
        await begun.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(source.abandonCount == 1)
        withExtendedLifetime(kept) {}
    }
}

extension Duration {
    /// To ten seconds.
    fileprivate var rounded: Int64 { components.seconds / 10 }
}
