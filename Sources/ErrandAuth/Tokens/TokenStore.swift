#if Auth
public import ErrandCore
internal import Synchronization

/// Where a ``TokenSource`` keeps its token between runs of an app.
///
/// The source calls one method at a time.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if there is none.
    func load() async throws -> AccessToken?
    /// Replaces the token. When it returns, the token is safe: the source uses it only then.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if there is none.
    func remove() async throws
}

/// A store in memory, for tests and for tokens that no other run needs.
public final class MemoryTokenStore: TokenStore {
    private let token: Mutex<AccessToken?>

    /// Creates a store.
    public init(_ token: AccessToken? = nil) { self.token = Mutex(token) }

    /// Returns the token; `nil` if there is none.
    public func load() -> AccessToken? { token.withLock { $0 } }
    /// Replaces the token.
    public func save(_ token: AccessToken) { self.token.withLock { $0 = token } }
    /// Removes the token.
    public func remove() { token.withLock { $0 = nil } }
}

/// A store in a file that only its owner can read (mode 0600).
///
/// The file is JSON. It is replaced as a whole: a crash leaves the old token or the new one. Anybody who can read the file can use the token: on
/// Apple's platforms prefer the keychain.
public struct FileTokenStore: TokenStore, CustomStringConvertible {
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
#endif
