internal import ErrandCore

/// The rate of a transfer: an average in which recent bytes count more, with a time constant of 5 s.
struct TransferRate: Sendable {
    /// The time constant of the average.
    static let timeConstantSeconds = 5.0
    /// For this time after the head of a response, the rate is not known.
    static let settling: Duration = .seconds(2)

    private var start: Duration?
    private var last = Duration.zero
    private var pending: Int64 = 0
    private var average: Double?

    /// Records bytes.
    ///
    /// - Parameters:
    ///   - count: the number of new bytes. Bytes of earlier connections do not count.
    ///   - time: the time since any fixed instant.
    mutating func record(_ count: Int64, at time: Duration) {
        guard start != nil else {
            (start, last) = (time, time)
            return
        }
        pending += count
        let seconds = (time - last) / .seconds(1)
        // A very short interval would give a rate that says nothing.
        guard seconds >= 0.1 else { return }
        let rate = Double(pending) / seconds
        let weight = 1 - exponential(-seconds / Self.timeConstantSeconds)
        average = average.map { $0 + weight * (rate - $0) } ?? rate
        (pending, last) = (0, time)
    }

    /// Returns the rate in bytes per second; `nil` in the first 2 s of a body.
    func bytesPerSecond(at time: Duration) -> Double? {
        guard let start, let average, time - start >= Self.settling else { return nil }
        return average
    }

    /// Returns a rate in words: `950 B/s`, `1.2 kB/s`, `34 MB/s`. 1 kB is 1,000 bytes.
    static func inWords(_ bytesPerSecond: Double) -> String {
        var (number, power) = (max(0, bytesPerSecond), 0)
        let units = ["B/s", "kB/s", "MB/s", "GB/s"]
        while number >= 999.5, power + 1 < units.count { (number, power) = (number / 1_000, power + 1) }
        let tenths = Int((min(number, 1e9) * 10).rounded())
        let text = number < 10 && power > 0 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(min(number, 1e9).rounded()))"
        return "\(text) \(units[power])"
    }
}
