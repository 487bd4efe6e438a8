public import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// This very program, started again for one of its tests.
public enum OwnProgram {
    private static let link = "/proc/self/exe"

    /// Whether it can be found: on Linux.
    public static var isKnown: Bool { FileManager.default.fileExists(atPath: link) }

    /// Starts the program, only for the test with this name. What it writes is lost.
    ///
    /// - Parameter launcher: a program with arguments that runs the test program, such as `strace`; empty if it is started directly.
    public static func start(test name: String, environment: [String: String], by launcher: [String] = []) throws -> Process {
        let process = Process()
        let program = URL(fileURLWithPath: link).resolvingSymlinksInPath()
        let arguments = ["--testing-library", "swift-testing", "--filter", name]
        process.executableURL = launcher.isEmpty ? program : URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = launcher.isEmpty ? arguments : launcher + [program.path] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 })
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try Socket.withoutBlockedSignals { try process.run() }
        return process
    }

    /// Ends a process by SIGKILL: it can do nothing more.
    public static func kill(_ process: Process) { _ = signal(process.processIdentifier, SIGKILL) }

    private static func signal(_ process: pid_t, _ number: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.kill(process, number)
        #elseif canImport(Musl)
        Musl.kill(process, number)
        #elseif canImport(Darwin)
        Darwin.kill(process, number)
        #endif
    }
}
