internal import ErrandCore
internal import Synchronization

/// The origins that refuse a coding in requests, each for one hour at most.
final class RefusedCodings: Sendable {
    private struct Key: Hashable, Sendable {
        let origin: Origin?
        let coding: ContentCoding
    }

    /// The largest number of entries. If the table is full, the least recently used entry is removed.
    static let limit = 1000
    /// The duration after which a coding is tried again, because the server may have added support for the coding.
    static let lifetime: Duration = .seconds(3600)

    private let entries = Mutex(BoundedTable<Key, Duration>(limit: limit))
    private let now: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { now = makeStopwatch(on: clock) }

    func contains(_ coding: ContentCoding, at origin: Origin?) -> Bool {
        let key = Key(origin: origin, coding: coding)
        return entries.withLock { entries in
            guard let since = entries.updateIfPresent(key, { $0 }) else { return false }
            guard now() - since >= Self.lifetime else { return true }
            entries.removeValue(forKey: key)
            return false
        }
    }

    /// Records whether an origin accepts a coding.
    func record(_ coding: ContentCoding, at origin: Origin?, isAccepted: Bool) {
        let key = Key(origin: origin, coding: coding)
        entries.withLock { entries in
            if isAccepted { entries.removeValue(forKey: key) } else { entries.update(key, default: .zero) { $0 = now() } }
        }
    }
}
