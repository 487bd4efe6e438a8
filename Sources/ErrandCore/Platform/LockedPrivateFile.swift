/// A private file that several processes change, one after the other: a ``PrivateFile`` with empty lock files beside the file.
///
/// Each change reads the file, and replaces the file as a whole by means of `PATH.part`. A lock file is never removed, and is locked only
/// while a caller runs work under this lock. Reading takes no lock.
package struct LockedPrivateFile: Sendable, CustomStringConvertible {
    /// The new content of a file.
    package enum Change: Sendable {
        case unchanged
        case replaced(by: Data)
        /// The data replaces the file. If the data can't be written, the file is removed, because a full disk has no room for a new file.
        case emptied(Data)
    }

    /// The default of the longest wait for other processes.
    package static let patience: Duration = .seconds(30)

    /// The path of the file.
    package let path: String
    private let limitBytes: Int
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - path: the path of the file. The file need not exist. Its folder must exist.
    ///   - limitBytes: the maximum length of the file in bytes, at least 0. Default: 1 MiB.
    ///   - clock: measures the wait for other processes.
    package init(_ path: String, limitBytes: Int = PrivateFile.limitBytes, clock: any Clock<Duration>) {
        (self.path, self.limitBytes, self.clock) = (path, limitBytes, clock)
    }

    /// Returns the bytes of the file; `nil` if there is no file.
    ///
    /// - Throws: `FileReadError`. These cases are errors too:
    ///   - Other users can read or write the file, or the file has more than the limit.
    ///   - The path is a symbolic link. A change would replace the link, and would leave the secrets in the linked file.
    package func read() async throws -> Data? {
        try await PrivateFile.read(path, limitBytes: limitBytes, followsLinks: false)
    }

    /// Changes the file while no other process changes the file.
    ///
    /// - Parameter decide: returns the result of this function, and the new content. Its argument is the present content; `nil` if there is
    ///   no file.
    /// - Throws: the errors of ``read()``, of `decide`, and of ``whileLocked(by:within:orThrow:_:)``; `FileWriteError`.
    package func change<Value: Sendable>(_ decide: (Data?) throws -> (Value, Change)) async throws -> Value {
        try await whileLocked {
            let (value, change) = try decide(try await read())
            switch change {
            case .unchanged: break
            case .replaced(by: let data): try await PrivateFile.writeLocked(data, to: path)
            case .emptied(let data):
                do {
                    try await PrivateFile.writeLocked(data, to: path)
                } catch {
                    try await PrivateFile.remove(path)
                }
            }
            return value
        }
    }

    /// Runs `work` while no other process, and no other caller of this process, runs work with the same lock.
    ///
    /// - Parameters:
    ///   - suffix: the end of the lock's path, after the path of the file. Default: `.lock`.
    ///   - limit: the longest wait for the work of others. Default: 30 s.
    ///   - busy: returns the error if the lock is not free within the given limit. `nil`, the default, means a `FileWriteError` whose code
    ///     is EBUSY.
    ///   - work: the work.
    /// - Throws: the errors of `work`; the error of `busy`; `FileWriteError` if the lock file can't be created, or, without `busy`, if the
    ///   lock is not free within the limit; `CancellationError`.
    package func whileLocked<Value: Sendable>(
        by suffix: String = ".lock", within limit: Duration = patience, orThrow busy: ((Duration) -> any Error)? = nil,
        _ work: () async throws -> Value
    ) async throws -> Value {
        guard let lock = try await PrivateFile.lock(path + suffix, within: limit, clock: clock) else {
            throw busy?(limit) ?? FileLock.busy(path + suffix, for: limit)
        }
        defer { lock.release() }
        return try await work()
    }

    /// `file PATH`.
    package var description: String { "file \(path)" }
}
