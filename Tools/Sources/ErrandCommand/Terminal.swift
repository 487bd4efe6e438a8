import Errand
import Foundation

/// The reader of the output has closed the pipe.
struct BrokenPipe: Error {}

/// A file that Foundation could not write.
struct WriteError: Error, CustomStringConvertible {
    let description: String

    /// - Parameter path: a file in a folder that does not exist.
    init(missingFolderOf path: String) { description = FileWriteError(path: path, operation: "write", code: ENOENT).description }

    /// - Parameter error: the error of Foundation.
    init(path: String, _ error: any Error) {
        if let system = (error as? CocoaError)?.underlying as? POSIXError {
            description = FileWriteError(path: path, operation: "write", code: system.code.rawValue).description
        } else {
            description = "cannot write '\(path.shownSafely())': \((error as NSError).localizedDescription)"
        }
    }
}

/// Standard input, output and error.
enum Terminal {
    static let outputIsTerminal = isatty(1) == 1
    static let errorIsTerminal = isatty(2) == 1
    /// Whether the terminal can't move its cursor.
    static let isDumb = ProcessInfo.processInfo.environment["TERM"] == "dumb"

    /// Writes a line to standard error.
    static func say(_ text: String) { try? write(Data((text + "\n").utf8), to: 2, named: "standard error") }

    static func write(_ data: Data, to descriptor: Int32 = 1, named name: String = "standard output") throws {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw BrokenPipe()
            } else if errno != EINTR && errno != EAGAIN {
                throw FileWriteError(path: name, operation: "write", code: errno)
            }
        }
    }

    /// Reads the next bytes of standard input, or of another file; `nil` at the end.
    static func read(
        upTo limitBytes: Int, from descriptor: Int32 = 0, named name: String = "standard input"
    ) throws(FileReadError) -> Data? {
        var buffer = Data(count: limitBytes)
        while true {
            let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count == 0 ? nil : buffer.prefix(count) }
            guard errno == EINTR else { throw FileReadError(path: name, operation: "read", code: errno) }
        }
    }

    /// Asks for a password on the terminal of the process, without showing the typed text; `nil` if there is no terminal, or if the text is
    /// empty.
    static func password(prompt: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var settings = termios()
        guard tcgetattr(terminal, &settings) == 0 else { return nil }
        let before = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        guard tcsetattr(terminal, TCSADRAIN, &settings) == 0 else { return nil }
        let restore: @Sendable () -> Void = {
            var before = before
            tcsetattr(terminal, TCSADRAIN, &before)
        }
        // Otherwise, after Ctrl-C, the shell would not show the typed text.
        Interrupt.whenItComes {
            restore()
            exit(Interrupt.exitStatus)
        }
        try? write(Data(prompt.utf8), to: terminal)
        var typed: [UInt8] = []
        var byte: UInt8 = 0
        while Foundation.read(terminal, &byte, 1) == 1, byte != UInt8(ascii: "\n") { typed.append(byte) }
        restore()
        try? write(Data("\n".utf8), to: terminal)
        return typed.isEmpty ? nil : String(decoding: typed, as: UTF8.self)
    }
}
