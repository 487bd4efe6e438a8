import Errand
import Foundation
import Synchronization

/// The body is not text, and a terminal would show it wrongly.
struct BinaryBody: Error, CustomStringConvertible {
    /// Whether the body has a content coding that was not decoded.
    var isCoded = false
    var description: String {
        isCoded
            ? "the body is compressed and is not written to a terminal. Add --compressed, or write the body to a file with -o FILE"
            : "the body is binary and is not written to a terminal. Use -o FILE, or '-o -' to write it to the terminal anyway"
    }
}

/// The server has sent the whole body in place of the part that the request asks for, and the output may already have the other parts.
struct IgnoredRange: Error, CustomStringConvertible {
    let description =
        "the server has ignored the range (-r) and sends the whole body, so nothing is written. Write the whole body to a file with -o FILE"
}

/// Writes a response to a terminal (JSON indented and in color), to a pipe (the unchanged bytes), or to a file, which appears when the body
/// is complete.
struct ResponseOutput {
    /// The longest JSON that is indented and colored. Longer JSON is shown unchanged.
    private static let formattedBytes = 1024 * 1024

    private let arguments: RequestArguments
    private let response: Response
    private let hops: [HopHeads.Head]
    private let file: String?
    private let written: ByteCount
    private let hidesSecrets: Bool
    private var shown: OutputOptions { arguments.shown }

    /// - Parameters:
    ///   - file: the path of the file for the body; `nil` for standard output.
    ///   - hops: the heads of the redirects before the response, which are written with its head.
    ///   - written: counts the bytes of the body.
    ///   - hidesSecrets: whether the head is written without the values of secret fields, as `-v` shows heads.
    init(
        _ arguments: RequestArguments, file: String?, response: Response, after hops: [HopHeads.Head] = [], written: ByteCount,
        hidesSecrets: Bool = false
    ) {
        (self.arguments, self.file, self.response, self.hops, self.written) = (arguments, file, response, hops, written)
        self.hidesSecrets = hidesSecrets
    }

    /// Writes the head and the body.
    func write() async throws {
        if let file = shown.dumpHeader {
            if Self.isStandardOutput(file) {
                try Terminal.write(headTexts(isColored: false, isForTerminal: Terminal.outputIsTerminal))
            } else {
                do {
                    try headTexts(isColored: false, isForTerminal: false).write(to: URL(fileURLWithPath: file))
                } catch {
                    throw WriteError(path: file, error)
                }
            }
        }
        let isHeadShown = shown.include || response.request.method == .head
        if isHeadShown { try Terminal.write(headTexts(isColored: isColored, isForTerminal: Terminal.outputIsTerminal)) }
        let isError = response.status.code >= 400
        if shown.fail && isError {
            if shown.showsMessages { Terminal.say("errand: \(response.request): \(StatusLine.text(for: response))") }
            return
        }
        if isRangeIgnored {
            guard file != nil && !Self.isStandardOutput(file) || Terminal.outputIsTerminal else { throw IgnoredRange() }
            if shown.showsMessages { Terminal.say("errand: warning: the server has ignored the range (-r) and sends the whole body") }
        }
        let trailers = try await writeBody()
        if let trailers, !trailers.isEmpty { try writeTrailers(trailers, isShown: isHeadShown) }
        let isFile = file != nil && !Self.isStandardOutput(file)
        // In a script, an error page would take the place of a file without a word.
        if !Terminal.errorIsTerminal, shown.showsMessages, isFile, isError, !shown.noFail {
            let text = "errand: \(response.request): \(StatusLine.text(for: response))"
            return Terminal.say("\(text). '\((file ?? "").shownSafely())' has the body of this response; with -f, no file is written")
        }
        if Terminal.errorIsTerminal, shown.showsMessages, !isHeadShown, !shown.verbose,
            StatusLine.isRedirect(response) || (isFile ? isError : written.value == 0)
        {
            Terminal.say(StatusLine.text(for: response))
        }
    }

