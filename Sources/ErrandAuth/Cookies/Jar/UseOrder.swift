#if Auth
/// The order in which cookies were used, as linked lists of indices. Each change of a list takes constant time.
///
/// Each cookie is in one list of each scope. A list begins with the cookies that were never used, in the order in which they were inserted.
struct UseOrder: Sendable {
    enum Scope: Int, Sendable {
        /// All cookies of the jar.
        case jar
        /// The cookies of a registrable domain, with or without `Secure`.
        case site
        /// The cookies with one domain, with or without `Secure`.
        case domain
    }

    /// The ends of a list, by index; -1 if there is no such cookie.
    struct List: Sendable {
        fileprivate var first: Int32 = -1
        fileprivate var last: Int32 = -1
        fileprivate var lastUnused: Int32 = -1

        /// The cookie that was used least recently; `nil` if the list is empty.
        var leastRecentlyUsed: Int? { first < 0 ? nil : Int(first) }
    }

    /// The neighbors in a list, by index; -1 if there is no neighbor.
    private struct Links: Sendable {
        var older: Int32 = -1
        var newer: Int32 = -1
    }

    private static let scopes = 3
    /// The numbers of the last uses, by index; 0 for a cookie that was never used.
    private var lastUses: [UInt64] = []
    /// For each index, the neighbors in each scope.
    private var links: [Links] = []
    /// The number of the last use of any cookie.
    private(set) var lastUse: UInt64 = 0

    /// Counts an event that is not the use of a cookie.
    ///
    /// - Returns: the number of the event.
    mutating func count() -> UInt64 {
        lastUse += 1
        return lastUse
    }

    /// Prepares an index for a cookie that was never used.
    mutating func begin(_ index: Int) {
        while lastUses.count <= index {
            lastUses.append(0)
            for _ in 0..<Self.scopes { links.append(Links()) }
        }
        lastUses[index] = 0
    }

    /// Records a use. After this call, ``insert(_:_:in:)`` inserts the cookie at the end of a list.
    mutating func use(_ index: Int) { lastUses[index] = count() }

    /// Returns whether a cookie is the last cookie of a list, and was used at least once.
    func isMostRecentlyUsed(_ index: Int, in list: List) -> Bool { list.last == Int32(index) && lastUses[index] > 0 }

    /// Inserts a cookie into a list, at its position in the order of use. Takes constant time, unless a used cookie comes from another
    /// list.
    mutating func insert(_ index: Int, _ scope: Scope, in list: inout List) {
        let (isUsed, number) = (lastUses[index] > 0, Int32(index))
        var older = isUsed ? list.last : list.lastUnused
        if isUsed { while older >= 0, lastUses[Int(older)] > lastUses[index] { older = self[older, scope].older } }
        let newer = older >= 0 ? self[older, scope].newer : list.first
        self[number, scope] = Links(older: older, newer: newer)
        if older >= 0 { self[older, scope].newer = number } else { list.first = number }
        if newer >= 0 { self[newer, scope].older = number } else { list.last = number }
        if !isUsed { list.lastUnused = number }
    }

    /// Removes a cookie from its list.
    mutating func remove(_ index: Int, _ scope: Scope, from list: inout List) {
        let (number, neighbors) = (Int32(index), self[Int32(index), scope])
        if neighbors.older >= 0 { self[neighbors.older, scope].newer = neighbors.newer } else { list.first = neighbors.newer }
        if neighbors.newer >= 0 { self[neighbors.newer, scope].older = neighbors.older } else { list.last = neighbors.older }
        // All cookies before the last unused cookie are also unused.
        if list.lastUnused == number { list.lastUnused = neighbors.older }
    }

    private subscript(index: Int32, scope: Scope) -> Links {
        get { links[Int(index) * Self.scopes + scope.rawValue] }
        set { links[Int(index) * Self.scopes + scope.rawValue] = newValue }
    }
}
#endif
