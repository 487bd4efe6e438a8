extension Duration {
    /// This duration as every text shows it, such as labels, errors, logs and profiles: `2 min`, `30 s`, `1.5 s`, `250 ms`, `0.2 ms`.
    ///
    /// A whole number of hours or minutes is shown as such. Anything else from 1 s on is shown in seconds, to the millisecond. Below, it is
    /// shown in milliseconds: whole ones from 10 ms on, and to the microsecond below. What is shorter than 1 µs is shown in whole nanoseconds,
    /// and what would be 0 ns as `<1 ns`: only zero is shown as zero.
    public var inWords: String {
        let milliseconds = self / .milliseconds(1)
        if milliseconds == 0 { return "0 s" }
        let nanoseconds = (milliseconds * 1_000_000).rounded()
        if nanoseconds == 0 { return "<1 ns" }
        if abs(nanoseconds) < 1000 { return "\(nanoseconds.inWords) ns" }
        let whole = milliseconds.rounded()
        guard abs(whole) >= 1000 else { return "\((abs(milliseconds) < 10 ? milliseconds : whole).inWords) ms" }
        let seconds = whole / 1000
        for (unit, length) in [("h", 3600), ("min", 60)] as [(String, Double)]
        where seconds.truncatingRemainder(dividingBy: length) == 0 {
            return "\((seconds / length).inWords) \(unit)"
        }
        return "\(seconds.inWords) s"
    }
}

extension Double {
    /// With at most three digits after the point, and none where they are zeros.
    public var inWords: String {
        let rounded = (self * 1000).rounded() / 1000
        return abs(rounded) < 1e15 && rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
    }

    /// A share as a percentage: `50 %`, `99.9 %`.
    public var inPercent: String { "\((self * 100).inWords) %" }
}
