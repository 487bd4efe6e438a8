import DemoServer
import Foundation
import Synchronization

/// The built command, run as its users run it.
struct CommandProcess {
    /// How it ended, and what it wrote.
    struct Outcome {
        let status: Int32
        let output: Data
        let errors: String
        var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// Beside the test bundle.
    static let path: URL = {
        // Bundle.main is the test runner's bundle in the build folder, on every platform.
        var folder = Bundle.main.bundleURL
        while folder.path != "/", !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent("errand").path) {
            folder.deleteLastPathComponent()
        }
        return folder.appendingPathComponent("errand")
    }()

    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    private let ended: AsyncStream<Int32>
    /// Where to type, if it `isInteractive`.
    private let keyboard: FileHandle?

    /// Starts the command.
    init(
        _ arguments: [String], input: Data? = nil, output target: FileHandle? = nil, through launcher: [String] = [], in folder: URL? = nil
    ) throws {
        try self.init(arguments, input: input, output: target, running: launcher + [Self.path.path], in: folder)
    }

    /// Starts any program.
    init(
        _ arguments: [String], input: Data? = nil, output target: FileHandle? = nil, running program: [String], in folder: URL? = nil,
        isInteractive: Bool = false
    ) throws {
        let words = program + arguments
        if let folder { process.currentDirectoryURL = folder }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardOutput = target ?? output.fileHandleForWriting
        process.standardError = errors.fileHandleForWriting
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        ended = stream
        process.terminationHandler = { process in
            // A signal is reported as a shell reports it.
            continuation.yield(process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus)
            continuation.finish()
        }
        let inputPipe = Pipe()
        process.standardInput = input == nil && !isInteractive ? FileHandle.nullDevice : inputPipe.fileHandleForReading
        keyboard = isInteractive ? inputPipe.fileHandleForWriting : nil
        try process.run()
        try? output.fileHandleForWriting.close()
        try? errors.fileHandleForWriting.close()
        if let input {
            try? inputPipe.fileHandleForReading.close()
            let handle = inputPipe.fileHandleForWriting
            DispatchQueue.global().async {
                try? handle.write(contentsOf: input)
                try? handle.close()
            }
        }
    }

    /// Waits until it has written a line that contains `text` to standard error. What it wrote is lost.
    func waitForError(containing text: String) async { await Self.wait(for: text, on: errors.fileHandleForReading) }

    /// Waits until it has written `text`. What it wrote is lost.
    func waitForOutput(containing text: String) async { await Self.wait(for: text, on: output.fileHandleForReading) }

    private static func wait(for text: String, on handle: FileHandle) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var seen = ""
                while !seen.contains(text) {
                    let data = handle.availableData
                    if data.isEmpty { break }
                    seen += String(decoding: data, as: UTF8.self)
                }
                continuation.resume()
            }
        }
    }

    /// Types a line.
    func type(_ line: String) throws { try keyboard?.write(contentsOf: Data((line + "\n").utf8)) }

    /// Reads all that it writes, and waits for its end.
    func outcome() async throws -> Outcome {
        async let output = Self.read(output.fileHandleForReading)
        async let errors = Self.read(errors.fileHandleForReading)
        let (written, told) = await (output, errors)
        var status: Int32 = -1
        for await code in ended { status = code }
        return Outcome(status: status, output: written, errors: String(decoding: told, as: UTF8.self))
    }

    /// Reading blocks, so it is done on a thread that may.
    private static func read(_ handle: FileHandle) async -> Data {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: (try? handle.readToEnd()) ?? Data()) }
        }
    }

    /// Runs the command to its end.
    static func run(
        _ arguments: String..., input: Data? = nil, through launcher: [String] = [], in folder: URL? = nil
    ) async throws -> Outcome {
        try await CommandProcess(arguments, input: input, through: launcher, in: folder).outcome()
    }

    // MARK: - On a terminal

    static let script = "/usr/bin/script"
    static let hasTerminals = FileManager.default.isExecutableFile(atPath: script)

    /// Runs the command on a terminal that `script` makes. What it shows there, of both outputs, is the outcome's text.
    ///
    /// - Parameters:
    ///   - arguments: as a shell reads them.
    ///   - environment: assignments, as a shell reads them.
    static func onATerminal(_ arguments: String, environment: String = "TERM=xterm") async throws -> Outcome {
        try await terminalProcess(arguments, environment: environment).outcome()
    }

    static func terminalProcess(_ arguments: String, environment: String = "TERM=xterm", isInteractive: Bool = false) throws
        -> CommandProcess
    {
        // SwiftPM sets NO_COLOR where its own output is no terminal.
        let command = "env -u NO_COLOR \(environment) \(path.path) \(arguments)"
        return try CommandProcess([command, "/dev/null"], running: [script, "-qec"], isInteractive: isInteractive)
    }
}

/// Runs `body` with the address of a demo server of its own.
func withDemoServer(_ body: @escaping @Sendable (_ url: String) async throws -> Void) async throws {
    try await DemoServer.run { port in try await body("http://127.0.0.1:\(port)/v1") }
}
