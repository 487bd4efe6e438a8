import Errand
import Foundation

/// The cookies of `--cookie FILE` and `--cookie-jar`, as curl has them: the jar begins with the cookies of the files, and is written at the
/// end. If a file can't be used, a warning says so, and the request is still sent.
struct CookieFiles {
    let jar = CookieJar()
    private let sources: [String]
    private let target: String?
    private let showsMessages: Bool

    /// Creates the jar; `nil` without these options.
    init?(_ arguments: RequestArguments) {
        guard arguments.content.usesCookieJar else { return nil }
        sources = arguments.content.cookieFiles
        target = arguments.content.cookieJar
        showsMessages = arguments.shown.showsMessages
    }

    /// Reads the files of `--cookie`. A path that is empty names no file.
    func load() {
        for path in sources where !path.isEmpty {
            do {
                try load(path)
            } catch {
                warn("--cookie", "\(error)")
            }
        }
    }

    private func load(_ path: String) throws {
        guard let data = try Self.read(path) else {
            // At the first run of a script, the file of both options does not exist.
            if target?.isExactly(path) != true { warn("--cookie", "there is no file '\(path.shownSafely())'") }
            return
        }
        let file = try CookieFile.netscape(parsing: data)
        var refused: [CookieRefusedError] = []
        for cookie in file.cookies {
            do {
                try jar.set(cookie)
            } catch {
                refused.append(error)
            }
        }
        warn(path, file.problems.first.map { "\($0)" }, others: file.problemCount - 1)
        warn(path, refused.first.map { "\($0)" }, others: refused.count - 1)
    }

    /// Shows the first problem of a file, and the number of the others.
    private func warn(_ path: String, _ problem: String?, others: Int) {
        guard let problem else { return }
        let rest = others > 0 ? " (and \(others) more)" : ""
        warn("--cookie", "'\(path.shownSafely())': \(problem)\(rest)")
    }

    /// The bytes of a file; `nil` if there is no file. Reading ends soon after the maximum length.
    private static func read(_ path: String) throws -> Data? {
        var descriptor: Int32 = 0
        if !path.isExactly("-") {
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                if errno == ENOENT { return nil }
                throw FileReadError(path: path, operation: "read", code: errno)
            }
        }
        defer { if descriptor != 0 { _ = close(descriptor) } }
        var data = Data()
        while data.count <= CookieFile.limitBytes,
            let piece = try Terminal.read(upTo: 64 * 1024, from: descriptor, named: descriptor == 0 ? "standard input" : path)
        { data += piece }
        return data
    }

    /// Writes all cookies to the file of `--cookie-jar`. The caller must not be cancelled.
    func save() async {
        guard let target else { return }
        let cookies = jar.cookies
        do {
            let text = CookieFile.netscape(of: cookies)
            if target.isExactly("-") {
                try Terminal.write(Data((Terminal.outputIsTerminal ? Self.shown(text) : text).utf8))
            } else {
                try await Self.write(text, to: target)
            }
            let left = cookies.count { !CookieFile.hasNetscapeForm($0) }
            if left > 0 { warn("--cookie-jar", "the file has no form for \(left) of the \(SafeText.counted(cookies.count, "cookie"))") }
        } catch is BrokenPipe {
            // The reader has what it wants.
        } catch {
            warn("--cookie-jar", "\(error)")
        }
    }

    /// The text with the characters that could steer a terminal escaped.
    private static func shown(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { $0.shownSafely(limit: .max) }.joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// Replaces the file, which only its owner can read. A path that is not a regular file, such as /dev/null, is written to directly.
    /// As with curl, the file replaces a symbolic link. Unlike with curl, the linked file stays unchanged.
    private static func write(_ text: String, to path: String) async throws {
        if SpecialFile.exists(at: path) {
            try await SpecialFile.withDescriptor(path) { try Terminal.write(Data(text.utf8), to: $0, named: path) }
        } else {
            try await ResponseBody.text(text).write(toFile: path)
        }
    }

    private func warn(_ option: String, _ text: String) {
        if showsMessages { Terminal.say("errand: warning: \(option): \(text)") }
    }
}
