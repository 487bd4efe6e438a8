/// The error for a file that could not be read, such as the file of a request body.
///
/// The description names the path and the reason: `cannot read '/tmp/report.pdf': no such file or folder (errno 2)`. If the file is the
/// body of a typed call, the description begins with the request: `POST /reports: cannot read …`.
public struct FileReadError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    private let problem: FileProblem
    /// The request whose body is the file, in words and without secrets; `nil` if the request is not known.
    private var shownRequest: String?

    /// The file's path.
    public var path: String { problem.path }
    /// The failed operation, as a verb: `open` or `read`.
    public var operation: String { problem.operation }
    /// The system's error number (`errno`). If the library refuses a file without a system call, the code is the error number that
    /// describes the reason best.
    public var code: Int32 { problem.code }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - operation: the failed operation, as a verb.
    ///   - code: the system's error number (`errno`).
    public init(path: String, operation: String, code: Int32) {
        self.init(path: path, operation: operation, code: code, reason: nil)
    }

    private init(problem: FileProblem) { self.problem = problem }

    /// - Parameter reason: the reason in words; `nil` if the system's text for `code` is sufficient.
    package init(path: String, operation: String, code: Int32, reason: String?) {
        problem = FileProblem(path: path, operation: operation, code: code, reason: reason)
    }

    /// Returns this error with the name of the request whose body is the file.
    package func naming(_ request: Request) -> FileReadError {
        var error = self
        error.shownRequest = "\(request)"
        return error
    }

    /// Returns the error for a file that has changed since the request declared its length.
    ///
    /// The code is EIO, because the declared bytes can't be read.
    static func changed(_ path: String, reason: String) -> FileReadError {
        FileReadError(path: path, operation: "read", code: ErrorNumber.inputOutput, reason: reason)
    }

    /// Returns the error for a file with invalid content, if no system call has failed. The code is EINVAL.
    package static func invalid(_ path: String, reason: String) -> FileReadError {
        FileReadError(path: path, operation: "read", code: ErrorNumber.invalid, reason: reason)
    }

    /// Whether the file does not exist.
    package var isMissingFile: Bool { code == ErrorNumber.noEntry }

    /// Returns the path of a file URL.
    ///
    /// - Throws: ``FileReadError`` for any other URL, because such a URL does not name a local file.
    package static func path(of url: URL) throws -> String {
        guard url.isFileURL else { throw FileReadError(problem: FileProblem(notAFile: url, operation: "read")) }
        return url.path
    }

    /// The request if it is known, the operation, the path and the reason, with the system's error in words and as a number.
    public var description: String { (shownRequest.map { "\($0): " } ?? "") + problem.description }

    public var failureNumber: FailureNumber { .fileRead }
    /// The reason, such as the system's error in words.
    public var failureReason: String? { problem.words.asSentence }
    /// The advice for a person.
    public var recoverySuggestion: String? { "Check that the file exists and may be read." }
}

