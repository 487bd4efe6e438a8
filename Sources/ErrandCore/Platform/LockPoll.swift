#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Repeated tries to take the lock of a file, because another process does not announce that it releases a lock.
package struct LockPoll: Sendable {
    private let (limit, interval): (Duration, Duration)

    /// - Parameters:
    ///   - limit: the longest wait. With zero or less, the lock is tried once.
    ///   - interval: the wait between two tries.
    package init(within limit: Duration, every interval: Duration) { (self.limit, self.interval) = (limit, interval) }

    /// Calls `take` until the closure returns a lock. Returns `nil` if no lock is free within the limit.
    ///
    /// - Parameters:
    ///   - clock: measures the wait.
    ///   - take: returns the lock; `nil` while another holder has the lock.
    /// - Throws: the errors of `take`; `CancellationError`.
    package func wait<Lock>(on clock: any Clock<Duration>, _ take: () async throws -> Lock?) async throws -> Lock? {
        let waited = makeStopwatch(on: clock)
        while true {
            if let lock = try await take() { return lock }
            guard waited() < limit else { return nil }
            try await clock.sleep(for: interval)
        }
    }

    /// Calls `take` like ``wait(on:_:)``, and blocks the thread between two tries.
    ///
    /// - Parameter pause: blocks the thread for a duration. Default: a call of the system.
    package func block<Lock, Failure>(
        by pause: (Duration) -> Void = sleep, _ take: () throws(Failure) -> Lock?
    ) throws(Failure) -> Lock? {
        var waited = Duration.zero
        while true {
            if let lock = try take() { return lock }
            guard waited < limit else { return nil }
            pause(interval)
            waited += interval
        }
    }

    /// Blocks the thread. A signal does not end the call.
    package static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var left = rest
        while nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
    }
}
