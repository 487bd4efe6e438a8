#if Auth
internal import ErrandCore

/// A token store in a file that only the file's owner can read (mode 0600).
///
/// Several processes may share the file. The processes refresh the token one after the other. The empty files `PATH.lock` and
/// `PATH.write-lock` beside the file are the locks. The lock files are never removed.
/// - A process uses the token that another process has obtained.
/// - If another process has signed in, requests that began earlier fail with the code `accountChanged`. Later requests belong to the new
///   account.
/// - If another process has signed out, or the file was removed, the next refresh signs out.
///
/// The file contains the token and a random identifier of the sign-in, as JSON. A file that an earlier version of Errand has written has no
/// identifier, and can still be read. If a process with an earlier version refreshes or signs in, the other processes treat the new token
/// as a sign-in with another account.
///
/// The file is replaced as a whole: after a crash, the file has the old token or the new token. Anybody who can read the file can
/// use the token. On Apple's platforms, prefer the keychain. If the path is a symbolic link, a save replaces the link.
///
/// Before a refresh is sent, the space for the new token is reserved in the file `PATH.part`. If the disk is full or the folder can't be
/// written, no refresh is sent, and the old refresh token stays valid. At the end of the refresh, `PATH.part` is removed. If a process is
/// killed before this removal, `PATH.part` remains, and the next refresh uses `PATH.part`.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
    /// The maximum time for which a refresh waits for the refreshes of other processes. A single refresh takes less time than this maximum.
    private static let patience: Duration = .seconds(120)
    private static let coding = JSONCoding(dates: .secondsSince2001)

    /// The path of the file.
    public var path: String { file.path }

    private let file: LockedPrivateFile

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The file need not exist. The folder of the file must exist.
    ///   - clock: the clock that measures the wait for other processes.
    public init(atPath path: String, clock: any Clock<Duration> = ContinuousClock()) {
        file = LockedPrivateFile(path, clock: clock)
    }

    /// Returns the token; `nil` if there is no file.
    ///
    /// - Throws: one of these errors:
    ///   - ``/ErrandCore/FileReadError`` if the file can't be read, or has more than 1 MiB. `FileReadError` is also thrown if users other
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

    /// Reserves disk space for the next token: the size of the current token plus 16 KiB. Until ``save(_:)`` or the end of
    /// ``exclusively(_:)``, the file `PATH.part` has that space.
    ///
    /// On a copy-on-write file system, such as APFS, the save can still fail for lack of space.
    ///
    /// - Throws: ``/ErrandCore/FileWriteError`` with the reason and a suggestion; ``TokenFileError`` if the writes of other
    ///   processes or stores take more than 30 s; `CancellationError`.
    public func prepareToSave() async throws {
        do {
            try await atomically { try await PrivateFile.reserve(path) }
        } catch let error as FileWriteError {
            let reason = [error.failureReason, "No refresh was sent, and the file is unchanged.", error.recoverySuggestion]
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
    ///   - `CancellationError` if the task is cancelled during the wait
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        try await file.whileLocked(within: Self.patience, orThrow: busy("refreshing")) {
            let result = await Result(of: work)
            await PrivateFile.cancelReservation(path)
            try result.get()
        }
    }

    /// Runs `work` while no other process, and no other store of this process, writes the same file.
    ///
    /// - Throws: the errors of `work`, or one of these errors:
    ///   - ``/ErrandCore/FileWriteError`` if the file `PATH.write-lock` can't be created
    ///   - ``TokenFileError`` if the work of other processes or stores takes more than 30 s
    ///   - `CancellationError` if the task is cancelled during the wait
    public func atomically(_ work: @Sendable () async throws -> Void) async throws {
        try await file.whileLocked(by: ".write-lock", orThrow: busy("writing"), work)
    }

    /// - Parameter activity: the work of the other holder of the lock, as a participle.
    private func busy(_ activity: String) -> (Duration) -> any Error {
        { TokenFileError(path: path, reason: "another process or another store has been \(activity) the token for \($0)") }
    }

    /// `file PATH`.
    public var description: String { file.description }
}
#endif
