// On Linux, the headers of CoreFoundation include those of the C library. Which of both modules owns `timespec` depends on the order in
// which the compiler loads the modules. Therefore this file imports both.

#if canImport(CoreFoundation)
internal import CoreFoundation
#endif

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Returns the processor time of this thread, in seconds.
func processorTime() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
