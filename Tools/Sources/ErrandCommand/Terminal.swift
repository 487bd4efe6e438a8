import Foundation

/// Whoever read the output has gone.
struct BrokenPipe: Error {}

/// The output could not be written.
struct WriteError: Error, CustomStringConvertible {
    let target: String
    let code: Int32
    var description: String { "cannot write to \(target): \(String(cString: strerror(code)))" }
}

/// Standard output and error.
enum Terminal {
    static let outputIsTerminal = isatty(1) == 1
    static let errorIsTerminal = isatty(2) == 1

    /// A line on standard error.
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
                throw WriteError(target: name, code: errno)
            }
        }
    }
}
