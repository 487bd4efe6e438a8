public import ErrandCore
internal import Synchronization

/// A gate at which calls wait while the device has no network. Several stacks may share a gate.
///
/// ```swift
/// let gate = NetworkGate(.system)
/// let stack = HTTPStack.default.waitForNetwork(upTo: .seconds(30), at: gate).retry(.standard.waitingForNetwork(at: gate))
/// // In a view model:
/// for await count in gate.waitingCounts() { banner = count == 0 ? nil : "Waiting for a network." }
/// ```
///
/// When a network path is available again, the waiting calls continue by ``/ErrandCore/RequestPriority``, then first in, first out. Up to
/// six calls continue immediately. If more than six calls wait, the other calls continue in groups of at most six, spread evenly over the
/// next 250 ms. If a group is late, for example because thousands of calls wait, the next groups continue without a pause. If the path is
/// lost again, the remaining calls wait until a path is available. While the path is satisfied, a new call does not wait. Calls to this
/// machine (such as `localhost` and `127.0.0.1`) never wait.
public final class NetworkGate: Sendable, CustomStringConvertible {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State: Sendable {
        var queue = WaitQueue<Waiter>()
        /// The ID of the task that watches the path and releases the queued calls; `nil` if no call is queued.
        var watch: Int?
        var lastWatch = 0
    }

    /// The largest number of waiting calls that are released together.
    static let groupSize = 6
    /// The time over which the waiting calls are spread.
    static let spread = Duration.milliseconds(250)

    /// The monitor of the network path.
    public let monitor: any NetworkPathMonitor
    private let clock: any Clock<Duration>
    private let state = Mutex(State())
    private let counts = CurrentValue(0)
    /// The tasks that watch the path, by ID. A task watches the path for all queued calls, and ends when no call is queued.
    private let watches = SingleFlight<Int, Void>()

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - monitor: the monitor of the network path: `.system`, or a monitor of your own.
    ///   - clock: the clock that measures the time between groups of calls.
    public init(_ monitor: some NetworkPathMonitor, clock: any Clock<Duration> = ContinuousClock()) {
        (self.monitor, self.clock) = (monitor, clock)
    }

    /// The current path, for example to choose smaller images: `gate.path.isConstrained`.
    public var path: NetworkPath { monitor.currentPath }

    /// The number of calls that wait for a network now.
    public var waitingCount: Int { counts.value }

    /// The number of waiting calls and the path: `network gate, waiting calls: 2, path: unsatisfied`.
    public var description: String { "network gate, waiting calls: \(waitingCount), path: \(path)" }

    /// Returns a sequence with the number of calls that wait for a network, and with each later change of this number. A slow reader gets
    /// only the newest number. The sequence ends when the gate is released.
    public func waitingCounts() -> AsyncStream<Int> { counts.values() }

    /// Waits until the path is satisfied, and the gate releases the call.
    ///
    /// - Throws: `CancellationError`.
    func wait(for request: Request) async throws {
        try await waitInQueue { (ticket, continuation: Waiter) in
            let (isQueued, begun) = state.withLock { state -> (Bool, Int?) in
                if ticket.isCancelled { return (false, nil) }
                state.queue.append(continuation, lane: request.options.priority.urgency, ticket: ticket)
                counts.set(state.queue.count)
                guard state.watch == nil else { return (true, nil) }
                state.lastWatch += 1
                state.watch = state.lastWatch
                return (true, state.watch)
            }
            guard isQueued else { return .failure(CancellationError()) }
            if let begun {
                // Another task may have removed the waiter before the watching task was registered.
                watches.begin(begun, while: { state.withLock { $0.watch == begun } }) { [self] in await watch(begun) }
            }
            return nil
        } leave: { [self] ticket in
            let (waiter, ended) = state.withLock { state -> (Waiter?, Int?) in
                let waiter = state.queue.cancel(ticket)
                counts.set(state.queue.count)
                return (waiter, state.queue.isEmpty ? state.watch.take() : nil)
            }
            if let ended { watches.cancelAll { $0 == ended } }
            return waiter
        }
    }

    /// Waits until the path is lost, then until a path is available again, and then until the gate releases the call.
    ///
    /// A middleware of your own can end a wait early with this function, as ``RetryPolicy/waitingForNetwork(at:)`` does.
    ///
    /// - Parameter request: the request of the call. The priority of the request determines when its call continues.
    /// - Throws: `CancellationError`.
    public func waitForReturn(for request: Request) async throws {
        for await path in monitor.paths() where !path.isSatisfied { return try await wait(for: request) }
        // The monitor reports no more paths.
        try await Task.sleep(for: .longest)
    }

    // MARK: Watching the path

    /// Releases the waiting calls whenever the path is satisfied. Returns when no call waits, or when another task has taken over.
    private func watch(_ number: Int) async {
        for await path in monitor.paths() where path.isSatisfied {
            if await release(number, while: { monitor.currentPath.isSatisfied }) { return }
        }
        // If the monitor reports no more paths, all waiting calls are released.
        _ = await release(number, while: { true })
    }

    /// Releases the waiting calls in groups, while `isOpen` returns true. Returns whether the watching task must end.
    private func release(_ number: Int, while isOpen: () -> Bool) async -> Bool {
        let pause = Self.pause(for: state.withLock { $0.queue.count })
        let elapsed = makeStopwatch(on: clock)
        // A sleep may take longer than its pause. After a long sleep, the next groups continue without a sleep, so that the spread does not
        // grow.
        var due = Duration.zero
        while true {
            let (group, isOver) = state.withLock { state -> ([Waiter], Bool) in
                guard state.watch == number else { return ([], true) }
                var group: [Waiter] = []
                while group.count < Self.groupSize, let waiter = state.queue.popFirst() { group.append(waiter) }
                counts.set(state.queue.count)
                if state.queue.isEmpty { state.watch = nil }
                return (group, state.queue.isEmpty)
            }
            for waiter in group { waiter.resume() }
            if isOver { return true }
            due += pause
            let wait = due - elapsed()
            if wait > .zero {
                guard (try? await clock.sleep(for: wait)) != nil else { return true }
            } else if Task.isCancelled {
                return true
            }
            if !isOpen() { return false }
        }
    }

    /// Returns the time between two groups, so that all groups begin within ``spread``.
    static func pause(for count: Int) -> Duration { spread / max(1, (count + groupSize - 1) / groupSize) }
}
