#if Auth
public import ErrandCore
internal import Synchronization

/// A place in which a ``TokenSource`` keeps its token between runs of an app.
///
/// A store keeps the whole token, with ``AccessToken/signInID``. By this identifier, a source sees that another process has signed in with another account.
/// A store that several processes share needs both locks: ``exclusively(_:)`` and ``atomically(_:)``. With both locks, the processes sign in, sign out and
/// refresh by the same rules as with a ``FileTokenStore``.
///
/// A source saves or removes one token at a time.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if the store is empty.
    ///
    /// `nil` means that nobody is signed in: the next refresh signs out, and the session is lost. If the token can't be read, throw. An example is a
    /// keychain that is locked.
    ///
    /// - Throws: any error if the token can't be read. Requests that need the store then fail with ``AuthenticationError`` and the reason `storeFailed`.
    func load() async throws -> AccessToken?
    /// Replaces the token. The token must be safe when this function returns: the source uses the token only then.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if the store is empty.
    func remove() async throws
    /// Proves that the store can keep one more token. By default, does nothing.
    ///
    /// A source calls this function within ``exclusively(_:)``, before each refresh, and sends the refresh only if the function returns. A server that
    /// rotates refresh tokens has used up the old one when it sends the new one, and a new token that can't be kept is lost with the process.
    ///
    /// A store of your own can reserve the space of a token here, or save its token once more. Whatever the refresh does not use,
    /// give back at the end of ``exclusively(_:)``.
    ///
    /// - Throws: any error if the store can't keep a token, such as that of a full disk. The requests fail with ``AuthenticationError`` and the reason
    ///   `storeFailed`, and the source keeps its token.
    func prepareToSave() async throws
    /// Runs `work`, a whole refresh, while no other process does so. By default, runs `work` at once. Within `work`, the source also calls
    /// ``prepareToSave()`` and ``atomically(_:)``.
    ///
    /// A store that several processes share waits here until the other processes are done. If two processes use the same refresh token, a server that
    /// rotates refresh tokens may end the session.
    ///
    /// - Throws: the errors of `work`, and an error if the other processes do not end.
    func exclusively(_ work: @Sendable () async throws -> Void) async throws
    /// Runs `work`, which loads the token and then saves or removes it, while no other process does so. By default, runs `work` at
    /// once.
    ///
    /// `work` sends no request. A sign-in or a sign-out waits here for the writes of other processes, and not for their refreshes. Use a lock
    /// other than that of ``exclusively(_:)``.
    ///
    /// - Throws: the errors of `work`, and an error if the other processes do not end.
    func atomically(_ work: @Sendable () async throws -> Void) async throws
}

extension TokenStore {
    /// Does nothing.
    public func prepareToSave() async throws {}
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
/// - If another process has signed in, requests that were begun before fail with the reason `accountChanged`. Later requests belong to the new account.
/// - If another process has signed out, or the file was removed, the next refresh signs out.
///
/// The file is JSON, and also has a random identifier of the sign-in. A file of an earlier version has no identifier, and can be read. If a process with an
/// earlier version refreshes or signs in, the other processes see a sign-in with another account.
///
/// The file is replaced as a whole: a crash leaves the old token or the new token. Anybody who can read the file can use the token. On Apple's platforms,
/// prefer the keychain.
///
/// Before a refresh is sent, the space for the new token is reserved in the file `PATH.part`. If the disk is full or the folder can't be written, no refresh
/// is sent, and the old refresh token stays valid. At the end of the refresh, `PATH.part` is gone. A process that is killed meanwhile leaves `PATH.part`
/// behind, and the next refresh uses it.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
    /// How long a refresh waits for those of other processes: longer than one takes.
    private static let patience: Duration = .seconds(120)
    /// How long a write waits for those of other processes.
    private static let writePatience: Duration = .seconds(30)
    private static let coding = JSONCoding(dates: .secondsSince2001)

