/// The times of ends: from the moment when a call was cancelled, its deadline passed or a shutdown was requested, to the return to the
/// caller.
///
/// The memory for the figures is allocated at the start, so ends do not count as growth.
struct SoakEnds {
    enum Kind: String, CaseIterable {
        case cancel, deadline
        /// A call whose transport was shut down.
        case shutdown = "call at a shutdown"
        case wholeShutdown = "shutdown()"
    }

    struct Figures {
        var count: Int
        var half, most, nearlyAll, longest: Duration

        var text: String {
            "\(count): p50 \(SoakEnds.milliseconds(half)), p99 \(SoakEnds.milliseconds(most)), "
                + "p99.9 \(SoakEnds.milliseconds(nearlyAll)), longest \(SoakEnds.milliseconds(longest))"
        }
    }

    private struct Table {
        /// The number of ends that took at least `index` times 0.1 ms, and less than 0.1 ms more. The last also counts longer ends.
        var counts = [UInt32](repeating: 0, count: 20_000)
        var longest = Duration.zero

        mutating func add(_ time: Duration) {
            longest = max(longest, time)
            counts[min(counts.count - 1, max(0, Int(time / .microseconds(100))))] += 1
        }
    }

    private var tables: [Table] = Kind.allCases.map { _ in Table() }

    mutating func add(_ kind: Kind, _ time: Duration) { tables[Kind.allCases.firstIndex(of: kind) ?? 0].add(time) }

    /// - Parameter kind: the kind of the ends; `nil` for all kinds.
    func figures(_ kind: Kind? = nil) -> Figures {
        let chosen = zip(Kind.allCases, tables).filter { kind == nil || $0.0 == kind }.map(\.1)
        let counts = chosen.dropFirst().reduce(chosen[0].counts) { sums, table in zip(sums, table.counts).map(+) }
        let count = counts.reduce(0) { $0 + Int($1) }
        let longest = chosen.map(\.longest).max() ?? .zero
        func quantile(_ part: Double) -> Duration {
            var rest = Int((Double(count) * part).rounded(.up))
            for (index, number) in counts.dropLast().enumerated() {
                rest -= Int(number)
                if rest <= 0 { return min(longest, .microseconds(100 * (index + 1))) }
            }
            return longest
        }
        return Figures(count: count, half: quantile(0.5), most: quantile(0.99), nearlyAll: quantile(0.999), longest: longest)
    }

    static func milliseconds(_ time: Duration) -> String {
        let tenths = Int((time / .microseconds(100)).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
