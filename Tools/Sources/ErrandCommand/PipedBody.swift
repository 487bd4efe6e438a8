import Errand
import Foundation

/// A body that is read from a pipe without an option: `echo '{"a": 1}' | errand post :8080/x`.
enum PipedBody {
    /// The longest input that is kept in memory. Longer input is sent as it arrives, and can't be sent again for a redirect or a retry.
    private static let bufferBytes = 1024 * 1024
    /// The time without input after which a message says that the command waits for input.
    private static let patience: Int32 = 2000

    /// Standard input, as JSON if it begins with a brace or a bracket. `nil` if it is neither a pipe nor a file, or empty. The rest of a
    /// file that was read in part is not a body, because a loop of the shell needs the rest.
    ///
    /// A message always says that standard input is the body, even with `-s`: no option has named standard input, and the data may be the
    /// list of a loop.
    ///
    /// - Parameter says: whether messages say why standard input is not the body, and that the command waits for input, if no input
    ///   arrives within two seconds.
    static func read(says: Bool) throws -> Content? {
        var status = stat()
        guard fstat(0, &status) == 0, [S_IFIFO, S_IFREG].contains(status.st_mode & S_IFMT) else { return nil }
        let position = status.st_mode & S_IFMT == S_IFREG ? lseek(0, 0, SEEK_CUR) : 0
        guard position <= 0 else {
            if says, position < status.st_size { Terminal.say("errand: \(restIsNotSent)") }
            return nil
        }
        var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        if says, poll(&input, 1, patience) == 0 {
            Terminal.say("errand: reading the body from standard input; --ignore-stdin sends no body")
        }
        var data = Data()
        while data.count <= bufferBytes {
            guard let chunk = try Terminal.read(upTo: 64 * 1024) else {
                guard !data.isEmpty else { return nil }
                Terminal.say("errand: \(notice(of: data.count, isWhole: true))")
                return Content(body: .data(data), contentType: contentType(of: data))
            }
            data += chunk
        }
        Terminal.say("errand: \(notice(of: data.count, isWhole: false))")
        let start = data
        return Content(
            body: .stream(replay: .oneShot) { _ in Rest(after: start) }, contentType: contentType(of: data))
    }

    private static let restIsNotSent =
        "the rest of standard input is not sent, because a part was read before, as in a loop. --json @- sends the rest, and "
        + "--ignore-stdin hides this message"

    /// The message that standard input is the body.
    ///
    /// - Parameter isWhole: whether the input has ended.
    static func notice(of bytes: Int, isWhole: Bool) -> String {
        let size = "\(isWhole ? "" : "at least ")\(SafeText.counted(bytes, "byte"))"
        return "the body is standard input (\(size)); --ignore-stdin sends no body"
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
