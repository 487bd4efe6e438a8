internal import Dispatch
internal import ErrandTesting
internal import Synchronization

/// A value that one side changes and another waits for, so that no test has to sleep.
public final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let condition: @Sendable (Value) -> Bool
        let wake: @Sendable (Result<Value, any Error>) -> Void
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
    }

    private let state: Mutex<State>

    public init(_ value: Value) { state = Mutex(State(value: value)) }

    public var value: Value { state.withLock(\.value) }

    /// Changes the value, and resumes the waiters whose condition is now met.
    public func change(_ body: @Sendable (inout Value) -> Void) {
        let (value, woken) = state.withLock { state -> (Value, [Waiter]) in
            body(&state.value)
            let met = state.waiters.filter { $0.value.condition(state.value) }
            for id in met.keys { state.waiters[id] = nil }
            return (state.value, Array(met.values))
        }
        for waiter in woken { waiter.wake(.success(value)) }
    }

    /// Returns the value as soon as it meets `condition`.
    ///
    /// - Throws: `WaitTimeout` after `limit`; `CancellationError`.
    @discardableResult
    public func wait(
        _ what: String = "a condition", upTo limit: Duration = .seconds(60), until condition: @escaping @Sendable (Value) -> Bool
    ) async throws -> Value {
        let id = newID()
        let timer = Task {
            try await sleepPatiently(for: limit)
            let late = WaitTimeout(what: what, limit: limit, last: self.value)
            self.remove(id)?.wake(.failure(late))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(id, Waiter(condition: condition) { continuation.resume(with: $0) })
                if Task.isCancelled { remove(id)?.wake(.failure(CancellationError())) }
            }
        } onCancel: {
            remove(id)?.wake(.failure(CancellationError()))
        }
    }

    /// Returns the value as soon as it meets `condition`. Blocks the thread.
    ///
    /// - Throws: `WaitTimeout` after `limit`.
    @discardableResult
    public func waitBlocking(
        _ what: String = "a condition", upTo limit: Duration = .seconds(60), until condition: @escaping @Sendable (Value) -> Bool
    ) throws -> Value {
        let met = DispatchSemaphore(value: 0)
        let id = newID()
        add(id, Waiter(condition: condition) { _ in met.signal() })
        guard met.wait(timeout: .now() + limit / .seconds(1)) == .success else {
            _ = remove(id)
            throw WaitTimeout(what: what, limit: limit, last: value)
        }
        return value
    }

    private func newID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    private func add(_ id: Int, _ waiter: Waiter) {
        let met = state.withLock { state -> Value? in
            if waiter.condition(state.value) { return state.value }
            state.waiters[id] = waiter
            return nil
        }
        if let met { waiter.wake(.success(met)) }
    }

    private func remove(_ id: Int) -> Waiter? { state.withLock { $0.waiters.removeValue(forKey: id) } }
}

extension WaitTimeout {
    /// The timeout of a wait for a value.
    fileprivate init(what: String, limit: Duration, last: some Any) {
        self.init(what: "\(what); the last value was \(last)", limit: limit)
    }
}

/// Returns a value that has not changed for 200 ms. For what is held up without a notification, such as a writer by a full socket.
///
/// On a busy machine, the time between two looks may be longer, and the value may change later. So a test may use the result for what a
/// value must not exceed, and not for what a value must be.
///
/// - Throws: `WaitTimeout` after a minute.
public func atRest<Value: Sendable & Equatable>(_ what: String, value: () throws -> Value) async throws -> Value {
    var last = (value: try value(), since: ContinuousClock.now)
    try await poll("\(what) at rest", value: value) { value in
        if value != last.value { last = (value, .now) }
        return ContinuousClock.now - last.since > .milliseconds(200)
    }
    return last.value
}

/// Returns `value` as soon as `condition` is true. For conditions without a notification, such as the descriptors of the process.
///
/// It looks at the value at least a hundred times, so a busy machine makes the limit longer.
///
/// - Throws: `WaitTimeout` after `limit`.
@discardableResult
public func poll<Value: Sendable>(
    _ what: String, upTo limit: Duration = .seconds(60), value: () async throws -> Value, until condition: (Value) -> Bool
) async throws -> Value {
    let end = ContinuousClock.now.advanced(by: limit)
    var looks = 0
    while true {
        let last = try await value()
        if condition(last) { return last }
        looks += 1
        guard looks < 100 || ContinuousClock.now < end else { throw WaitTimeout(what: what, limit: limit, last: last) }
        try await Task.sleep(for: .milliseconds(5))
    }
}
