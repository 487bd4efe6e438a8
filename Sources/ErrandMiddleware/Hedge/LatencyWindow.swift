/// The recent response times of an origin: a histogram of the current and the previous half of a window. From 16 µs on, the error of each
/// value is at most one sixteenth of the value.
///
/// The size of the type is bounded. Adding a value takes constant time. Computing a percentile takes time proportional to the number of
/// buckets.
package struct LatencyWindow: Sendable {
    /// The number of doublings from 1 µs to the longest distinct value, about 11 hours.
    private static let octaves = 36
    private static let cellsPerOctave = 16

    private let half: Duration
    private var current: [UInt32] = []
    private var previous: [UInt32] = []
    private var currentCount = 0
    private var previousCount = 0
    private var began: Duration

    package init(window: Duration, at now: Duration) {
        (half, began) = (window / 2, now)
    }

    /// The number of values.
    package var count: Int { currentCount + previousCount }

    package mutating func add(_ latency: Duration, at now: Duration) {
        advance(to: now)
        if current.isEmpty { current = Array(repeating: 0, count: Self.octaves * Self.cellsPerOctave) }
        current[Self.cell(of: latency)] += 1
        currentCount += 1
    }

    /// Returns a duration that at least `share` of the values do not exceed: the upper bound of the first such bucket. `nil` if there are
    /// fewer than `least` values.
    package mutating func percentile(_ share: Double, of least: Int, at now: Duration) -> Duration? {
        advance(to: now)
        guard count >= max(1, least) else { return nil }
        var rest = Int((share * Double(count)).rounded(.up))
        for cell in 0..<Self.octaves * Self.cellsPerOctave {
            if !current.isEmpty { rest -= Int(current[cell]) }
            if !previous.isEmpty { rest -= Int(previous[cell]) }
            if rest <= 0 { return Self.upperBound(of: cell) }
        }
        return nil
    }

    private mutating func advance(to now: Duration) {
        guard now - began >= half else { return }
        // If a whole window had no value, the older values are outdated.
        let isStale = now - began >= half * 2
        (previous, previousCount) = isStale ? ([], 0) : (current, currentCount)
        (current, currentCount, began) = ([], 0, now)
    }

    /// Returns the index of a latency's bucket. Below 16 µs, each microsecond has a bucket. From 16 µs on, each power of two is divided
    /// into 16 buckets.
    private static func cell(of latency: Duration) -> Int {
        let microseconds = UInt64(max(0, min(latency / .microseconds(1), 4e10)))
        guard microseconds >= 16 else { return Int(microseconds) }
        let octave = 63 - microseconds.leadingZeroBitCount
        let cell = (octave - 3) * cellsPerOctave + Int((microseconds >> UInt64(octave - 4)) & 15)
        return min(cell, octaves * cellsPerOctave - 1)
    }

    private static func upperBound(of cell: Int) -> Duration {
        guard cell >= 16 else { return .microseconds(cell + 1) }
        let octave = cell / cellsPerOctave + 3
        let step = UInt64(1) << UInt64(octave - 4)
        return .microseconds(Int64((UInt64(cell % cellsPerOctave) + 17) * step))
    }
}
