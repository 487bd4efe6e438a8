import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandMiddleware

@Suite(.timeLimit(.minutes(5))) struct WaitForNetworkTests {
    private let clock = ManualClock()
    private let network = ScriptedPathMonitor(.unsatisfied)
    /// The number of times that the current path was read.
    private let reads = Counter()
    private let gate: NetworkGate
    private let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))

    private struct CountingMonitor: NetworkPathMonitor {
        let network: ScriptedPathMonitor
        let reads: Counter

        var currentPath: NetworkPath {
            defer { reads.add() }
            return network.currentPath
        }

        func paths() -> AsyncStream<NetworkPath> { network.paths() }
    }

    init() { gate = NetworkGate(CountingMonitor(network: network, reads: reads), clock: clock) }

    private var stack: HTTPStack { stub.waitForNetwork(upTo: .seconds(30), at: gate, clock: clock) }

    /// Starts a call, and returns when it waits.
    private func waiting(_ request: Request, on stack: HTTPStack? = nil) async -> Task<Response, any Error> {
        let (before, stack) = (gate.waitingCount, stack ?? self.stack)
        let task = Task { try await stack.send(request) }
        await eventually { gate.waitingCount > before }
        return task
    }

    private func expectNothingIsLeft() async {
        await eventually { gate.waitingCount == 0 && network.readerCount == 0 && clock.sleeperCount == 0 }
        #expect(gate.waitingCount == 0 && network.readerCount == 0 && clock.sleeperCount == 0)
    }

    // MARK: The wait

    @Test func aCallOfAPhoneInATunnelContinuesWhenTheNetworkReturns() async throws {
        let events = RecordingEventSink()
        let profiled = stack.profile().events(to: events)
        let task = await waiting(try request(), on: profiled)
        #expect(stub.requests.isEmpty && events.kinds == [.callStart, .networkWaitStart])
        network.change(to: .cellular)
        let response = try await task.value
        _ = try await response.body.collect()
        #expect(response.status == .ok && stub.requests.count == 1)
        #expect(events.kinds.prefix(4) == [.callStart, .networkWaitStart, .networkWaitEnd, .start])
        #expect(EventGrammar.violations(events.events) == [])
        // The wait is the own time of the layer.
        let layer = try #require(response.metadata.profile?.layers.first)
        #expect(layer.name == "waitForNetwork(up to 30 s)" && layer.children.count == 1)
        let wait = events.events[1].instant.duration(to: events.events[2].instant)
        #expect(try #require(layer.own) >= wait)
        await expectNothingIsLeft()
    }

    @Test(arguments: [NetworkPath.wifi, .cellular, .unknown]) func aSatisfiedPathCausesNoWait(_ path: NetworkPath) async throws {
        network.change(to: path)
        let events = RecordingEventSink()
        #expect(try await stack.events(to: events).send(try request()).status == .ok)
        #expect(!events.kinds.contains(.networkWaitStart) && network.readerCount == 0)
    }

    @Test func aSatisfiedPathFailsNoRequest() async throws {
        network.change(to: .wifi)
        let offline = TransportError(.notConnected, phase: .connect, request: nil, delivery: .notSent)
        let stub = StubTransport(Stub().responds(.failure(offline), .status(.ok)))
        let stack = stub.waitForNetwork(upTo: .seconds(30), at: gate, clock: clock)
        let error = await #expect(throws: TransportError.self) { try await stack.send(try request()) }
        #expect(error?.code == .notConnected)
        #expect(try await stack.send(try request()).status == .ok)
    }

    @Test func aCallIsSentAnywayAfterTheLimit() async throws {
        let task = await waiting(try request())
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(29_999))
        #expect(gate.waitingCount == 1 && stub.requests.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(try await task.value.status == .ok)
        await expectNothingIsLeft()
    }

    @Test(arguments: [TransportError.Code.cannotFindHost, .cannotConnect], [NetworkPath.unsatisfied, .wifi])
    func aFailureWithoutAPathSaysThatTheDeviceIsOffline(_ code: TransportError.Code, _ path: NetworkPath) async throws {
        let failing = StubSender { [network] request in
            network.change(to: path)
            throw TransportError(code, phase: .connect, message: "no such host", request: request, delivery: .notSent)
        }
        let task = await waiting(try request(), on: failing.waitForNetwork(upTo: .seconds(30), at: gate, clock: clock))
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        let error = try #require(await #expect(throws: TransportError.self) { try await task.value })
        #expect(error.isOffline == !path.isSatisfied && error.isConnectivityError && error.delivery == .notSent)
        #expect(error.code == (path.isSatisfied ? code : .notConnected))
        if !path.isSatisfied {
            #expect(error.errorDescription == "This device is offline.")
            let text = "GET https://a.example/x: not connected: no network path; \(code): no such host (not sent)"
            #expect(error.description == text)
        }
        await expectNothingIsLeft()
    }

    @Test func aPassedDeadlineFailsTheCall() async throws {
        let deadlines = ManualClock()
        var sent = try request()
        sent.deadline = Deadline(after: .seconds(5), clock: deadlines)
        let task = await waiting(sent)
        try await deadlines.sleepers(atLeast: 1)
        deadlines.advance(by: .seconds(5))
        let error = try #require(await #expect(throws: TransportError.self) { try await task.value })
        #expect(error.code == .timedOut && error.phase == .connectivity && error.delivery == .notSent && error.elapsed == .seconds(5))
        #expect(error.isOffline && error.isConnectivityError && error.isTimeout && error.failureNumber == .networkTimedOut)
        #expect(error.description.contains("timed out while waiting for a network after 5 s"))
        #expect(error.errorDescription == "This device was offline for too long." && stub.requests.isEmpty)
        await expectNothingIsLeft()
    }

    @Test func aCancelledCallLeavesTheGate() async throws {
        let (leaving, staying) = (await waiting(try request()), await waiting(try request()))
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        await eventually { gate.waitingCount == 1 }
        #expect(stub.requests.isEmpty)
        network.change(to: .wifi)
        #expect(try await staying.value.status == .ok)
        #expect(stub.requests.count == 1)
        await expectNothingIsLeft()
    }

    /// The call leaves, from another thread, at the moment when its watch is registered.
    @Test func aCallThatLeavesAtOnceLeavesNoWatch() async throws {
        let (stack, request) = (stack, try request())
        for _ in 0..<2_000 {
            let task = Task.detached { try await stack.send(request) }
            for await count in gate.waitingCounts() where count > 0 { break }
            task.cancel()
            _ = await task.result
        }
        await expectNothingIsLeft()
    }

    @Test func theLastCancelledCallEndsTheWatch() async throws {
        let task = await waiting(try request())
        await eventually { network.readerCount == 1 }
        task.cancel()
        _ = await task.result
        await expectNothingIsLeft()
        let next = await waiting(try request())
        network.change(to: .wired)
        #expect(try await next.value.status == .ok)
    }

    @Test func theBodyIsNotReadDuringTheWait() async throws {
        let opened = Counter()
        let body = RequestBody.stream { _ in
            opened.add()
            return ScriptedBodySource(["one"])
        }
        let task = await waiting(try request(.post, body: body))
        #expect(opened.value == 0 && body.canBeSent)
        network.change(to: .wifi)
        #expect(try await task.value.status == .ok)
        #expect(opened.value == 1)
    }

    // MARK: Options

    @Test func anOptionSwitchesTheWaitOff() async throws {
        for option in [OptionOverride<Duration>.off, .use(.zero)] {
            var sent = try request()
            sent.options.waitForNetwork = option
            #expect(try await stack.send(sent).status == .ok)
        }
        #expect(network.readerCount == 0)
    }

    @Test func anOptionChangesTheLimit() async throws {
        var sent = try request()
        sent.options.waitForNetwork = .seconds(2)
        let task = await waiting(sent)
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .seconds(2))
        clock.advance(by: .seconds(2))
        #expect(try await task.value.status == .ok)
    }

    @Test(arguments: ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]/", "http://api.localhost/"])
    func thisMachineCanBeReachedWithoutANetwork(_ url: String) async throws {
        #expect(try await stack.send(Request(.get, url: url)).status == .ok)
        #expect(network.readerCount == 0)
    }

    @Test func aCallWithoutTheLayerDoesNotWait() async throws {
        #expect(try await stub.retry(clock: clock).send(try request()).status == .ok)
        var sent = try request()
        sent.options.waitForNetwork = .seconds(2)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(stub).send(sent) }
    }

    // MARK: Order

    @Test func waitingCallsContinueByPriorityInGroups() async throws {
        let priorities: [RequestPriority] = [.background, .low, .normal, .high, .low, .normal, .high, .normal]
        var tasks: [Task<Response, any Error>] = []
        for (number, priority) in priorities.enumerated() {
            var sent = try Request(.get, url: "https://a.example/\(number)")
            sent.options.priority = priority
            tasks.append(await waiting(sent))
        }
        network.change(to: .wifi)
        // Two groups: six calls now, and two calls after half of 250 ms.
        await eventually { stub.requests.count == 6 }
        #expect(Set(stub.requests.compactMap(\.path)) == ["/3", "/6", "/2", "/5", "/7", "/1"])
        await eventually { clock.nextSleeper == .milliseconds(125) }
        #expect(gate.waitingCount == 2)
        clock.advance(by: .milliseconds(124))
        #expect(gate.waitingCount == 2)
        clock.advance(by: .milliseconds(1))
        for task in tasks { #expect(try await task.value.status == .ok) }
        #expect(stub.requests.count == 8)
        await expectNothingIsLeft()
    }

    @Test func callsContinueOneAfterAnotherByPriority() async throws {
        let (order, executor) = (RecordingList<String>(), QueueExecutor())
        let tasks = Mutex<[Task<Void, any Error>]>([])
        for (number, priority) in [RequestPriority.low, .normal, .high, .normal].enumerated() {
            var sent = try Request(.get, url: "https://a.example/\(number)")
            sent.options.priority = priority
            let task = Task(executorPreference: executor) { [sent] in
                try await gate.wait(for: sent)
                order.record("\(number)")
            }
            tasks.withLock { $0.append(task) }
            await eventually { gate.waitingCount == number + 1 }
        }
        network.change(to: .wifi)
        for task in tasks.withLock({ $0 }) { try await task.value }
        #expect(order.all == ["2", "1", "3", "0"])
    }

    @Test(arguments: [(0, 250), (1, 250), (6, 250), (7, 125), (12, 125), (13, 83), (600, 2)])
    func groupsAreSpreadEvenly(_ count: Int, _ milliseconds: Int) {
        #expect(NetworkGate.pause(for: count) / .milliseconds(1) >= Double(milliseconds))
        #expect(NetworkGate.pause(for: count) / .milliseconds(1) < Double(milliseconds + 1))
    }

    /// A clock on which each sleep takes 5 ms longer than it should.
    private final class LateClock: Clock {
        private let elapsed = Mutex(Duration.zero)
        var now: ManualClock.Instant { ManualClock().now.advanced(by: elapsed.withLock(\.self)) }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            let wait = now.duration(to: deadline)
            elapsed.withLock { $0 += wait + .milliseconds(5) }
        }
    }

    @Test func lateSleepsDoNotMoveTheLastGroup() async throws {
        let late = LateClock()
        let gate = NetworkGate(network, clock: late)
        let calls = try (0..<1_200).map { _ in
            let sent = try request()
            return Task { try await gate.wait(for: sent) }
        }
        await eventually { gate.waitingCount == calls.count }
        let start = late.now
        network.change(to: .wifi)
        for call in calls { try await call.value }
        // 200 groups: each sleep is 5 ms late, and the last group at most one sleep.
        #expect(start.duration(to: late.now) <= NetworkGate.spread + .milliseconds(5))
    }

    @Test func aPathThatIsLostAgainKeepsTheOtherCallsWaiting() async throws {
        var tasks: [Task<Response, any Error>] = []
        for _ in 0..<8 { tasks.append(await waiting(try request())) }
        network.change(to: .wifi)
        await eventually { stub.requests.count == 6 && clock.nextSleeper == .milliseconds(125) }
        network.change(to: .unsatisfied)
        let before = reads.value
        clock.advance(by: .milliseconds(125))
        // The gate has noticed the loss.
        await eventually { reads.value > before }
        #expect(gate.waitingCount == 2 && stub.requests.count == 6)
        network.change(to: .wifi)
        for task in tasks { #expect(try await task.value.status == .ok) }
        await expectNothingIsLeft()
    }

    @Test func callsBeginWithoutAWaitDuringTheRelease() async throws {
        var tasks: [Task<Response, any Error>] = []
        for _ in 0..<8 { tasks.append(await waiting(try request())) }
        network.change(to: .wifi)
        await eventually { stub.requests.count == 6 && clock.nextSleeper == .milliseconds(125) }
        #expect(try await stack.send(try request()).status == .ok)
        #expect(gate.waitingCount == 2)
        clock.advance(by: .milliseconds(125))
        for task in tasks { #expect(try await task.value.status == .ok) }
        await expectNothingIsLeft()
    }

    @Test func aMonitorThatEndsHoldsNoCallBack() async throws {
        struct EndingMonitor: NetworkPathMonitor {
            var currentPath: NetworkPath { .unsatisfied }
            func paths() -> AsyncStream<NetworkPath> { AsyncStream { $0.finish() } }
        }
        let stack = stub.waitForNetwork(upTo: .seconds(30), monitor: EndingMonitor(), clock: clock)
        #expect(try await stack.send(try request()).status == .ok)
    }

    // MARK: Views

    @Test func aViewSeesTheNumberOfWaitingCalls() async throws {
        var counts = gate.waitingCounts().makeAsyncIterator()
        #expect(await counts.next() == 0)
        let task = await waiting(try request())
        #expect(await counts.next() == 1)
        #expect(!gate.path.isSatisfied)
        network.change(to: .cellular)
        _ = try await task.value
        #expect(await counts.next() == 0)
        #expect(gate.path.usesCellular)
    }

    // MARK: Retry

    private let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)

    private func retrying(_ stub: StubTransport) -> HTTPStack {
        let policy = RetryPolicy(backoff: .constant(.seconds(20)), jitter: .none).waitingForNetwork(at: gate)
        return stub.waitForNetwork(upTo: .seconds(30), at: gate, clock: clock).retry(policy, clock: clock)
    }

    @Test func theWaitOfARetryEndsWhenThePathReturns() async throws {
        network.change(to: .wifi)
        let stub = StubTransport(Stub().responds(.failure(lost), .status(.ok)))
        let task = Task { try await retrying(stub).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        await eventually { network.readerCount == 1 }
        #expect(gate.waitingCount == 0)
        network.change(to: .unsatisfied)
        await eventually { gate.waitingCount == 1 }
        #expect(stub.requests.count == 1)
        network.change(to: .wifi)
        #expect(try await task.value.metadata.attempts.count == 1)
        #expect(clock.now.advanced(by: .zero) == ManualClock().now, "no time has passed")
        await expectNothingIsLeft()
    }

    @Test func theAttemptsOfACallShareTheLimit() async throws {
        let stub = StubTransport(Stub().responds(.hostNotFound))
        let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.zero), jitter: .none)
        let stack = stub.waitForNetwork(upTo: .seconds(30), at: gate, clock: clock).retry(policy, budget: nil, clock: clock)
        // Sending the request of the failure again is a new call, which waits again.
        var sent = try request()
        for call in 1...2 {
            let task = await waiting(sent, on: stack)
            try await clock.sleepers(atLeast: 1)
            #expect(clock.nextSleeper == .seconds(30))
            clock.advance(by: .seconds(30))
            let error = try #require(await #expect(throws: TransportError.self) { try await task.value })
            #expect(error.isOffline && error.attempts.count == 2 && stub.requests.count == 3 * call)
            sent = try #require(error.request)
        }
        await expectNothingIsLeft()
    }

    @Test func aLaterAttemptWaitsForTheRestOfTheLimit() async throws {
        let stub = StubTransport(Stub().responds(.connectionLost, .status(.ok)))
        let task = await waiting(try request(), on: retrying(stub))
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(12))
        network.change(to: .wifi)
        // The wait of the retry.
        await eventually { stub.requests.count == 1 && clock.nextSleeper == .seconds(20) }
        network.change(to: .unsatisfied)
        clock.advance(by: .seconds(20))
        await eventually { gate.waitingCount == 1 }
        await eventually { clock.nextSleeper == .seconds(18) }
        clock.advance(by: .seconds(18))
        #expect(try await task.value.status == .ok)
        await expectNothingIsLeft()
    }

    @Test func aSatisfiedPathDoesNotShortenTheWaitOfARetry() async throws {
        network.change(to: .wifi)
        let stub = StubTransport(Stub().responds(.failure(lost), .status(.ok)))
        let task = Task { try await retrying(stub).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        network.change(to: .cellular)
        for _ in 0..<50 { await Task.yield() }
        #expect(stub.requests.count == 1 && clock.nextSleeper == .seconds(20))
        clock.advance(by: .seconds(20))
        #expect(try await task.value.status == .ok)
        await expectNothingIsLeft()
    }

    @Test func theWaitAfterAStatusIsNotShortened() async throws {
        network.change(to: .wifi)
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let task = Task { try await retrying(stub).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(network.readerCount == 0)
        clock.advance(by: .seconds(20))
        #expect(try await task.value.status == .ok)
    }

    @Test func aCancelledRetryLeavesTheGate() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost), .status(.ok)))
        var sent = try request()
        sent.options.waitForNetwork = .off
        let task = Task { [sent] in try await retrying(stub).send(sent) }
        await eventually { gate.waitingCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await expectNothingIsLeft()
    }

    @Test func theDescriptionNamesTheEarlyEnd() {
        #expect(RetryPolicy.standard.waitingForNetwork(at: gate).description.hasSuffix(", sooner if the network returns"))
    }
}
