/// Writes a line to standard error in debug builds. Does nothing in release builds.
func writeDebugLine(_ line: String) {
    #if DEBUG
    let standardError: Int32 = 2
    let octets = Array((line + "\n").utf8)
    _ = octets.withUnsafeBytes { FileCalls.system.write(standardError, $0) }
    #endif
}
