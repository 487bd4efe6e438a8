import Foundation

/// Numbers of bytes and times, as a person reads them.
enum TransferSize {
    /// A number of bytes: `950 B`, `1.2 kB`, `34.5 MB`. 1 kB is 1,000 bytes.
    static func text(_ bytes: Double) -> String {
        for (unit, scale) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] where bytes >= scale {
            return "\((bytes / scale * 10).rounded() / 10) \(unit)"
        }
        return "\(Int(bytes)) B"
    }

    static func text(_ bytes: Int64) -> String { text(Double(bytes)) }

    /// A number of bytes, and the number of all bytes, if it is known: `1.2 MB of 3.4 MB`.
    static func text(_ bytes: Int64, of total: Int64?) -> String { text(bytes) + (total.map { " of \(text($0))" } ?? "") }

    /// A time: `0.5 s`, `42 s`, `3 min 5 s`, `2 h 7 min`.
    static func text(_ time: Duration) -> String {
        let seconds = max(0, time / .seconds(1))
        guard seconds >= 10 else { return "\(((seconds * 10).rounded() / 10).shortText) s" }
        let whole = Int(min(seconds, 1e9).rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min" + (whole % 60 == 0 ? "" : " \(whole % 60) s") }
        let minutes = whole % 3600 / 60
        return "\(whole / 3600) h" + (minutes == 0 ? "" : " \(minutes) min")
    }
}
