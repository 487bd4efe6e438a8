#if NIO
/// Which key an exchange uses that could use two of them.
extension PoolMachine {
    /// Prefers a key: exchanges that could also use connections of another key use those of this one, as long as it has connections or waiters.
    mutating func prefer(_ key: Key) {
        guard let index = groups.index(forKey: key), !groups.values[index].isPreferred else { return }
        groups.values[index].isPreferred = true
        preferredCount += 1
    }

    /// Whether a key is preferred: see ``isPreferred(_:)``.
    var hasPreferences: Bool { preferredCount > 0 }

    func isPreferred(_ key: Key) -> Bool { groups[key]?.isPreferred ?? false }
}
#endif
