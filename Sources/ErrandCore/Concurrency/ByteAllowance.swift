internal import Synchronization

/// A number of bytes in memory that several users share, with a limit.
package final class ByteAllowance: Sendable {
    /// The default limit: 2 MiB.
    package static let defaultLimitBytes = 2 * 1024 * 1024

    private struct State {
        var count = 0
        var peak = 0
    }

    /// The largest number of bytes in use at the same time.
    package let limitBytes: Int
    private let state = Mutex(State())

    /// - Parameter limitBytes: the largest number of bytes in use at the same time, at least 0. Default: 2 MiB.
    package init(limitBytes: Int = defaultLimitBytes) {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        self.limitBytes = limitBytes
    }

    /// The number of bytes in use.
    package var bytes: Int { state.withLock(\.count) }
    /// The largest number of bytes that were in use at the same time.
    package var peakBytes: Int { state.withLock(\.peak) }

    /// Adds bytes if there is room. Returns false if there is no room.
    package func reserve(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard bytes <= limitBytes - state.count else { return false }
            state.count += bytes
            state.peak = max(state.peak, state.count)
            return true
        }
    }

    /// Removes bytes that are no longer in use.
    package func release(_ bytes: Int) { state.withLock { $0.count -= bytes } }
}
