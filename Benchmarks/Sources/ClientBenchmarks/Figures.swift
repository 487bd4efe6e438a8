internal import CAllocations

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

#if canImport(Glibc)
private let who = RUSAGE_SELF.rawValue
#else
private let who = RUSAGE_SELF
#endif

/// Times and allocations: of this process at a moment, or of one request.
struct Figures: CustomStringConvertible {
    var wallNanoseconds: Double
    var userNanoseconds: Double
    var systemNanoseconds: Double
    var allocations: Double
    var bytes = 0.0

    private static let start = ContinuousClock.now

    static func now() -> Figures {
        let allocations = errand_allocation_count()
        var usage = rusage()
        _ = getrusage(who, &usage)
        return Figures(
            wallNanoseconds: start.duration(to: .now) / .nanoseconds(1), userNanoseconds: nanoseconds(usage.ru_utime),
            systemNanoseconds: nanoseconds(usage.ru_stime), allocations: Double(allocations))
    }

    private static func nanoseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3 }

    func since(_ before: Figures, bytes: Int, requests: Int) -> Figures {
        let requests = Double(requests)
        return Figures(
            wallNanoseconds: (wallNanoseconds - before.wallNanoseconds) / requests,
            userNanoseconds: (userNanoseconds - before.userNanoseconds) / requests,
            systemNanoseconds: (systemNanoseconds - before.systemNanoseconds) / requests,
            allocations: (allocations - before.allocations) / requests, bytes: Double(bytes) / requests)
    }

    /// Returns the median of each figure.
    static func median(of all: [Figures]) -> Figures {
        func median(_ figure: KeyPath<Figures, Double>) -> Double { all.map { $0[keyPath: figure] }.sorted()[all.count / 2] }
        return Figures(
            wallNanoseconds: median(\.wallNanoseconds), userNanoseconds: median(\.userNanoseconds),
            systemNanoseconds: median(\.systemNanoseconds), allocations: median(\.allocations), bytes: median(\.bytes))
    }

    var description: String {
        "wall_ns=\(wallNanoseconds) user_ns=\(userNanoseconds) system_ns=\(systemNanoseconds) allocations=\(allocations) bytes=\(bytes)"
    }
}
