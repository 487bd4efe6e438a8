internal import Synchronization

/// The readers of a series of values. Each reader has a sequence of its own. When the object is released, the sequences end.
package final class StreamReaders<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var readers: [Int: AsyncStream<Element>.Continuation] = [:]
        var nextNumber = 0
    }

    private let keptElements: Int
    private let state = Mutex(State())

    /// Creates an object without readers.
    ///
    /// - Parameter keptElements: the maximum number of elements kept for a reader that does not read. The newest elements are kept.
    package init(keptElements: Int) { self.keptElements = keptElements }

    deinit {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.finish() }
    }

    /// The number of sequences that are in use.
    package var count: Int { state.withLock { $0.readers.count } }

    /// Returns a sequence for a new reader.
    ///
    /// - Parameter first: the first element of the sequence. With `nil`, the default, the sequence starts with the next
    ///   element.
    package func add(first: Element? = nil) -> AsyncStream<Element> {
        let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(keptElements))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.readers[state.nextNumber] = reader
            return state.nextNumber
        }
        if let first { reader.yield(first) }
        reader.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    /// Adds an element to each sequence. No code of a reader runs during the call: a sequence only schedules its reader's task.
    package func yield(_ element: Element) {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.yield(element) }
    }

    private func remove(_ number: Int) {
        // Releasing a reader may run other code. Therefore the reader is released outside the lock.
        let removed = state.withLock { $0.readers.removeValue(forKey: number) }
        _ = removed
    }
}
