#if Auth
/// The changes of a jar's cookies that the store lacks. Session cookies are not written.
struct UnwrittenChanges: Sendable {
    /// The changes that the store gets in one call.
    struct Batch: Sendable {
        var changed: [Cookie] = []
        var removed: [Cookie.Key] = []
    }

    /// The state of a cookie in the store.
    private struct State: Sendable {
        /// Whether the store has this cookie, in this form or an earlier form.
        var isStored = false
        /// Whether the store must get this form of the cookie.
        var isChanged = false
    }

    /// The states of the cookies, by index.
    private var states: [State] = []
    /// The cookies that the store must remove. `nil` if there is no store.
    private var removals: Set<Cookie.Key>?
    /// Whether the store lacks a change.
    var isPending = false
    /// Whether the cookies of the store are known.
    var isLoaded: Bool

    init(hasStore: Bool) {
        removals = hasStore ? [] : nil
        isLoaded = !hasStore
    }

    var hasStore: Bool { removals != nil }

    /// Prepares an index for a cookie that the store does not know.
    mutating func begin(_ index: Int) {
        while states.count <= index { states.append(State()) }
        states[index] = State()
    }

    /// Whether the store has the newest form of a cookie.
    func isWritten(_ index: Int) -> Bool { states[index].isStored && !states[index].isChanged }

    /// Whether a cookie has a change that the store does not have yet.
    func isChanged(_ index: Int) -> Bool { states[index].isChanged }

    /// Whether the store must remove a cookie.
    func isRemoved(_ key: Cookie.Key) -> Bool { removals?.contains(key) == true }

    /// Records that the store has a cookie.
    mutating func noteStored(_ index: Int) { states[index].isStored = true }

    /// Records a new cookie.
    mutating func insert(_ index: Int, _ cookie: Cookie) {
        if removals != nil, cookie.expires != nil {
            states[index].isChanged = true
            // The store may have a removed cookie of this key. The new cookie replaces that cookie.
            if removals?.remove(cookie.key) != nil { states[index].isStored = true }
            isPending = true
        } else if !isLoaded {
            remove(cookie.key)
        }
    }

    /// Records that a cookie was replaced by a cookie with the same key.
    mutating func renew(_ index: Int, _ cookie: Cookie) {
        guard removals != nil else { return }
        guard cookie.expires != nil else { return forget(index, cookie) }
        states[index].isChanged = true
        isPending = true
    }

    /// Records that the store must not have a cookie.
    mutating func forget(_ index: Int, _ cookie: Cookie) {
        let state = states[index]
        states[index] = State()
        if state.isStored { remove(cookie.key) }
    }

    /// Records that the store must remove a cookie that the table does not have.
    mutating func remove(_ key: Cookie.Key) {
        removals?.insert(key)
        isPending = true
    }

    /// Takes all changes, and assumes that the store has these changes from now on.
    ///
    /// - Parameter cookies: all cookies, by index.
    mutating func take(of cookies: [Cookie?]) -> Batch {
        var batch = Batch()
        for (index, cookie) in cookies.enumerated() {
            guard let cookie, states[index].isChanged else { continue }
            batch.changed.append(cookie)
            states[index] = State(isStored: true)
        }
        batch.removed = Array(removals ?? [])
        removals = removals.map { _ in [] }
        isPending = false
        return batch
    }

    /// Records that the store still lacks a taken change, because the write has failed.
    mutating func restore(_ index: Int) {
        if states[index].isStored { states[index].isChanged = true }
    }
}
#endif
