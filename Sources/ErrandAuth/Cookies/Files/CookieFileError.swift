#if Auth
public import ErrandCore

/// The error for a file of cookies that can't be used. The file is unchanged.
public struct CookieFileError: NumberedFailure, Hashable, CustomStringConvertible {
    /// The kind of a problem. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The file is not a file of cookies that this library has written.
        public static let foreign = Code("the file does not contain cookies in the format of this library")
        /// A later version of this library has written the file.
        public static let newerVersion = Code("a later version of this library has written the file")
        /// A part of the file is invalid.
        public static let corrupt = Code("the file is damaged")
        /// The file has more bytes than ``CookieFile/limitBytes``, or would have more bytes after the change.
        public static let tooLarge = Code("the cookies have more than \(CookieFile.limitBytes >> 20) MiB")
    }

    /// The kind of the problem.
    public let code: Code
    /// The path of the file; `nil` if the cookies are not from a file.
    public let path: String?

    init(_ code: Code, path: String? = nil) { (self.code, self.path) = (code, path) }

    /// The path and the problem, without the names and values of cookies.
    public var description: String {
        "cannot use the cookies\(path.map { " in '\($0.shownSafely(limit: 200))'" } ?? ""): \(code)"
    }

    public var failureNumber: FailureNumber { .cookieFileInvalid }
    /// The path and the problem.
    public var failureReason: String? { SafeText.sentence(description) }
    /// The step that a person can take.
    public var recoverySuggestion: String? {
        switch code {
        case .newerVersion: "Update the app."
        case .tooLarge: "Remove cookies, then try again."
        default: "Move the file away, then try again."
        }
    }
}

extension CookieFileError: SafelyDescribedError {}
#endif
