import Foundation

/// Measures what reads and writes bodies and fields: throughput, allocations, and time compared with a peer in the same run.
///
/// Arguments: `--check` fails over budget; `--rounds N` (25 by default, 7 with `--check`); `--only TEXT` measures the cases whose
/// names contain it.
@main
struct FormatBenchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let isCheck = arguments.contains("--check")
        func value(of name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        let rounds = max(1, value(of: "--rounds").flatMap { Int($0) } ?? (isCheck ? 7 : 25))
        let only = value(of: "--only")
        let all = try StreamCases.all() + MultipartCases.all() + FieldCases.all() + JSONCases.all() + CookieCases.all()
        let cases = all.filter { only == nil || $0.name.contains(only ?? "") }

        print("| what | MB/s | time | allocations | peer | its MB/s | time ÷ peer |")
        print("| --- | --: | --: | --: | --- | --: | --: |")
        var overBudget: [String] = []
        for measured in cases {
            var figures = try await measure(measured, rounds: rounds)
            // Other work may have met every round.
            if isCheck, !measured.isWithinBudget(figures) { figures = try await measure(measured, rounds: 5 * rounds) }
            print(
                "| \(measured.name) | \(whole(figures.megabytesPerSecond)) | \(time(figures.nanosecondsPerUnit)) "
                    + "| \(digits(figures.allocationsPerUnit, 1)) | \(measured.peerName) | \(whole(figures.peerMegabytesPerSecond)) "
                    + "| \(digits(figures.ratio, 2)) |")
            if !measured.isWithinBudget(figures) {
                let (ratio, allocations) = measured.budget
                overBudget.append("\(measured.name): over budget, which is \(ratio) times the peer and \(allocations) allocations")
            }
        }
        guard isCheck, !overBudget.isEmpty else { return }
        print(overBudget.joined(separator: "\n"))
        // An error that is thrown here would end the process before it has written its output.
        exit(1)
    }

    /// Runs off the main actor, as the code of servers and models does.
    @concurrent private static func measure(_ measured: Measured, rounds: Int) async throws -> Measured.Figures {
        try await measured.figures(rounds: rounds)
    }

    private static func whole(_ number: Double) -> String { String(format: "%.0f", number) }
    private static func digits(_ number: Double, _ count: Int) -> String { String(format: "%.\(count)f", number) }
    private static func time(_ nanoseconds: Double) -> String {
        nanoseconds < 1000 ? "\(whole(nanoseconds)) ns" : "\(digits(nanoseconds / 1000, 1)) µs"
    }
}
