internal import Foundation

/// A shell in Linux namespaces of its own. The namespaces end with the shell, and the shell ends with this object or this process.
/// Therefore no mount and no interface is left behind.
final class NamespaceShell: Sendable {
    private let process: Process
    private let (input, output) = (Pipe(), Pipe())

    /// Starts a shell.
    ///
    /// - Parameters:
    ///   - options: the options of `unshare`, such as `-rm`.
    ///   - script: the script that the shell runs. The script reads lines of commands.
    ///   - arguments: the arguments of the script.
    /// - Throws: an error if that is not possible here.
    init(_ options: String, _ script: String, _ arguments: [String] = []) throws {
        guard let unshare = Programs.find("unshare") else { throw ProgramFailure(program: "unshare", status: -1, output: "not here") }
        process = Process()
        process.executableURL = URL(fileURLWithPath: unshare)
        process.arguments = [options, "/bin/sh", "-c", script, "sh"] + arguments
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
        for pipe in [input, output] {
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] { Socket.setCloseOnExec(handle.fileDescriptor) }
        }
        try Socket.withoutBlockedSignals { try process.run() }
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    deinit { end() }

    /// The folder of the shell in `/proc`. `unshare` becomes the shell, so the process has the namespaces.
    var procPath: String { "/proc/\(process.processIdentifier)" }

    /// Ends the shell.
    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Writes a line of commands, and waits for its result.
    ///
    /// - Throws: an error with the output of the shell, unless the output is `expected`.
    func run(_ commands: String, expecting expected: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((commands + "\n").utf8))
        try wait(for: commands, expecting: expected)
    }

    /// Waits for a line of output.
    ///
    /// - Throws: an error with the output of the shell, unless the output is `expected`.
    func wait(for work: String, expecting expected: String) throws {
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard text == expected + "\n" else { throw ProgramFailure(program: work, status: -1, output: text) }
    }
}
