#if SWIFT_NIO
/// The choice between two keys that an exchange could use.
extension PoolMachine {
    /// Prefers a key: if the key has connections or waiters, an exchange that could also use another key uses the preferred key.
    mutating func prefer(_ key: Key) {
        guard let index = groups.index(forKey: key), !groups.values[index].isPreferred else { return }
        groups.values[index].isPreferred = true
        preferredCount += 1
    }

    /// Whether any key is preferred.
    var hasPreferences: Bool { preferredCount > 0 }

    func isPreferred(_ key: Key) -> Bool { groups[key]?.isPreferred ?? false }
}
#endif