    /// The path of the file.
    public let path: String

    private let clock: any Clock<Duration>

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The file may be missing. Its folder must exist.
    ///   - clock: measures the wait for other processes.
    public init(atPath path: String, clock: any Clock<Duration> = ContinuousClock()) { (self.path, self.clock) = (path, clock) }

    /// Returns the token; `nil` if there is no file.
    ///
    /// - Throws: ``/ErrandCore/FileReadError``, also if others than the owner can read or write the file, and if the file has more than 1 MiB;
    ///   ``TokenFileError`` if the file has no token.
    public func load() async throws -> AccessToken? {
        let path = path
        guard let data = try await PrivateFile.read(path) else { return nil }
        guard let token = try? Self.coding.decode(AccessToken.self, from: data) else {
            throw TokenFileError(path: path, reason: "the file holds no token", isCorrupt: true)
        }
        return token
    }

    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func save(_ token: AccessToken) async throws {
        try await PrivateFile.write(try Self.coding.encode(token), to: path)
    }

    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func remove() async throws { try await PrivateFile.remove(path) }

    /// Reserves the space of the next token on the disk: the size of the present token and 16 KiB. Until ``save(_:)`` or the end of ``exclusively(_:)``,
    /// the file `PATH.part` has that space.
    ///
    /// A file system that copies on write, such as APFS, may still be full when the token is saved.
    ///
    /// - Throws: ``/ErrandCore/FileWriteError`` with the reason and with what helps; ``TokenFileError`` if the writes of others take more than 30 s.
    public func prepareToSave() async throws {
        do {
            try await atomically { try await PrivateFile.reserve(path) }
        } catch let error as FileWriteError {
            let reason = [error.failureReason, "No refresh was sent, and the old token is still there.", error.recoverySuggestion]
            let problem = reason.compactMap { $0 }.joined(separator: " ")
            throw FileWriteError(path: path, operation: "reserve space for the next token in", code: error.code, reason: problem)
        }
    }

    /// Runs `work` while no other process, and no other store of this one, does so for the same file. At the end, gives back what ``prepareToSave()`` has
    /// reserved.
    ///
    /// - Throws: what `work` throws; ``/ErrandCore/FileWriteError`` if the file `PATH.lock` can't be created; ``TokenFileError`` if the work of others
    ///   takes more than 120 s.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        guard let lock = try await PrivateFile.lock(path + ".lock", within: Self.patience, clock: clock) else {
            throw TokenFileError(path: path, reason: "another process has been refreshing it for \(Self.patience)")
        }
        defer { lock.release() }
        let result: Result<Void, any Error>
        do {
            result = .success(try await work())
        } catch {
            result = .failure(error)
        }
        await PrivateFile.cancelReservation(path)
        try result.get()
    }

    /// Runs `work` while no other process, and no other store of this one, does so for the same file.
    ///
    /// - Throws: what `work` throws; ``/ErrandCore/FileWriteError`` if the file `PATH.write-lock` can't be created; ``TokenFileError`` if the work of others
    ///   takes more than 30 s.
    public func atomically(_ work: @Sendable () async throws -> Void) async throws {
        guard let lock = try await PrivateFile.lock(path + ".write-lock", within: Self.writePatience, clock: clock) else {
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
    /// Whether the file has no token. Otherwise, another process keeps the file busy.
    var isCorrupt = false

    /// The path and the reason.
    public var description: String { "cannot use the token in \(path.shownSafely(limit: 200)): \(reason)" }
    /// The description.
    public var errorDescription: String? { description }
    /// What a person can do: signing in replaces a file without a token.
    public var recoverySuggestion: String? { isCorrupt ? "Sign in again, then try again." : "Try again later." }
}

extension TokenFileError: SafelyDescribedError {}

extension TokenFileError: SignInFailure {
    /// Whether the file has no token that can be read.
    public var failureNeedsSignIn: Bool { isCorrupt }
}
#endif
