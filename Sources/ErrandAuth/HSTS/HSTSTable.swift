#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The noted hosts, and the entries that the store does not have yet. The owner of the table provides the lock and the time.
struct HSTSTable: Sendable {
    private struct Entry: Sendable {
        var host: HSTSHost
        /// The time of the host's entry that the store has, or will have after the next write.
        var stored: HTTPDate
    }

    private let isStored: Bool
    private var entries = BoundedTable<String, Entry>(limit: HSTSList.limit)
    private var changes = BoundedTable<String, HSTSHost>(limit: HSTSList.limit)
    /// The time of the last removal of all hosts, until the store has removed its hosts.
    private var removal: HTTPDate?
    /// Whether the hosts of the store are among the entries.
    private(set) var isLoaded = false
    private var nextLoad: HTTPDate?
    private var failure: (any Error)?

    init(isStored: Bool) { self.isStored = isStored }

    /// The number of noted hosts, including hosts that have expired.
    var count: Int { entries.count }

    var hosts: [HSTSHost] { entries.entries.map(\.value.host) }

    /// The entry of a name, which may have expired.
    subscript(name: String) -> HSTSHost? { entries[name]?.host }

    // MARK: - Notes

    /// Records an entry. Returns whether the store needs the entry.
    ///
    /// Most responses of a host repeat the same policy. The store needs such a repetition only if a tenth of the lifetime, or a day, has
    /// passed since the last stored entry. If the store needed every repetition, each response would write the file.
    mutating func note(_ host: HSTSHost) -> Bool {
        let name = host.name
        let known = entries[name]
        if host.isRemoved {
            // A store that was not read yet may have the host.
            let wasKnown = entries.removeValue(forKey: name) != nil
            let mayBeStored = isStored && !isLoaded && changes[name]?.isRemoved != true
            return wasKnown || mayBeStored ? record(host) : false
        }
        let isRepetition = known.map { Self.isRepetition(host, of: $0) } ?? false
        let entry = Entry(host: host, stored: isRepetition ? known?.stored ?? host.noted : host.noted)
        entries.update(name, default: entry) { $0 = entry }
        return isRepetition ? false : record(host)
    }

    private static func isRepetition(_ host: HSTSHost, of known: Entry) -> Bool {
        guard known.host.isKnown(at: host.noted), known.host.includesSubdomains == host.includesSubdomains,
            let lifetime = host.lifetime, lifetime == known.host.lifetime
        else { return false }
        return known.stored.duration(to: host.noted) < min(.seconds(86_400), max(.seconds(1), lifetime / 10))
    }

    private mutating func record(_ host: HSTSHost) -> Bool {
        guard isStored else { return false }
        changes.update(host.name, default: host) { $0 = host }
        return true
    }

    /// Removes all hosts, and records the removals for the store. The store may have more hosts, which the next write removes.
    mutating func removeAll(at now: HTTPDate) {
        let hosts = hosts
        entries = BoundedTable(limit: HSTSList.limit)
        removal = isStored ? now : nil
        for host in hosts { _ = record(host.removed(at: now)) }
    }

    // MARK: - Loading

    /// Whether the store may be read again after a failure.
    func mayLoad(at now: HTTPDate) -> Bool { nextLoad.map { $0 <= now } ?? true }

    /// Records a failure of the store.
    ///
    /// - Parameter nextLoad: the time when the store may be read again; `nil`, the default, for a failed write.
    mutating func fail(_ error: any Error, nextLoad: HTTPDate? = nil) { (failure, self.nextLoad) = (error, nextLoad ?? self.nextLoad) }

    mutating func takeFailure() -> (any Error)? {
        defer { failure = nil }
        return failure
    }

    /// Adds the hosts of the store to the table. If the table has a later entry of a host, the later entry is kept. Hosts from before a
    /// removal of all hosts are not added, and are recorded as removed.
    mutating func adopt(_ stored: [HSTSHost]) {
        isLoaded = true
        var hosts: [String: Entry] = [:]
        var isChanged = false
        for host in stored where changes[host.name] == nil {
            let known = entries[host.name]?.host
            if host == known || host.noted < known?.noted ?? host.noted || host.isRemoved && known == nil { continue }
            if let removal, known == nil, host.noted <= removal {
                _ = record(host.removed(at: removal))
                continue
            }
            hosts[host.name] = Entry(host: host, stored: host.noted)
            isChanged = true
        }
        guard isChanged else { return }
        // The hosts are added in the order of their times, so that the oldest host is dropped first.
        let all = Dictionary(entries.entries.map { ($0.key, $0.value) }) { first, _ in first }.merging(hosts) { _, new in new }
        entries = BoundedTable(limit: HSTSList.limit)
        for entry in all.values.sorted(by: { $0.host.noted < $1.host.noted }) where !entry.host.isRemoved {
            entries.update(entry.host.name, default: entry) { _ in }
        }
    }

    // MARK: - Writing

    /// The changes of one write.
    struct Batch: Sendable {
        /// The entries that the store does not have.
        let notes: [HSTSHost]
        fileprivate let removal: HTTPDate?
    }

    /// Whether the store lacks a change.
    var isPending: Bool { !changes.isEmpty || removal != nil }

    /// The changes that the store lacks.
    var batch: Batch { Batch(notes: changes.entries.map(\.value), removal: removal) }

    /// Records that the store has these changes, and adds the hosts of the store to the table.
    mutating func finish(_ written: Batch, _ stored: [HSTSHost]) {
        // A host may have received a newer entry during the write.
        for host in written.notes where changes[host.name] == host { changes.removeValue(forKey: host.name) }
        // Another process may have stored hosts before the removal.
        adopt(stored)
        if removal == written.removal { removal = nil }
    }
}

extension HSTSHost {
    /// Returns the entry that removes the host.
    fileprivate func removed(at date: HTTPDate) -> HSTSHost {
        HSTSHost(checked: name, includesSubdomains: includesSubdomains, expires: date, noted: date)
    }

    /// The time from the entry to the expiry; `nil` if the entry has no expiry.
    fileprivate var lifetime: Duration? { expires.map { noted.duration(to: $0) } }
}
#endif
