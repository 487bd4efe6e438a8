internal import Synchronization

/// A value that changes, and the readers of its changes. When the object is released, the sequences of the readers end.
package final class CurrentValue<Value: Sendable & Equatable>: Sendable {
    private struct State: Sendable {
        var value: Value
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextNumber = 0
    }

    private let state: Mutex<State>

    package init(_ value: Value) { state = Mutex(State(value: value)) }

    deinit {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.finish() }
    }

    package var value: Value { state.withLock(\.value) }

    /// The number of sequences that are in use.
    package var readerCount: Int { state.withLock { $0.readers.count } }

    /// Sets the value. If the new value differs from the old value, each reader gets the new value.
    package func set(_ value: Value) { update { $0 = value } }

    /// Changes the value. If the new value differs from the old value, each reader gets the new value.
    package func update(_ change: (inout Value) -> Void) {
        state.withLock { state in
            let before = state.value
            change(&state.value)
            guard state.value != before else { return }
            // A stream keeps only the newest value. Without the lock, an older value could replace a newer value. No code of a reader runs
            // under the lock: the stream only schedules the reader's task.
            for reader in state.readers.values { reader.yield(state.value) }
        }
    }

    /// Returns the value, and then each change. A slow reader gets only the newest value.
    package func values() -> AsyncStream<Value> {
        let (stream, reader) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.readers[state.nextNumber] = reader
            reader.yield(state.value)
            return state.nextNumber
        }
        reader.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        // The reader is released outside the lock.
        let removed = state.withLock { $0.readers.removeValue(forKey: number) }
        _ = removed
    }
}
