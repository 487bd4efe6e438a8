extension Duration {
    /// The duration in the form that labels, errors, logs and profiles show: `2 min`, `30 s`, `1.5 s`, `250 ms`, `0.2 ms`.
    ///
    /// - A duration of whole hours is shown in hours. Any other duration of whole minutes is shown in minutes.
    /// - Any other duration of at least 1 s is shown in seconds, rounded to a millisecond.
    /// - A shorter duration of at least 10 ms is shown in whole milliseconds.
    /// - A shorter duration of at least 1 µs is shown in milliseconds, rounded to a microsecond.
    /// - A shorter duration is shown in whole nanoseconds, or as `<1 ns` if the rounded number is 0. Only zero is shown as
    ///   zero.
    package var inWords: String {
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

extension Int64 {
    /// The number of bytes in the form that labels show: `16 MiB`, `64 KiB`, `5000 bytes`. The unit is the largest unit of which the number
    /// is a whole multiple.
    package var bytesInWords: String {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] where self != 0 && self & (1 << shift - 1) == 0 {
            return "\(self >> shift) \(unit)"
        }
        return counted("byte")
    }
}

extension Double {
    /// The number with at most three digits after the decimal point, and without a decimal point if these digits are zeros.
    package var inWords: String {
        let rounded = (self * 1000).rounded() / 1000
        return abs(rounded) < 1e15 && rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
    }

    /// The number with its noun: `1 retry`, `2.5 retries`.
    package func counted(_ one: String, _ many: String) -> String { "\(inWords) \((self * 1000).rounded() == 1000 ? one : many)" }

    /// The share as a percentage: `50 %`, `99.9 %`.
    package var inPercent: String { "\((self * 100).inWords) %" }
}
