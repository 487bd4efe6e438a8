internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The work of all caches over one store: the bytes that wait to be written, the writes, and the background revalidations.
///
/// A body is stored while it is read. If the store is slower than the reader, bytes wait in memory. This object limits the waiting bytes: a
/// body that gets no room is not stored.
public final class CacheWork: Sendable {
    /// The default limit: 2 MiB.
    public static let defaultLimitBytes = ByteAllowance.defaultLimitBytes

    /// The key of a background revalidation.
    struct Revalidation: Sendable, Hashable {
        /// The number of the cache that has begun the revalidation.
        let cache: Int
        let key: CacheKey
    }

    /// The largest number of bytes that wait at the same time.
    public var limitBytes: Int { waiting.limitBytes }
    /// The writes and changes in progress.
    let writes = SingleFlight<Int, Void>()
    /// The background revalidations.
    let revalidations = SingleFlight<Revalidation, Void>()
    /// The bytes that wait to be written.
    let waiting: ByteAllowance
    private let lastNumber = Atomic(0)
    private let warnings = Mutex(Warnings())
    /// Whether a warning is queued for the next response. A response reads this value without a lock.
    private let hasWarnings = Atomic(false)

    private struct Warnings {
        /// The kinds of failures that were reported.
        var kinds = BoundedTable<OctetKey, Void>(limit: CacheLimits.warnings)
        /// The warnings that no response has yet.
        var waiting: [String] = []
    }

    /// Creates an object without work.
    ///
    /// - Parameter limitBytes: the largest number of bytes that wait at the same time, at least 0. Default: 2 MiB.
    public init(limitBytes: Int = defaultLimitBytes) { waiting = ByteAllowance(limitBytes: limitBytes) }

    /// The number of bytes that wait now.
    public var waitingBytes: Int { waiting.bytes }
    /// The largest number of bytes that have waited at the same time.
    public var peakWaitingBytes: Int { waiting.peakBytes }

    /// Keeps a warning for the next response, unless there was a warning of this kind.
    ///
    /// After ``CacheLimits/warnings`` other kinds, a kind is reported again. If that many warnings wait, further warnings are dropped.
    func warn(_ warning: String, kind: String) {
        warnings.withLock { warnings in
            guard warnings.kinds.updateIfPresent(OctetKey(kind), { _ in }) == nil, warnings.waiting.count < CacheLimits.warnings else {
                return
            }
            warnings.kinds.update(OctetKey(kind), default: ()) { _ in }
            warnings.waiting.append(warning)
            hasWarnings.store(true, ordering: .releasing)
        }
    }

    /// Removes and returns the warnings for the next response; `nil` if there are no such warnings.
    func takeWarnings() -> [String]? {
        guard hasWarnings.load(ordering: .acquiring) else { return nil }
        return warnings.withLock { warnings in
            hasWarnings.store(false, ordering: .releasing)
            defer { warnings.waiting = [] }
            return warnings.waiting.isEmpty ? nil : warnings.waiting
        }
    }

    /// Returns a new number for a write or a cache.
    func nextNumber() -> Int { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension CacheStore {
    /// Waits until all current writes to the store, and all current background revalidations, have ended. The wait includes the work of all
    /// stacks over this store in this process. Call this function before a program ends. Without this call, a response could be missing
    /// from a store on the disk.
    ///
    /// ```swift
    /// let store = MemoryCacheStore()
    /// let stack = HTTPStack.default.cache(in: store)
    /// _ = try await stack.send(Request(.get, url: "https://api.example/news")).body.collect()
    /// await store.finish(within: .seconds(5))
    /// ```
    ///
    /// If the task is cancelled, the wait continues.
    ///
    /// - Parameters:
    ///   - limit: the longest wait. Default: 10 s.
    ///   - clock: the clock that measures the wait.
    public func finish(within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()) async {
        let work = work
        try? await runShielded {
            try await withLimit(limit, on: clock) {
                // The requests are awaited first, because the response of each request is also written to the store.
                try await work.revalidations.waitUntilIdle()
                try await work.writes.waitUntilIdle()
            }
        }
    }
}
