#if SQLite
internal import ErrandCore
internal import Synchronization

/// A connection to the database, and the thread on which the connection works.
///
/// Operations run one after the other, first in, first out. An operation may be repeated after the database was replaced.
final class CacheConnection: Sendable {
    private let home: CacheHome
    private let work: BlockingWork
    private let tables = Mutex<CacheTables?>(nil)

    init(_ home: CacheHome, label: String) {
        self.home = home
        work = BlockingWork(width: 1, label: label)
    }

    /// Opens the database if the secret key has not been read. Opening the database reads the key, or creates a missing key.
    ///
    /// - Parameter isCancellable: whether a cancelled task stops the wait.
    /// - Throws: the errors of the opening; `CancellationError`.
    func ensureKey(isCancellable: Bool) async throws {
        guard home.digest([]) == nil else { return }
        if isCancellable { try await runUntilCancelled { _ in } } else { try await run { _ in } }
    }

    /// Returns the result of `operation`. Cancellation has no effect.
    ///
    /// - Throws: the errors of `operation`, and of the opening of the database.
    func run<Value: Sendable>(_ operation: @escaping @Sendable (CacheTables) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            work.add { continuation.resume(with: Result { try self.perform(operation) }) }
        }
    }

    /// Returns the result of `operation`. If the task is cancelled before the result, throws `CancellationError` immediately.
    func runUntilCancelled<Value: Sendable>(_ operation: @escaping @Sendable (CacheTables) throws -> Value) async throws -> Value {
        try await work.runUntilCancelled { try self.perform(operation) }
    }

    /// Carries out `operation` later. Errors are ignored.
    func begin(_ operation: @escaping @Sendable (CacheTables) throws -> Void) { work.add { try? self.perform(operation) } }

    /// Carries out `cleaning` and then `operation`, later. `cleaning` runs even if the database can't be opened. Errors are ignored.
    func cleanUp(_ cleaning: @escaping @Sendable () -> Void, then operation: @escaping @Sendable (CacheTables) throws -> Void) {
        work.add {
            cleaning()
            try? self.perform(operation)
        }
    }

    private func perform<Value: Sendable>(_ operation: @Sendable (CacheTables) throws -> Value) throws -> Value {
        try tables.withLock { tables in
            var (isMissing, isDamaged) = (false, false)
            while true {
                var file: StoreFolder.FileIdentity?
                do {
                    // Another process may have replaced the database, or a user may have removed the folder.
                    if let open = tables, !home.isCurrent(open) { tables = nil }
                    let open = try tables ?? home.open()
                    tables = open
                    file = open.file
                    return try operation(open)
                } catch let error as SQLiteError where error.isMissing && !isMissing {
                    (tables, isMissing) = (nil, true)
                } catch let error as SQLiteError where error.isDamage {
                    // The operation is repeated once. After the second error, the next operation opens a new database.
                    tables = nil
                    if let file { try home.replace(file, because: error) }
                    if isDamaged { throw error }
                    isDamaged = true
                }
            }
        }
    }

    /// Replaces the database by an empty database.
    func startOver(because error: any Error) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            work.add {
                continuation.resume(
                    with: Result {
                        try self.tables.withLock { tables in
                            tables = nil
                            try self.home.replace(nil, because: error)
                        }
                    })
            }
        }
    }
}
#endif
