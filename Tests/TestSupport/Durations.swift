extension [Duration] {
    /// The most of these instants, which are in order, in any half-open window.
    public func mostIn(_ window: Duration) -> Int {
        var (first, most) = (0, 0)
        for (index, instant) in enumerated() {
            while self[first] + window <= instant { first += 1 }
            most = Swift.max(most, index - first + 1)
        }
        return most
    }
}
