#if Auth
internal import ErrandCore

extension [Cookie] {
    /// Returns the cookies of a store after its change. Expired cookies and session cookies are omitted. A cookie that replaces another
    /// cookie gets the position of the replaced cookie, and the earlier of the two creation dates.
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