    /// Whether the response has the whole body, although the request asks for a part. With `If-Range`, the whole body is valid.
    private var isRangeIgnored: Bool {
        let fields = response.request.headers
        return response.status == .ok && response.request.method == .get && fields[.ifRange] == nil
            && fields[.range].map { $0 != "bytes=0-" } == true
    }

    /// Writes the trailers after the body, to each place to which the head was written, as curl does. No empty line ends them.
    private func writeTrailers(_ trailers: HTTPFields, isShown: Bool) throws {
        if isShown { try Terminal.write(Data(text(of: trailers, isColored: isColored, isForTerminal: Terminal.outputIsTerminal).utf8)) }
        if shown.verbose {
            let fields = response.request.options.sensitivity.shown(trailers)
            Terminal.say(fields.map { "< \($0): \($1.shownSafely(limit: 4000))" }.joined(separator: "\n"))
        }
        guard let path = shown.dumpHeader else { return }
        let isForTerminal = Self.isStandardOutput(path) && Terminal.outputIsTerminal
        let data = Data(text(of: trailers, isColored: false, isForTerminal: isForTerminal).utf8)
        if Self.isStandardOutput(path) { return try Terminal.write(data) }
        do {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            defer { try? file.close() }
            try file.seekToEnd()
            try file.write(contentsOf: data)
        } catch {
            throw WriteError(path: path, error)
        }
    }

    private static func isStandardOutput(_ path: String?) -> Bool { path == "-" }  // octets: an argument of the command

    private var isColored: Bool { shown.color.isColored(isTerminal: Terminal.outputIsTerminal) }

    /// Returns the trailer fields of the body.
    private func writeBody() async throws -> HTTPFields? {
        if let file, !Self.isStandardOutput(file) { return try await writeToFile(file) }
        let isJSON = response.headers[values: .contentType].first.flatMap { MediaType($0) }?.isJSON == true
        let refusesBinary = Terminal.outputIsTerminal && file == nil
        if refusesBinary, response.body.expectedLength != 0, let coding = response.headers[values: .contentEncoding].first,
            !coding.isExactlyIgnoringCase("identity")
        {
            try await writeBinary(isCoded: true)
            return nil
        }
        if refusesBinary, Self.isBinary(response.headers[values: .contentType].first), response.body.expectedLength != 0 {
            try await writeBinary()
            return nil
        }
        let progress = ProgressBar(isShown: shown.progressBar && !Terminal.outputIsTerminal && !shown.silent)
        defer { progress.end() }
        let body = shown.progressBar ? response.body.reportingProgress { progress.show($0) } : response.body
        // JSON for a terminal is held back until it is complete.
        var isHeld = isJSON && file == nil && (Terminal.outputIsTerminal || shown.color == .always)
        var held = Data()
        for try await chunk in body {
            written.add(chunk.count)
            if refusesBinary, chunk.contains(0) { throw BinaryBody() }
            guard isHeld else {
                try Terminal.write(chunk)
                continue
            }
            held += chunk
            if held.count > Self.formattedBytes {
                try Terminal.write(held)
                isHeld = false
            }
        }
        if isHeld, !held.isEmpty {
            try Terminal.write(JSONColoring.shown(held, isColored: isColored, isForTerminal: Terminal.outputIsTerminal))
        }
        return body.trailers
    }

    /// - Throws: ``BinaryBody``, unless there is no body.
    private func writeBinary(isCoded: Bool = false) async throws {
        for try await chunk in response.body where !chunk.isEmpty { throw BinaryBody(isCoded: isCoded) }
    }

    /// Whether a media type means data other than text. If the type does not decide, a byte of zero in the body does.
    static func isBinary(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        func begins(with text: String) -> Bool { contentType.hasOctetPrefixIgnoringCase(text) }
        return ["audio/", "video/", "font/", "application/zip", "application/gzip", "application/pdf"].contains(where: begins)
            || (begins(with: "image/") && !begins(with: "image/svg"))
    }

