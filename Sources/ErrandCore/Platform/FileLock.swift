#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// An open file with a lock, which only one holder in all processes can have at a time. The lock is released at the latest when
/// the process ends.
package final class FileLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// - Throws: `FileWriteError`, also for a symbolic link.
    package init(path: String) throws(FileWriteError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0 else { return }
        let (code, isThere) = (errno, access(path, F_OK) == 0)
        throw isThere
            ? FileWriteError(path: path, operation: "lock", code: code) : .creating(at: path, operation: "lock", code: code)
    }

    deinit { close(descriptor) }

    /// Takes the lock. Returns `false` if another holder has the lock.
    package func take() throws(FileWriteError) -> Bool {
        switch Self.lock(descriptor) {
        case 0: return true
        case EWOULDBLOCK: return false
        case let code: throw FileWriteError(path: path, operation: "lock", code: code)
        }
    }

    /// Takes the lock of an open file. A signal does not end the call.
    ///
    /// - Parameter waits: whether the call blocks the thread until the lock is free. Default: false.
    /// - Returns: 0, or the number of the error: EWOULDBLOCK if another holder has the lock.
    static func lock(_ descriptor: Int32, waits: Bool = false) -> Int32 {
        while flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            if errno != EINTR { return errno }
        }
        return 0
    }

    /// Returns the error for a lock that another holder, in this process or another process, has held for `limit`.
    static func busy(_ path: String, for limit: Duration) -> FileWriteError {
        FileWriteError(
            path: path, operation: "lock", code: EBUSY,
            reason: "the lock was not free within \(limit.inWords): another process, or another part of this process, uses the file")
    }

    /// Whether the path still leads to this file.
    var isAtItsPath: Bool { ReservedFile.isSame(descriptor, path) }

    package func release() { _ = flock(descriptor, LOCK_UN) }
}

// Another process does not announce that it releases a lock. Therefore, a lock is tried again and again.
extension FileLock {
    /// Calls `take` until the closure returns a lock. Returns `nil` if no lock is free within the limit.
    ///
    /// - Parameters:
    ///   - limit: the longest wait. After the wait, the lock is tried once more. With zero or less, the lock is tried once.
    ///   - interval: the wait between two tries.
    ///   - clock: measures the wait.
    ///   - take: returns the lock; `nil` while another holder has the lock.
    /// - Throws: the errors of `take`; `CancellationError`.
    package static func poll<Lock>(
        within limit: Duration, every interval: Duration, on clock: any Clock<Duration>, _ take: () async throws -> Lock?
    ) async throws -> Lock? {
        let waited = makeStopwatch(on: clock)
        while true {
            let isLast = waited() >= limit
            if let lock = try await take() { return lock }
            if isLast { return nil }
            try await clock.sleep(for: interval)
        }
    }

    /// Calls `take` like ``poll(within:every:on:_:)``, and blocks the thread between two tries. The limit does not include the duration of
    /// the tries.
    ///
    /// - Parameter pause: blocks the thread for a duration. Default: a call of the system.
    static func poll<Lock, Failure>(
        within limit: Duration, every interval: Duration, by pause: (Duration) -> Void = sleep, _ take: () throws(Failure) -> Lock?
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
    static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var left = rest
        while nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
    }
}
