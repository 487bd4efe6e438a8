internal import Synchronization

/// A value that changes, and the readers of its changes. When the object is released, the sequences of the readers end.
package final class CurrentValue<Value: Sendable & Equatable>: Sendable {
    private let current: Mutex<Value>
    /// A reader gets only the newest value.
    private let readers = StreamReaders<Value>(keptElements: 1)

    package init(_ value: Value) { current = Mutex(value) }

    package var value: Value { current.withLock { $0 } }

    /// The number of sequences that are in use.
    package var readerCount: Int { readers.count }

    /// Sets the value. If the new value differs from the old value, each reader gets the new value.
    package func set(_ value: Value) { update { $0 = value } }

    /// Changes the value. If the new value differs from the old value, each reader gets the new value.
    package func update(_ change: (inout Value) -> Void) {
        current.withLock { value in
            let before = value
            change(&value)
            // A reader keeps only the newest value. Without the lock, an older value could replace a newer value.
            if value != before { readers.yield(value) }
        }
    }

    /// Returns a sequence of the current value and each later value. A slow reader gets only the newest value.
    package func values() -> AsyncStream<Value> { current.withLock { readers.add(first: $0) } }
}
