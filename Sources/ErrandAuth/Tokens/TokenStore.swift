#if Auth
public import ErrandCore
internal import Synchronization

/// A place in which a ``TokenSource`` keeps its token between runs of an app.
///
/// A store keeps the whole token, with ``AccessToken/signInID``. By this identifier, a source detects that another process has
/// signed in with another account. A store that several processes share needs both locks: ``exclusively(_:)`` and
/// ``atomically(_:)``. With both locks, the rules of ``FileTokenStore`` for several processes also apply to the store.
///
/// A source saves or removes one token at a time.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if the store is empty.
    ///
    /// `nil` means that nobody is signed in: the next refresh signs out, and the session is lost. If the token can't be read, for
    /// example because the keychain is locked, throw an error.
    ///
    /// - Throws: any error if the token can't be read. Requests that need the store then fail with ``AuthenticationError`` and the
    ///   code `storeFailed`.
    func load() async throws -> AccessToken?
    /// Replaces the token. When this function returns, the token must be stored durably. Only then does the source use the token.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if the store is empty.
    func remove() async throws
    /// Proves that the store can keep one more token. By default, does nothing.
    ///
    /// A source calls this function within ``exclusively(_:)``, before each refresh. If the function throws an error, the source
    /// does not send the refresh. A server that rotates refresh tokens invalidates the old refresh token when it sends the new
    /// refresh token. A new token that the store can't keep is lost when the process ends.
    ///
    /// A custom store can reserve the space of a token here, or save its present token once more. At the end of
    /// ``exclusively(_:)``, the store must release the reserved space that the refresh has not used.
    ///
    /// - Throws: any error if the store can't keep a token, for example because the disk is full. The requests fail with
    ///   ``AuthenticationError`` and the code `storeFailed`, and the source keeps its token.
    func prepareToSave() async throws
    /// Runs `work`, which is a whole refresh, while no other process refreshes the token. By default, runs `work` without a lock.
    /// Within `work`, the source also calls ``prepareToSave()`` and ``atomically(_:)``.
    ///
    /// A store that several processes share waits here until the refreshes of other processes have ended. If two processes use the
    /// same refresh token, a server that rotates refresh tokens may end the session.
    ///
    /// - Throws: the errors of `work`, and an error if other processes hold the lock too long.
    func exclusively(_ work: @Sendable () async throws -> Void) async throws
    /// Runs `work` while no other process is within this function. `work` loads the token, and then saves or removes the token.
    /// By default, `work` runs without a lock.
    ///
    /// `work` sends no request. A sign-in or a sign-out waits here for the writes of other processes, and not for their refreshes.
    /// Use a lock that differs from the lock of ``exclusively(_:)``.
    ///
    /// - Throws: the errors of `work`, and an error if other processes hold the lock too long.
    func atomically(_ work: @Sendable () async throws -> Void) async throws
}

extension TokenStore {
    /// Does nothing.
    public func prepareToSave() async throws {}
    /// Runs `work` without a lock.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws { try await work() }
    /// Runs `work` without a lock.
    public func atomically(_ work: @Sendable () async throws -> Void) async throws { try await work() }
}

/// A token store in memory, for tests and for tokens that no later run of the app needs.
public final class MemoryTokenStore: TokenStore, CustomStringConvertible {
    private let token: Mutex<AccessToken?>

    /// Creates a store.
    public init(_ token: AccessToken? = nil) { self.token = Mutex(token) }

    /// Returns the token; `nil` if the store is empty.
    public func load() -> AccessToken? { token.withLock { $0 } }
    /// Replaces the token.
    public func save(_ token: AccessToken) { self.token.withLock { $0 = token } }
    /// Removes the token.
    public func remove() { token.withLock { $0 = nil } }

    /// Whether the store has a token: `memory, with a token`, or `memory, without a token`.
    public var description: String { load() == nil ? "memory, without a token" : "memory, with a token" }
}

