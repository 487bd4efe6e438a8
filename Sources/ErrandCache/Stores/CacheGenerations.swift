internal import ErrandCore

/// The generations of the partitions of a store in memory: a value without locks.
///
/// One counter gives all numbers. The partition without an account has the number at which the store was last emptied. An account that is
/// not in ``forgotten`` has the same number, or ``floor`` if ``floor`` is larger.
struct CacheGenerations: Sendable {
    private var last: Int64 = 0
    private var emptied: Int64 = 0
    /// The number of each account that is not in ``forgotten``: the largest number that was evicted.
    private var floor: Int64 = 0
    /// The keys are identities without further texts. The table itself has no limit: ``forget(_:)`` removes the excess, because that
    /// function needs the number of each removed account.
    private var forgotten = BoundedTable<CredentialIdentity, Int64>(limit: .max)

    /// Returns the number of a partition.
    func current(of partition: CacheKey.Partition) -> Int64 {
        guard case .account(let identity) = partition else { return emptied }
        // Most stores have forgotten no account, and a look-up must stay cheap.
        if forgotten.isEmpty { return max(emptied, floor) }
        return max(emptied, forgotten[identity.ofAccount] ?? floor)
    }

    /// Begins a new generation of an account.
    mutating func forget(_ identity: CredentialIdentity) {
        last += 1
        forgotten.update(identity.ofAccount, default: last) { $0 = last }
        while forgotten.count > CacheLimits.forgottenAccounts,
            let (_, number) = forgotten.removeLeastRecentlyUsed()
        { floor = max(floor, number) }
    }

    /// Begins a new generation of every partition.
    mutating func empty() {
        last += 1
        emptied = last
        forgotten = BoundedTable(limit: .max)
    }
}
