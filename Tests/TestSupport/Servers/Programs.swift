internal import Foundation

/// Programs of the system that tests start.
public enum Programs {
    /// Returns the program's path, from `PATH` or from the folders of administrators' programs; `nil` if it is not installed.
    public static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"]
        return folders.map { $0 + "/" + name }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end, and returns its standard output and standard error.
    ///
    /// - Throws: ``ProgramFailure`` if its exit status is not zero.
    @discardableResult
    public static func run(_ path: String, _ arguments: [String], in folder: String? = nil) async throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.standardInput = FileHandle.nullDevice
        // A file instead of a pipe, because nothing reads from it while the program runs.
        let output = NSTemporaryDirectory() + TestFolder.prefix + "output-\(UUID().uuidString)"
        guard FileManager.default.createFile(atPath: output, contents: nil), let handle = FileHandle(forWritingAtPath: output) else {
            throw CocoaError(.fileWriteUnknown)
        }
        defer { try? FileManager.default.removeItem(atPath: output) }
        process.standardOutput = handle
        process.standardError = handle
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try Socket.withoutBlockedSignals { try process.run() }
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        try? handle.close()
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        guard status == 0 else { throw ProgramFailure(program: path, status: status, output: text) }
        return text
    }
}

/// An error: a program failed.
public struct ProgramFailure: Error, CustomStringConvertible {
    let program: String
    let status: Int32
    let output: String

    public var description: String { "\(program) ended with \(status): \(output.suffix(2000))" }
}

/// A server that ends with this process, however this process ends.
///
/// A shell runs between the two. It waits at a pipe that only this process holds open. When the pipe closes, because this value or the
/// process ends, the shell ends the server and removes its folder.
package final class ChildServer: Sendable {
    private let pipe: Pipe
    private let process: Process
    /// The path of the file with the server's output.
    let logPath: String

    private static let guardian = """
        trap '' INT
        folder=$1; shift
        "$@" >"$folder/server.log" 2>&1 &
        server=$!
        while read -r line; do :; done
        kill -TERM $server 2>/dev/null
        wait $server
        rm -rf "$folder"
        """

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - folder: the folder of the log; removed when the server ends.
    ///   - servedFolder: the server's working folder; `nil`, the default: `folder`.
    ///   - command: the program and its arguments.
    package init(folder: String, servedFolder: String? = nil, command: [String]) throws {
        (pipe, process) = (Pipe(), Process())
        logPath = folder + "/server.log"
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.currentDirectoryURL = URL(fileURLWithPath: servedFolder ?? folder)
        process.arguments = ["-c", Self.guardian, "sh", folder] + command
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        // No other child process may inherit the pipe: its server would outlive this process.
        for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] { Socket.setCloseOnExec(handle.fileDescriptor) }
        try Socket.withoutBlockedSignals { try process.run() }
        try pipe.fileHandleForReading.close()
    }

    var log: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

    /// Whether the server has ended and its folder is gone.
    var hasEnded: Bool { !FileManager.default.fileExists(atPath: logPath) }

    /// Stops the server; returns immediately.
    package func stop() { try? pipe.fileHandleForWriting.close() }

    deinit { stop() }
}
