import CAllocator
import Foundation

/// The resources that this process uses now. On systems without `/proc`, `residentBytes` and `descriptors` are 0.
struct ProcessUsage {
    var residentBytes: Int
    /// The bytes that are allocated and not freed. The resident size also counts free pages, but no untouched pages.
    var liveBytes: Int
    /// Sockets, pipes and files; not the descriptors of event loops and timers.
    var descriptors: Int

    init() {
        #if canImport(Glibc)
        // Free memory that the allocator keeps does not count as growth.
        _ = malloc_trim(0)
        #endif
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
        residentBytes = (pages.flatMap { Int($0) } ?? 0) * Int(getpagesize())
        liveBytes = Int(live_bytes())
        let folder = "/proc/self/fd"
        descriptors = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).count { name in
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else { return false }
            return !target.hasPrefix("anon_inode:") && !target.hasPrefix("/proc/")
        }
    }
}
