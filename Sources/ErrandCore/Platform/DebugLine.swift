#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Writes a line to standard error in debug builds. Does nothing in release builds.
func writeDebugLine(_ line: String) {
    #if DEBUG
    let octets = Array((line + "\n").utf8)
    _ = octets.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    #endif
}
