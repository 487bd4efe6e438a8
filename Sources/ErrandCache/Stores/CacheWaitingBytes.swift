internal import Synchronization

/// The number of bytes that wait to be written to a store, in all caches over the store together.
///
/// A body is stored while it is read. If the store is slower than the reader, bytes wait in memory. This object limits these bytes:
/// a body that gets no room is not stored.
public final class CacheWaitingBytes: Sendable {
    /// The default limit: 2 MiB.
    public static let defaultLimitBytes = 2 * 1024 * 1024

    private struct State {
        var count = 0
        var peak = 0
    }

    /// The largest number of bytes that wait at the same time.
    public let limitBytes: Int
    private let state = Mutex(State())

    /// Creates a count.
    ///
    /// - Parameter limitBytes: the largest number of bytes that wait at the same time, at least 0. Default: 2 MiB.
    public init(limitBytes: Int = defaultLimitBytes) {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        self.limitBytes = limitBytes
    }

    /// The number of bytes that wait now.
    public var count: Int { state.withLock(\.count) }
    /// The largest number of bytes that have waited at the same time.
    public var peak: Int { state.withLock(\.peak) }

    /// Adds bytes if there is room. Returns false if there is no room.
    func reserve(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard bytes <= limitBytes - state.count else { return false }
            state.count += bytes
            state.peak = max(state.peak, state.count)
            return true
        }
    }

    /// Removes bytes that no longer wait.
    func release(_ bytes: Int) { state.withLock { $0.count -= bytes } }
}
