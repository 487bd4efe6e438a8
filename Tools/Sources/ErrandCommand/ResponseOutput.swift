import Errand
import Foundation

/// Where a response goes: a terminal (JSON in colour), a pipe (the bytes as they are), or a file that appears when it is whole.
struct ResponseOutput {
    private let arguments: RequestArguments
    private let response: Response

    init(_ arguments: RequestArguments, response: Response) { (self.arguments, self.response) = (arguments, response) }

    /// Writes head and body; how many bytes the body had.
    func write() async throws -> Int {
        if let file = arguments.dumpHeader {
            if file == "-" { try Terminal.write(headText()) } else { try headText().write(to: URL(fileURLWithPath: file)) }
        }
        if arguments.include || response.request.method == .head { try Terminal.write(headText()) }
        if let path = arguments.output, path != "-" { return try await writeToFile(path) }
        let isJSON = response.headers[.contentType].flatMap { MediaType($0) }?.isJSON == true
        if Terminal.outputIsTerminal, isJSON, let length = response.body.expectedLength, length <= 1024 * 1024 {
            let data = try await response.body.collect(upTo: 1024 * 1024)
            try Terminal.write(Data(JSONColoring.text(of: data).utf8))
            return data.count
        }
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
            try Terminal.write(chunk)
        }
        return count
    }

    private func headText() -> Data {
        var text = "HTTP/\(response.metadata.httpVersion ?? "1.1") \(response.status.code) \(response.status.reasonPhrase)\r\n"
        for field in response.headers { text += "\(field.name.rawName): \(field.value)\r\n" }
        return Data((text + "\r\n").utf8)
    }

    /// Into a file beside the target, which takes its place when the body is whole. A device, such as /dev/null, is written to directly.
    private func writeToFile(_ path: String) async throws -> Int {
        var status = stat()
        let isSpecial = stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
        let target: String
        let descriptor: Int32
        if isSpecial {
            target = path
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw WriteError(target: path, code: errno) }
        } else {
            (target, descriptor) = try TemporaryFile.open(beside: path)
        }
        var progress = ProgressBar(total: response.body.expectedLength, isShown: Terminal.errorIsTerminal && !arguments.silent)
        var count = 0
        do {
            for try await chunk in response.body {
                try Terminal.write(chunk, to: descriptor, named: path)
                count += chunk.count
                progress.show(count)
            }
        } catch {
            progress.end()
            _ = close(descriptor)
            if !isSpecial { unlink(target) }
            throw error
        }
        progress.end()
        guard close(descriptor) == 0 else { throw WriteError(target: path, code: errno) }
        if !isSpecial, rename(target, path) != 0 {
            let code = errno
            unlink(target)
            throw WriteError(target: path, code: code)
        }
        return count
    }
}

/// A new file beside another, which later takes that one's place.
enum TemporaryFile {
    /// Opens a file that was not there before, under a name that nobody can foresee. A link of that name is not followed.
    ///
    /// - Parameter suffix: makes a suffix; another one is asked for where the name is taken, eight times in all.
    /// - Throws: ``WriteError``.
    static func open(
        beside path: String, suffix: () -> String = { String(UInt64.random(in: .min ... .max), radix: 36) }
    ) throws -> (path: String, descriptor: Int32) {
        for _ in 0..<8 {
            let name = "\(path).errand-\(suffix())"
            let descriptor = Foundation.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
            if descriptor >= 0 { return (name, descriptor) }
            guard errno == EEXIST || errno == EINTR else { throw WriteError(target: path, code: errno) }
        }
        throw WriteError(target: path, code: EEXIST)
    }
}

/// How far a download is, on standard error, ten times a second at most.
struct ProgressBar {
    private let total: Int64?
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var last: ContinuousClock.Instant?

    init(total: Int64?, isShown: Bool) { (self.total, self.isShown) = (total, isShown) }

    mutating func show(_ count: Int) {
        let now = ContinuousClock.now
        guard isShown, last.map({ $0.duration(to: now) >= .milliseconds(100) }) ?? true || Int64(count) == total else { return }
        last = now
        let rate = Double(count) / max(0.001, start.duration(to: now) / .seconds(1))
        var line = "\(Self.size(Double(count)))  \(Self.size(rate))/s"
        if let total, total > 0 {
            let share = min(1, Double(count) / Double(total))
            let done = Int(share * 30)
            line = "[\(String(repeating: "=", count: done))\(String(repeating: " ", count: 30 - done))] \(Int(share * 100)) %  " + line
        }
        try? Terminal.write(Data("\r\(line)\u{1b}[K".utf8), to: 2)
    }

    func end() {
        if isShown && last != nil { try? Terminal.write(Data("\n".utf8), to: 2) }
    }

    private static func size(_ bytes: Double) -> String {
        for (unit, scale) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] where bytes >= scale {
            return "\((bytes / scale * 10).rounded() / 10) \(unit)"
        }
        return "\(Int(bytes)) B"
    }
}
