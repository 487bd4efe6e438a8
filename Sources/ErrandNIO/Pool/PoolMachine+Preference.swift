#if NIO
/// Which of two keys the exchanges use that could use both.
extension PoolMachine {
    /// Exchanges that could use connections of another key are to use those of this one, until there are none.
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
