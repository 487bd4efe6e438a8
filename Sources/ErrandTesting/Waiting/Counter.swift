internal import Synchronization

/// A counter that several tasks may change.
package final class Counter: Sendable {
    private let count = Mutex(0)

    package init() {}

    package var value: Int { count.withLock { $0 } }

    /// Adds a number to the counter, and returns the sum.
    @discardableResult
    package func add(_ number: Int = 1) -> Int {
        count.withLock { count in
            count += number
            return count
        }
    }
}