/// A token store in a file that only the file's owner can read (mode 0600).
///
/// Several processes may share the file: their refreshes run one after the other. The empty files `PATH.lock` and `PATH.write-lock`
/// beside the file are the locks. The lock files are never removed.
/// - A process uses the token that another process has obtained.
/// - If another process has signed in, earlier requests fail with the code `accountChanged`. Later requests belong to the new account.
/// - If another process has signed out, or the file was removed, the next refresh signs out.
///
/// The file contains the token and a random identifier of the sign-in, as JSON. A file of an earlier version has no identifier, and
/// can still be read. If a process with an earlier version refreshes or signs in, the other processes see a sign-in with another
/// account.
///
/// The file is replaced as a whole: after a crash, the file has the old token or the new token. Anybody who can read the file can
/// use the token. On Apple's platforms, prefer the keychain.
///
/// Before a refresh is sent, the space for the new token is reserved in the file `PATH.part`. If the disk is full or the folder
/// can't be written, no refresh is sent, and the old refresh token stays valid. At the end of the refresh, `PATH.part` is removed.
/// If a process is killed before the end, `PATH.part` remains, and the next refresh uses `PATH.part`.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
    /// The maximum time for which a refresh waits for the refreshes of other processes. One refresh takes less time.
    private static let patience: Duration = .seconds(120)
    /// The maximum time for which a write waits for the writes of other processes.
    private static let writePatience: Duration = .seconds(30)
    private static let coding = JSONCoding(dates: .secondsSince2001)

    /// The path of the file.
    public let path: String

    private let clock: any Clock<Duration>

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The file need not exist. Its folder must exist.
    ///   - clock: measures the wait for other processes.
    public init(atPath path: String, clock: any Clock<Duration> = ContinuousClock()) { (self.path, self.clock) = (path, clock) }

    /// Returns the token; `nil` if there is no file.
    ///
    /// - Throws: one of these errors:
    ///   - ``/ErrandCore/FileReadError`` if the file can't be read, or has more than 1 MiB. The same error is thrown if users other
    ///     than the owner can read or write the file.
    ///   - ``TokenFileError`` if the file has no token.
    public func load() async throws -> AccessToken? {
        let path = path
        guard let data = try await PrivateFile.read(path) else { return nil }
        guard let token = try? Self.coding.decode(AccessToken.self, from: data) else {
            throw TokenFileError(path: path, reason: "the file holds no token", isCorrupt: true)
        }
        return token
    }

    /// Replaces the file.
    ///
    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func save(_ token: AccessToken) async throws {
        try await PrivateFile.write(try Self.coding.encode(token), to: path)
    }

    /// Removes the file.
    ///
    /// - Throws: ``/ErrandCore/FileWriteError``.
    public func remove() async throws { try await PrivateFile.remove(path) }

    /// Reserves disk space for the next token: the size of the present token plus 16 KiB. Until ``save(_:)`` or the end of
    /// ``exclusively(_:)``, the file `PATH.part` has that space.
    ///
    /// On a copy-on-write file system, such as APFS, the save can still fail for lack of space.
    ///
    /// - Throws: ``/ErrandCore/FileWriteError`` with the reason and a suggestion; ``TokenFileError`` if the writes of other
    ///   processes or stores take more than 30 s.
    public func prepareToSave() async throws {
        do {
            try await atomically { try await PrivateFile.reserve(path) }
        } catch let error as FileWriteError {
            let reason = [error.failureReason, "No refresh was sent, and the old token is still there.", error.recoverySuggestion]
            let problem = reason.compactMap { $0 }.joined(separator: " ")
            throw FileWriteError(path: path, operation: "reserve space for the next token in", code: error.code, reason: problem)
        }
    }

    /// Runs `work` while no other process, and no other store of this process, refreshes the token of the same file. At the end,
    /// releases the space that ``prepareToSave()`` has reserved.
    ///
    /// - Throws: the errors of `work`, or one of these errors:
    ///   - ``/ErrandCore/FileWriteError`` if the file `PATH.lock` can't be created
    ///   - ``TokenFileError`` if the work of other processes or stores takes more than 120 s
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        guard let lock = try await PrivateFile.lock(path + ".lock", within: Self.patience, clock: clock) else {
            throw TokenFileError(path: path, reason: "another process has been refreshing it for \(Self.patience)")
        }
        defer { lock.release() }
        let result = await Result(of: work)
        await PrivateFile.cancelReservation(path)
        try result.get()
    }

    /// Runs `work` while no other process, and no other store of this process, writes the same file.
    ///
    /// - Throws: the errors of `work`, or one of these errors:
    ///   - ``/ErrandCore/FileWriteError`` if the file `PATH.write-lock` can't be created
    ///   - ``TokenFileError`` if the work of other processes or stores takes more than 30 s
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

/// The error for a file of a ``FileTokenStore`` that can't be used.
public struct TokenFileError: NumberedFailure, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// The reason why the file can't be used.
    public let reason: String
    /// Whether the file has no valid token. If the value is false, another process keeps the file busy.
    var isCorrupt = false

    /// The path and the reason.
    public var description: String { "cannot use the token in \(path.shownSafely(limit: 200)): \(reason)" }
    public var failureNumber: FailureNumber { isCorrupt ? .tokenFileInvalid : .tokenFileBusy }
    /// The path and the reason.
    public var failureReason: String? { SafeText.sentence(description) }
    /// The step that a person can take. A sign-in replaces a file without a token.
    public var recoverySuggestion: String? { isCorrupt ? "Sign in again, then try again." : "Try again later." }
}

extension TokenFileError: SafelyDescribedError {}

extension TokenFileError: SignInFailure {
    /// Whether the file has no readable token.
    public var isFailureOfMissingSignIn: Bool { isCorrupt }
}
#endif
