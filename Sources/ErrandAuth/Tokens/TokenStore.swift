#if Auth
public import ErrandCore
internal import Synchronization

/// Where a ``TokenSource`` keeps its token between runs of an app.
///
/// The source calls one method at a time.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if the store is empty.
    func load() async throws -> AccessToken?
    /// Replaces the token. When it returns, the token is safe: the source uses it only then.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if the store is empty.
    func remove() async throws
    /// Runs `work`, a refresh that loads and saves the token, while no other process does so. By default, it runs it at once.
    ///
    /// A store that several processes share waits here until the others are done: a server that rotates refresh tokens may end the session when
    /// two of them use the same one.
    ///
    /// - Throws: what `work` throws, and an error if the others do not end.
    func exclusively(_ work: @Sendable () async throws -> Void) async throws
}

extension TokenStore {
    /// Runs `work` at once.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws { try await work() }
}

/// A store in memory, for tests and for tokens that no other run needs.
public final class MemoryTokenStore: TokenStore {
    private let token: Mutex<AccessToken?>

    /// Creates a store.
    public init(_ token: AccessToken? = nil) { self.token = Mutex(token) }

    /// Returns the token; `nil` if the store is empty.
    public func load() -> AccessToken? { token.withLock { $0 } }
    /// Replaces the token.
    public func save(_ token: AccessToken) { self.token.withLock { $0 = token } }
    /// Removes the token.
    public func remove() { token.withLock { $0 = nil } }
}

/// A store in a file that only its owner can read (mode 0600).
///
/// Several processes may share the file: their refreshes run one after the other. For that, an empty file `PATH.lock` is beside it, which stays.
///
/// The file is JSON. It is replaced as a whole: a crash leaves the old token or the new one. Anybody who can read the file can use the token: on
/// Apple's platforms prefer the keychain.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
    /// How long a refresh waits for those of other processes: longer than one takes.
    private static let patience: Duration = .seconds(120)

    /// The path of the file.
    public let path: String

    /// Creates a store.
    ///
    /// - Parameter path: the path of the file, which need not be there. Its folder must be.
    public init(atPath path: String) { self.path = path }

    /// Returns the token; `nil` if there is no file.
    ///
    /// - Throws: ``/ErrandCore/FileReadError``, also for a file that others than its owner can read or write, and for one of more than 1 MiB;
    ///   ``TokenFileError`` for one that has no token.
    public func load() async throws -> AccessToken? {
        let path = path
        guard let data = try await PrivateFile.read(path) else { return nil }
        guard let token = try? JSONDecoder().decode(AccessToken.self, from: data) else {
            throw TokenFileError(path: path, reason: "it holds no token")
        }
        return token
    }

    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func save(_ token: AccessToken) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try await PrivateFile.write(try encoder.encode(token), to: path)
    }

    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func remove() async throws { try await PrivateFile.remove(path) }

    /// Runs `work` while no other process, and no other store of this one, does so for the same file.
    ///
    /// - Throws: what `work` throws; ``/ErrandCore/FileWriteError`` if the file `PATH.lock` can't be created; ``TokenFileError`` if the work of others
    ///   takes more than 120 s.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        guard let lock = try await PrivateFile.lock(path + ".lock", within: Self.patience) else {
            throw TokenFileError(path: path, reason: "another process has been refreshing it for \(Self.patience)")
        }
        defer { lock.release() }
        try await work()
    }

    /// `file PATH`.
    public var description: String { "file \(path)" }
}

/// A file of a ``FileTokenStore`` that can't be used.
public struct TokenFileError: Error, LocalizedError, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// Why it can't be used.
    public let reason: String

    /// The path and the reason.
    public var description: String { "cannot use the token in \(path.shownSafely(limit: 200)): \(reason)" }
    /// The description.
    public var errorDescription: String? { description }
}

extension TokenFileError: SafelyDescribedError {}
#endif
