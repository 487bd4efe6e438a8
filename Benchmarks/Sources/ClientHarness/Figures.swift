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

/// Times and allocations of this process, at a moment.
struct Figures {
    var wallNanoseconds: Double
    var userNanoseconds: Double
    var systemNanoseconds: Double
    var allocations: Double

    static func now() -> Figures {
        let allocations = errand_allocation_count()
        var usage = rusage()
        _ = getrusage(who, &usage)
        return Figures(
            wallNanoseconds: Double(Share.now()), userNanoseconds: nanoseconds(usage.ru_utime),
            systemNanoseconds: nanoseconds(usage.ru_stime), allocations: Double(allocations))
    }

    private static func nanoseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3 }

    /// Returns the line that `Benchmarks/run` reads: what one request took since an earlier moment.
    func line(since before: Figures, _ share: Share) -> String {
        let requests = Double(share.latencies.count)
        let latencies = share.latencies.sorted()
        // The nearest rank: the latency that so many of a hundred requests don't exceed.
        func percentile(_ part: Int) -> Int64 { latencies[(latencies.count * part + 99) / 100 - 1] }
        return """
            wall_ns=\((wallNanoseconds - before.wallNanoseconds) / requests) \
            user_ns=\((userNanoseconds - before.userNanoseconds) / requests) \
            system_ns=\((systemNanoseconds - before.systemNanoseconds) / requests) \
            allocations=\((allocations - before.allocations) / requests) bytes=\(Double(share.bytes) / requests) \
            p50_ns=\(percentile(50)) p99_ns=\(percentile(99))
            """
    }
}

/// What some requests, made one after the other, have received, and how long each of them took.
public struct Share: Sendable {
    /// The bytes of all bodies. Of an upload: those that the server received.
    public private(set) var bytes = 0
    /// Nanoseconds, from the end of the request before.
    private(set) var latencies: [Int64] = []
    private var last = Self.now()

    /// Begins; reserves the memory, so that measuring allocates nothing.
    public init(count: Int) { latencies.reserveCapacity(count) }

    /// Records the end of a request.
    public mutating func add(_ bytes: Int) {
        let now = Self.now()
        latencies.append(now - last)
        last = now
        self.bytes += bytes
    }

    mutating func add(_ other: Share) {
        bytes += other.bytes
        latencies += other.latencies
    }

    /// A moment in nanoseconds, without what `ContinuousClock` adds.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
