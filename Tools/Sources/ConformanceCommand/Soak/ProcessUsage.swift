import Foundation

/// What this process uses now. On systems without `/proc`, all counts are 0.
struct ProcessUsage {
    var residentBytes: Int
    /// Sockets, pipes and files; not the descriptors of event loops and timers.
    var descriptors: Int

    /// glibc's `malloc_trim`, which Swift's module of it lacks: memory that is free, and only kept by the allocator, is no growth.
    private static let trimHeap: (@convention(c) (Int) -> Int32)? = dlsym(nil, "malloc_trim").map {
        unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }

    init() {
        _ = Self.trimHeap?(0)
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
        residentBytes = (pages.flatMap { Int($0) } ?? 0) * Int(getpagesize())
        let folder = "/proc/self/fd"
        descriptors = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).count { name in
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else { return false }
            return !target.hasPrefix("anon_inode:") && !target.hasPrefix("/proc/")
        }
    }
}
