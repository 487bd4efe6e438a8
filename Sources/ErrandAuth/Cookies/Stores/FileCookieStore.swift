#if Auth
public import ErrandCore
internal import ErrandFormats

/// A cookie store in a file that only the file's owner can read (mode 0600).
///
/// ```swift
/// let store = FileCookieStore(atPath: "/home/me/.notes/cookies.json")
/// ```
///
/// The file contains the cookies as JSON, as ``CookieFile/json(of:)`` writes them. Session cookies are not stored, and expired cookies are
/// omitted. Anybody who can read the file can use the cookies.
///
/// Several processes may share the file. Each change is applied to the current content of the file. Therefore no process removes a cookie
/// that another process has stored. If two processes change the same cookie, the later change applies. The empty file `PATH.lock` beside
/// the file is the lock, and is never removed.
///
/// The file is replaced as a whole: after a crash, the file has the cookies before or after the change. The new content is first in the
/// file `PATH.part`, which only the file's owner can read. If a process is killed before the file is replaced, `PATH.part` remains, and the
/// next change overwrites `PATH.part`.
///
/// If the file is not a file of cookies, or is damaged, each function throws a ``CookieFileError``, and the file stays unchanged. A path
/// that is a symbolic link is refused. Without this rule, a change would replace the link, and removed cookies would stay in the linked
/// file.
public struct FileCookieStore: CookieStore, CustomStringConvertible {
    /// The path of the file.
    public var path: String { file.path }

    private let file: LockedPrivateFile
    private let now: @Sendable () -> Date

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The file need not exist. Its folder must exist.
    ///   - clock: the clock that measures the wait for other processes.
    ///   - now: a closure that returns the current date, at which cookies expire.
    public init(
        atPath path: String, clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (file, self.now) = (LockedPrivateFile(path, limitBytes: CookieFile.limitBytes, clock: clock), now)
    }

    /// Returns the stored cookies, without expired cookies; an empty array if there is no file, or the file is empty.
    ///
    /// - Throws: one of these errors:
    ///   - ``/ErrandCore/FileReadError`` if the file can't be read, or has more than ``CookieFile/limitBytes``. `FileReadError` is also
    ///     thrown if users other than the owner can read or write the file, and if the path is a symbolic link.
    ///   - ``CookieFileError`` if the file is not a file of cookies, is damaged, or has a newer version of the format.
    public func load() async throws -> [Cookie] { try cookies(in: try await file.read()).stored(at: HTTPDate(now())) }

    /// Applies the changes to the file, and forces the file to the disk. If nothing changes, the file is not written. If no
    /// cookie is left, and the disk is full, the file is removed.
    ///
    /// - Parameters:
    ///   - changed: the cookies to store. A session cookie only removes the cookie with the same key.
    ///   - removed: the keys of the cookies to remove.
    /// - Returns: all cookies of the file after the change, including the cookies of other processes.
    /// - Throws: the errors of ``load()``, or one of these errors:
    ///   - ``/ErrandCore/FileWriteError`` if the file can't be written, or if the changes of other processes or stores take more
    ///     than 30 s.
    ///   - ``CookieFileError`` with the code `tooLarge` if the file would have more than ``CookieFile/limitBytes``.
    ///   - `CancellationError` if the task is cancelled while the change waits.
    public func apply(changed: [Cookie], removed: [Cookie.Key]) async throws -> [Cookie] {
        try await file.change { data in
            let old = try cookies(in: data)
            let new = old.applying(changed: changed, removed: removed, at: HTTPDate(now()))
            guard new != old else { return (new, .unchanged) }
            let json = CookieFile.json(of: new)
            guard json.count <= CookieFile.limitBytes else { throw CookieFileError(.tooLarge, path: path) }
            // Even if the disk is full, the removal of all cookies must succeed.
            return (new, new.isEmpty ? .emptied(json) : .replaced(by: json))
        }
    }

    private func cookies(in data: Data?) throws(CookieFileError) -> [Cookie] {
        guard let data, !data.isEmpty else { return [] }
        do throws(CookieFileError) {
            return try CookieFile.json(parsing: data)
        } catch {
            throw CookieFileError(error.code, path: path)
        }
    }

    /// `file PATH`.
    public var description: String { file.description }
}
#endif
