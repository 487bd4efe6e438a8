#if Auth
public import ErrandCore
internal import Synchronization

/// Where a ``TokenSource`` keeps its token between runs of an app.
///
/// A store keeps the whole token, with ``AccessToken/signInID``: by it, a source sees that another process has signed in with another account. If several
/// processes share a store, they sign in, sign out and refresh by the same rules as with a ``FileTokenStore``, provided that the store has both locks:
/// ``exclusively(_:)`` and ``atomically(_:)``.
///
/// A source saves or removes one token at a time.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if the store is empty.
    func load() async throws -> AccessToken?
    /// Replaces the token. When it returns, the token is safe: the source uses it only then.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if the store is empty.
    func remove() async throws
    /// Runs `work`, a whole refresh, while no other process does so. By default, it runs it at once. Within it, the source also calls ``atomically(_:)``.
    ///
    /// A store that several processes share waits here until the others are done: a server that rotates refresh tokens may end the session when
    /// two of them use the same one.
    ///
    /// - Throws: what `work` throws, and an error if the others do not end.
    func exclusively(_ work: @Sendable () async throws -> Void) async throws
    /// Runs `work`, which loads the token and then saves or removes it, while no other process does so. By default, it runs it at once.
    ///
    /// `work` sends no request. A sign-in or a sign-out waits here for the writes of other processes, and not for their refreshes. So the lock must be
    /// another one than that of ``exclusively(_:)``.
    ///
    /// - Throws: what `work` throws, and an error if the others do not end.
    func atomically(_ work: @Sendable () async throws -> Void) async throws
}

extension TokenStore {
    /// Runs `work` at once.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws { try await work() }
    /// Runs `work` at once.
    public func atomically(_ work: @Sendable () async throws -> Void) async throws { try await work() }
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
/// Several processes may share the file: their refreshes run one after the other. For that, the empty files `PATH.lock` and `PATH.write-lock` are beside
/// the file, and stay.
/// - A process takes over the token that another process has refreshed.
/// - If another process has signed in, requests that were begun before fail with the reason `accountChanged`, and later ones are those of the new account.
/// - If another process has signed out, or the file was removed, the next refresh signs out.
///
/// The file is JSON, and also has a random identifier of the sign-in. A file of an earlier version, without it, can be read. If a process with an earlier
/// version refreshes or signs in, the others take that for another account.
///
/// The file is replaced as a whole: a crash leaves the old token or the new one. Anybody who can read the file can use the token: on
/// Apple's platforms prefer the keychain.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
    /// How long a refresh waits for those of other processes: longer than one takes.
    private static let patience: Duration = .seconds(120)
    /// How long a write waits for those of other processes.
    private static let writePatience: Duration = .seconds(30)
    private static let coding = JSONCoding(dates: .secondsSince2001)

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
        guard let token = try? Self.coding.decode(AccessToken.self, from: data) else {
            throw TokenFileError(path: path, reason: "it holds no token")
        }
        return token
    }

    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func save(_ token: AccessToken) async throws {
        try await PrivateFile.write(try Self.coding.encode(token), to: path)
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

    /// Runs `work` while no other process, and no other store of this one, does so for the same file.
    ///
    /// - Throws: what `work` throws; ``/ErrandCore/FileWriteError`` if the file `PATH.write-lock` can't be created; ``TokenFileError`` if the work of others
    ///   takes more than 30 s.
    public func atomically(_ work: @Sendable () async throws -> Void) async throws {
        guard let lock = try await PrivateFile.lock(path + ".write-lock", within: Self.writePatience) else {
            throw TokenFileError(path: path, reason: "another process has been writing it for \(Self.writePatience)")
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
