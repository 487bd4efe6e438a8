import Errand

/// The state of one transfer, as a line for a person.
struct TransferRow: Sendable, Equatable {
    enum Phase: Sendable, Equatable {
        case connecting
        case transferring
        /// The transfer continues after this wait.
        case waiting(Duration, reason: String)
        case verifying
    }

    /// The name of the file, without control characters.
    var name: String
    var phase = Phase.connecting
    /// The first byte of this run.
    var offset: Int64 = 0
    var bytes: Int64 = 0
    /// `nil` if the length is not known.
    var total: Int64?
    /// In bytes per second; `nil` if the rate is not known.
    var rate: Double?
    /// `nil` if the time is not known.
    var timeLeft: Duration?

    /// The part of the bytes that has been transferred, from 0 to 1; `nil` if the length is not known.
    var fraction: Double? { total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 } }

    /// Takes the values of a state. The last states change nothing: the result of a transfer is reported elsewhere.
    mutating func update(_ state: TransferState) {
        switch state.phase {
        case .idle, .complete, .failed: return
        case .connecting, .paused: phase = .connecting
        case .transferring: phase = .transferring
        case .waiting(let wait, let error): phase = .waiting(wait, reason: Self.reason(error))
        case .verifying: phase = .verifying
        }
        (bytes, total) = (state.progress.bytes, state.progress.total)
        (rate, timeLeft) = (state.bytesPerSecond, state.timeLeft)
    }

    /// The description of an error without the request, which the name of the file stands for.
    private static func reason(_ error: any Error) -> String {
        let text = "\(error)"
        guard let request = (error as? any RequestFailure)?.request, text.hasOctetPrefix("\(request): ") else { return text }
        return String(text.utf8.dropFirst("\(request): ".utf8.count)) ?? text
    }

    // MARK: - Lines

    /// The line of a list of bars.
    ///
    /// - Parameters:
    ///   - width: the number of columns of the terminal. The line is shorter by one column, because some terminals begin a new line after
    ///     the last column.
    ///   - nameWidth: the number of columns for the name.
    func bar(width: Int, nameWidth: Int) -> String {
        let limit = max(0, width - 1)
        let start = Columns.padded(name, to: min(nameWidth, limit)) + "  "
        var parts = parts
        while parts.count > 1, Columns.count(start + parts.joined(separator: "  ")) > limit { parts.removeLast() }
        let end = parts.joined(separator: "  ")
        let room = limit - Columns.count(start) - Columns.count(end) - 4
        guard let fraction, room >= 10 else { return Columns.cut(start + end, to: limit) }
        let length = min(room, 30)
        let done = Int((fraction * Double(length)).rounded(.down))
        let bar = String(repeating: "=", count: done) + String(repeating: " ", count: length - done)
        return "\(start)[\(bar)]  \(end)"
    }

    /// The parts of a bar's line. On a narrow terminal, the last parts are left out.
    private var parts: [String] {
        let percent = fraction.map { share in
            let number = "\(Int(share * 100)) %"
            return String(repeating: " ", count: max(0, 5 - number.utf8.count)) + number
        }
        let start = percent.map { [$0] } ?? []
        switch phase {
        case .connecting: return bytes > 0 ? start + ["connecting"] : ["connecting"]
        case .waiting(let wait, let reason): return start + ["continues in \(TransferSize.text(wait)): \(reason)"]
        case .verifying: return start + ["checking the digest"]
        case .transferring:
            return start + [TransferSize.text(bytes, of: total)] + (rate.map { ["\(TransferSize.text($0))/s"] } ?? [])
                + (timeLeft.map { ["\(TransferSize.text($0)) left"] } ?? [])
        }
    }

    /// The line without a terminal, such as `a.zip: 1.2 MB of 2.4 MB (50 %), 300.0 kB/s, 4 s left`.
    var text: String {
        switch phase {
        case .connecting: return "\(name): connecting"
        case .waiting(let wait, let reason): return "\(name): \(reason); continues in \(TransferSize.text(wait))"
        case .verifying: return "\(name): checking the digest"
        case .transferring:
            let percent = fraction.map { " (\(Int($0 * 100)) %)" } ?? ""
            return "\(name): \(TransferSize.text(bytes, of: total))\(percent)" + (rate.map { ", \(TransferSize.text($0))/s" } ?? "")
                + (timeLeft.map { ", \(TransferSize.text($0)) left" } ?? "")
        }
    }
}

/// Decides which states of a transfer become lines, if there is no terminal.
struct TransferLines: Sendable {
    static let interval: Duration = .seconds(5)
    static let shortestInterval: Duration = .seconds(1)

    private var shown: (row: TransferRow, time: Duration)?

    /// Returns the line for a state; `nil` if the state is not shown. The first line is written when the first bytes can arrive. The next
    /// line is written after 10 % of the content, but not within a second, or after 5 s.
    ///
    /// - Parameter time: the time since the start of the command.
    mutating func line(for row: TransferRow, at time: Duration) -> String? {
        switch row.phase {
        case .connecting: return nil
        case .waiting, .verifying:
            guard shown?.row.phase != row.phase else { return nil }
        case .transferring:
            guard let shown else {
                self.shown = (row, time)
                guard row.offset > 0 else { return "\(row.name): begins\(row.total.map { ", \(TransferSize.text($0))" } ?? "")" }
                return "\(row.name): continues at \(TransferSize.text(row.offset, of: row.total))"
            }
            let passed = time - shown.time
            let progress = (row.fraction ?? 0) - (shown.row.fraction ?? 0)
            guard passed >= Self.interval || (passed >= Self.shortestInterval && progress >= 0.1) else { return nil }
        }
        shown = (row, time)
        return row.text
    }
}

/// The columns that a text has on a terminal.
enum Columns {
    static func count(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width(of: $1) } }

    /// The beginning of a text, in at most `limit` columns.
    static func cut(_ text: String, to limit: Int) -> String {
        var left = limit
        var end = text.unicodeScalars.startIndex
        while end < text.unicodeScalars.endIndex {
            left -= width(of: text.unicodeScalars[end])
            if left < 0 { break }
            text.unicodeScalars.formIndex(after: &end)
        }
        return String(text.unicodeScalars[..<end])
    }

    /// A text in exactly `count` columns. A longer text ends with dots.
    static func padded(_ text: String, to count: Int) -> String {
        var text = text
        if self.count(text) > count { text = cut(text, to: max(0, count - 2)) + String(repeating: ".", count: min(2, count)) }
        return text + String(repeating: " ", count: max(0, count - self.count(text)))
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
