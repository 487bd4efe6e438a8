#if MockServer
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// The shared state of a server: responses, records and connections. The server's tasks hold this object. ``MockServer`` ends the tasks.
final class ServerCore: Sendable {
    typealias Dispatcher = @Sendable (IncomingRequest) async throws -> MockResponse?

    fileprivate struct Waiter {
        let isMet: @Sendable (inout State) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    struct State {
        var queue: [MockResponse] = []
        var dispatchers: [Dispatcher] = []
        var requests: [MockRequest] = []
        /// The number of requests that ``MockServer/nextRequest(within:)`` has returned.
        var taken = 0
        var connectionFaults: [ConnectionFault] = []
        var failures: [String] = []
        var accepted = 0
        var open: [Int: any Channel] = [:]
        var isStopped = false
        fileprivate var waiters: [Int: Waiter] = [:]
        fileprivate var nextWaiter = 0

        var counts: MockServer.Counts {
            MockServer.Counts(
                acceptedConnections: accepted, openConnections: open.count, failedConnections: failures.count, requests: requests.count)
        }
    }

    let configuration: MockServer.Configuration
    private let state = Mutex(State())
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let jobsContinuation: AsyncStream<@Sendable () async -> Void>.Continuation

    init(_ configuration: MockServer.Configuration) {
        self.configuration = configuration
        (jobs, jobsContinuation) = AsyncStream.makeStream()
    }

    /// Runs the jobs of connections and streams, until the task is cancelled and all jobs have ended.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
        }
    }

    func start(_ job: @escaping @Sendable () async -> Void) { jobsContinuation.yield(job) }

    // MARK: - Responses and records

    func with<Result>(_ body: (inout sending State) -> sending Result) -> sending Result { state.withLock(body) }

    /// Changes the state, then resumes the waiters whose condition is now met.
    func change(_ body: (inout State) -> Void) {
        let woken = state.withLock { state in
            body(&state)
            return Self.takeMet(&state)
        }
        for continuation in woken { continuation.resume(returning: true) }
    }

    private static func takeMet(_ state: inout State) -> [CheckedContinuation<Bool, Never>] {
        var woken: [CheckedContinuation<Bool, Never>] = []
        for (id, waiter) in state.waiters.sorted(by: { $0.key < $1.key }) where waiter.isMet(&state) {
            state.waiters[id] = nil
            woken.append(waiter.continuation)
        }
        return woken
    }

    /// Returns the next queued response. If the queue is empty, returns the first response of a dispatcher.
    func response(to request: IncomingRequest) async throws -> MockResponse {
        let (queued, dispatchers) = state.withLock { state -> (MockResponse?, [Dispatcher]) in
            state.queue.isEmpty ? (nil, state.dispatchers) : (state.queue.removeFirst(), [])
        }
        if let queued { return queued }
        for dispatcher in dispatchers {
            if let response = try await dispatcher(request) { return response }
        }
        return .text("the mock server has no response for \(request.method.rawValue) \(request.head.path ?? "")\n", status: .notFound)
    }

    /// Waits until `isMet` returns true. When the condition is met, the closure may change the state. Returns false if the time
    /// has passed or the task was cancelled.
    func wait(within limit: Duration, until isMet: @escaping @Sendable (inout State) -> Bool) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.wait(until: isMet) }
            group.addTask {
                try? await ContinuousClock().sleep(for: limit)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            // The condition may have been met just when the time ran out.
            let second = await group.next() ?? false
            return first || second
        }
    }

    private func wait(until isMet: @escaping @Sendable (inout State) -> Bool) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Bool? in
                    if isMet(&state) { return true }
                    if Task.isCancelled { return false }
                    state.waiters[id] = Waiter(isMet: isMet, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
    }

    // MARK: - Connections

    /// Records an accepted connection, and returns the connection's number and its fault. Returns `nil` if the server has stopped.
    func accept(_ channel: any Channel) -> (index: Int, fault: ConnectionFault?)? {
        var accepted: (index: Int, fault: ConnectionFault?)?
        change { state in
            guard !state.isStopped else { return }
            accepted = (state.accepted, state.connectionFaults.isEmpty ? nil : state.connectionFaults.removeFirst())
            state.open[state.accepted] = channel
            state.accepted += 1
        }
        guard let index = accepted?.index else { return nil }
        channel.closeFuture.whenComplete { _ in self.change { $0.open[index] = nil } }
        return accepted
    }

    func connectionFailed(_ error: any Error) { change { $0.failures.append("\(error)") } }

    /// Rejects further connections, and returns the open channels.
    func stop() -> [any Channel] {
        var open: [any Channel] = []
        change { state in
            state.isStopped = true
            open = Array(state.open.values)
        }
        jobsContinuation.finish()
        return open
    }
}
#endif
