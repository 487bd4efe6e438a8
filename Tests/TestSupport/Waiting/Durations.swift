extension [Duration] {
    /// Returns the largest number of these instants in any half-open window of the given length. The instants must be in order.
    public func mostIn(_ window: Duration) -> Int {
        var (first, most) = (0, 0)
        for (index, instant) in enumerated() {
            while self[first] + window <= instant { first += 1 }
            most = Swift.max(most, index - first + 1)
        }
        return most
    }
}