/// The error for a response body that could not be written to a file.
///
/// After the failure, no temporary file remains, and an existing file is unchanged. There are two exceptions. A download that resumes
/// (`Download`) keeps its partial file. If the operation is `synchronize the folder of`, the new file is complete and in place. However, a
/// loss of power may undo the new name. After this operation, the description of the error says that the file is complete.
public struct FileWriteError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    private let problem: FileProblem

    /// The path of the destination file.
    public var path: String { problem.path }
    /// The failed operation, for example `write`, `replace`, `create a file beside`, `close`, `move the finished file to` or `synchronize`.
    public var operation: String { problem.operation }
    /// The system's error number (`errno`): `ENOSPC` for a full disk, `ENOENT` for a missing folder, `EEXIST` for a file that must
    /// not be replaced. If the library refuses a path without a system call, the code is the error number that describes the reason best.
    public var code: Int32 { problem.code }

    /// Creates an error.
    public init(path: String, operation: String, code: Int32) {
        self.init(path: path, operation: operation, code: code, reason: nil)
    }

    private init(problem: FileProblem) { self.problem = problem }

    /// - Parameter reason: the reason in words; `nil` if the system's text for `code` is sufficient.
    package init(path: String, operation: String, code: Int32, reason: String?) {
        problem = FileProblem(path: path, operation: operation, code: code, reason: reason)
    }

    /// Returns the path of a file URL.
    ///
    /// - Throws: ``FileWriteError`` for any other URL.
    package static func path(of url: URL) throws -> String {
        guard url.isFileURL else { throw FileWriteError(problem: FileProblem(notAFile: url, operation: "write")) }
        return url.path
    }

    /// Returns the error for a file that could not be created in the folder of `path`. If the folder is the cause, the reason names
    /// the folder.
    ///
    /// - Parameter operation: the failed operation, as a verb.
    static func creating(at path: String, operation: String, code: Int32) -> FileWriteError {
        let folder = OutputFile.folder(of: path)
        let name = folder.utf8.count > 1 ? String(decoding: folder.utf8.dropLast(), as: UTF8.self) : folder
        let shown = name.isEmpty ? "the current folder" : "the folder '\(name.shownSafely())'"
        return FileWriteError(path: path, operation: operation, code: code, reason: creationProblem(code, in: shown))
    }

    /// Returns the error for a file that another process, or a person, has removed after this process opened the file. The code is ENOENT.
    ///
    /// - Parameter operation: the failed operation, as a verb.
    package static func removed(_ path: String, operation: String) -> FileWriteError {
        FileWriteError(path: path, operation: operation, code: ErrorNumber.noEntry, reason: removal)
    }

    private static let removal = "it has just been removed"

    /// Returns the error for a file whose folder can't be created. The code is ENOENT.
    package static func missingFolder(of path: String) -> FileWriteError {
        FileWriteError(path: path, operation: "write", code: ErrorNumber.noEntry, reason: "the folder can't be created")
    }

    /// The operation that can fail only after the new file has its name.
    package static let folderSynchronization = "synchronize the folder of"

    private var isInPlace: Bool { operation == Self.folderSynchronization }

    /// The operation, the path and the reason, with the system's error in words and as a number:
    /// `cannot write '/data/a.zip': no space left on the disk (errno 28)`.
    public var description: String {
        problem.description + (isInPlace ? "; the file is complete, and has its final name" : "")
    }

    /// ``FailureNumber/fileNotDurable`` if the file is complete and in place, ``FailureNumber/fileWrite`` otherwise.
    public var failureNumber: FailureNumber { isInPlace ? .fileNotDurable : .fileWrite }

    /// The reason, such as the system's error in words.
    public var failureReason: String? { problem.words.asSentence }
    /// The advice for a person about a full disk, a missing folder, a removed file, missing permission, an existing file or a folder with
    /// other files; `nil` for other errors.
    public var recoverySuggestion: String? { problem.reason == Self.removal ? "Try again." : fileWriteAdvice(code) }
}

/// The system's error numbers (`errno`) that are the same on all systems.
private enum ErrorNumber {
    /// ENOENT.
    static let noEntry: Int32 = 2
    /// EIO.
    static let inputOutput: Int32 = 5
    /// EINVAL.
    static let invalid: Int32 = 22
}

/// A failed operation on a file. ``FileReadError`` and ``FileWriteError`` store this value.
private struct FileProblem: Sendable, Hashable, CustomStringConvertible {
    let path: String
    let operation: String
    let code: Int32
    /// The reason in words; `nil` if the system's text for `code` is sufficient.
    let reason: String?

    var words: String { reason ?? systemErrorText(code) }

    /// The operation, the path and the reason: `cannot write '/data/a.zip': no space left on the disk (errno 28)`.
    var description: String {
        let isNumbered = reason != nil || words.hasSuffix("(errno \(code))")
        return "cannot \(operation) '\(path.shownSafely())': \(words)" + (isNumbered ? "" : " (errno \(code))")
    }
}

extension FileProblem {
    /// Creates the failure of an operation on a URL that is not a file URL. The code is EINVAL.
    init(notAFile url: URL, operation: String) {
        let scheme = url.scheme?.shownSafely(limit: 40) ?? "missing"
        self.init(
            path: url.path, operation: operation, code: ErrorNumber.invalid,
            reason: "the URL is not a file URL (its scheme is \(scheme)); create the URL with URL(filePath:)")
    }
}

extension FileReadError: SafelyDescribedError {}
extension FileWriteError: SafelyDescribedError {}
