#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// A cookie store in memory, for tests, and for apps that keep the cookies in a place of their own.
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

    /// Applies the changes. Cookies of the session are not stored.
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
        return "memory, \(count) \(count == 1 ? "cookie" : "cookies")"
    }
}

extension [Cookie] {
    /// Returns the cookies of a store after its change. Expired cookies and cookies of the session are left out. A cookie that replaces
    /// another cookie takes the place of the other cookie, and keeps the earlier date of creation.
    ///
    /// - Parameters:
    ///   - changed: the cookies that replace the cookies with the same keys.
    ///   - removed: the keys of the cookies to remove. The keys are removed before `changed` is added.
    ///   - now: the current date.
    func applying(changed: [Cookie], removed: [Cookie.Key], at now: HTTPDate) -> [Cookie] {
        var places: [Cookie.Key: Int] = [:]
        var result: [Cookie?] = []
        func place(_ cookie: Cookie) {
            guard let place = places[cookie.key] else {
                places[cookie.key] = result.count
                return result.append(cookie)
            }
            result[place] = cookie.created(noLaterThan: result[place]?.created)
        }
        for cookie in self { place(cookie) }
        for key in removed {
            if let place = places.removeValue(forKey: key) { result[place] = nil }
        }
        for cookie in changed { place(cookie) }
        return result.compactMap(\.self).stored(at: now)
    }

    /// Returns the cookies that a store keeps: the cookies with an expiry after `now`.
    func stored(at now: HTTPDate) -> [Cookie] { filter { $0.expires != nil && !$0.hasExpired(at: now) } }
}

extension Cookie {
    fileprivate func created(noLaterThan date: HTTPDate?) -> Cookie {
        guard let date, date < created else { return self }
        return with(expires: expires, created: date)
    }
}
#endif
