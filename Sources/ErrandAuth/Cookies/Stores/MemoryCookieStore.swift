#if Auth
public import ErrandCore
internal import Synchronization

/// A cookie store in memory, for tests, and for apps that keep the cookies elsewhere.
public final class MemoryCookieStore: CookieStore, CustomStringConvertible {
    private let state: Mutex<[Cookie]>
    private let now: @Sendable () -> HTTPDate

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - cookies: the first cookies of the store. Default: none.
    ///   - now: returns the current date, at which cookies expire.
    public init(_ cookies: [Cookie] = [], now: @escaping @Sendable () -> Date = { Date() }) {
        state = Mutex(cookies.stored(at: HTTPDate(now())))
        self.now = { HTTPDate(now()) }
    }

    /// The cookies of the store, without expired cookies.
    public var cookies: [Cookie] {
        state.withLock { cookies in
            cookies = cookies.stored(at: now())
            return cookies
        }
    }

    /// Returns the cookies of the store, without expired cookies.
    public func load() -> [Cookie] { cookies }

    /// Applies the changes. Session cookies are not stored.
    ///
    /// - Returns: all cookies of the store after the changes.
    public func apply(changed: [Cookie], removed: [Cookie.Key]) -> [Cookie] {
        state.withLock { cookies in
            cookies = cookies.applying(changed: changed, removed: removed, at: now())
            return cookies
        }
    }

    /// The number of cookies: `memory, 3 cookies`.
    public var description: String {
        let count = cookies.count
        return "memory, \(count.counted("cookie"))"
    }
}
#endif
