import Errand
import Foundation

/// A body that is read from a pipe without an option: `echo '{"a": 1}' | errand post :8080/x`.
enum PipedBody {
    /// The longest input that is kept in memory. Longer input is sent as it arrives, and can't be sent again for a redirect or a retry.
    private static let bufferBytes = 1024 * 1024
    /// The time without input after which a message says that the command waits for input.
    private static let patience: Int32 = 2000

    /// Standard input, as JSON if it begins with a brace or a bracket. `nil` if it is neither a pipe nor a file, or empty.
    ///
    /// - Parameter warns: whether a message says that the command waits for input, if no input arrives within two seconds.
    static func read(warns: Bool) throws -> Content? {
        var status = stat()
        guard fstat(0, &status) == 0, [S_IFIFO, S_IFREG].contains(status.st_mode & S_IFMT) else { return nil }
        var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        if warns, poll(&input, 1, patience) == 0 {
            Terminal.say("errand: reading the body from standard input; to send no body, add </dev/null")
        }
        var data = Data()
        while data.count <= bufferBytes {
            guard let chunk = try Terminal.read(upTo: 64 * 1024) else {
                return data.isEmpty ? nil : Content(body: .data(data), contentType: contentType(of: data))
            }
            data += chunk
        }
        let start = data
        return Content(
            body: .stream(replay: .oneShot) { _ in Rest(after: start) }, contentType: contentType(of: data))
    }

    static func contentType(of data: Data) -> String? {
        let first = data.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? "application/json" : nil
    }

    /// The bytes read so far, and the rest of standard input.
    private actor Rest: BodySource {
        private var start: Data?

        init(after start: Data) { self.start = start }

        func next() throws -> Data? {
            defer { start = nil }
            return try start ?? Terminal.read(upTo: 64 * 1024)
        }

        nonisolated func abandon() {}
    }
}