    private func colored(_ text: String, _ color: Int, _ isColored: Bool) -> String {
        isColored ? "\u{1b}[\(color)m\(text)\u{1b}[0m" : text
    }

    private func text(of fields: HTTPFields, isColored: Bool, isForTerminal: Bool) -> String {
        fields.map { field in
            let text = hidesSecrets ? response.request.options.sensitivity.shownValue(of: field) : field.value
            let value = isForTerminal ? text.shownSafely(limit: .max) : text
            return "\(colored(field.name.rawName, 94, isColored)): \(value)\r\n"
        }.joined()
    }

    /// The heads of the redirects, and the head of the response.
    ///
    /// - Parameter isForTerminal: whether characters that could steer a terminal are escaped.
    private func headTexts(isColored: Bool, isForTerminal: Bool) -> Data {
        let last = HopHeads.Head(head: response.head, httpVersion: response.metadata.httpVersion)
        return Data((hops + [last]).map { text(of: $0, isColored: isColored, isForTerminal: isForTerminal) }.joined().utf8)
    }

    private func text(of hop: HopHeads.Head, isColored: Bool, isForTerminal: Bool) -> String {
        let reason = hop.head.status.reasonPhrase
        let status = "\(hop.head.status.code) \(isForTerminal ? reason.shownSafely(limit: .max) : reason)"
        let color = hop.head.status.code >= 400 ? 91 : 92
        let line = "\(hop.httpVersion ?? .http1_1) \(colored(status, color, isColored))\r\n"
        return line + text(of: hop.head.headerFields, isColored: isColored, isForTerminal: isForTerminal) + "\r\n"
    }

    /// Writes the body to a file, which appears when the body is complete. A path that is not a regular file, such as /dev/null, is
    /// written to directly.
    private func writeToFile(_ path: String) async throws -> HTTPFields? {
        let isShownHere = shown.progressBar || Terminal.errorIsTerminal && !Terminal.isDumb
        let progress = ProgressBar(isShown: isShownHere && !shown.silent)
        defer { progress.end() }
        let body = response.body.reportingProgress {
            written.set(Int($0.bytes))
            progress.show($0)
        }
        guard SpecialFile.exists(at: path) else {
            try await body.write(toPath: path, options: FileWriteOptions(permissions: Self.permissions))
            return body.trailers
        }
        try await SpecialFile.withDescriptor(path) { descriptor in
            for try await chunk in body { try Terminal.write(chunk, to: descriptor, named: path) }
        }
        return body.trailers
    }

    /// The permissions of a new file, after the process's umask.
    static let permissions: UInt16 = {
        // The only way to read the umask is to set it.
        let mask = umask(0o077)
        umask(mask)
        return UInt16(0o644 & ~mask)
    }()
}

/// Counts the received bytes of a body, also if the body is incomplete.
final class ByteCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }
    func add(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }
    func set(_ bytes: Int) { count.store(bytes, ordering: .relaxed) }
}

/// Shows the progress of a download on standard error.
final class ProgressBar: Sendable {
    private let isShown: Bool
    private let start = ContinuousClock.now
    private let hasBegun = Atomic(false)

    init(isShown: Bool) { self.isShown = isShown }

    func show(_ progress: TransferProgress) {
        guard isShown, progress.bytes > 0 else { return }
        hasBegun.store(true, ordering: .relaxed)
        let rate = Double(progress.bytes) / max(0.001, start.duration(to: .now) / .seconds(1))
        var line = "\(TransferSize.text(progress.bytes))  \(TransferSize.text(rate))/s"
        if let share = progress.fraction {
            let done = Int(share * 30)
            line = "[\(String(repeating: "=", count: done))\(String(repeating: " ", count: 30 - done))] \(Int(share * 100)) %  " + line
        }
        try? Terminal.write(Data("\r\(line)\u{1b}[K".utf8), to: 2)
    }

    func end() {
        if hasBegun.load(ordering: .relaxed) { try? Terminal.write(Data("\n".utf8), to: 2) }
    }
}
