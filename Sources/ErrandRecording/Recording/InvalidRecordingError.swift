public import ErrandCore

/// The error for a file that can't be read or isn't an HTTP archive, and for a registered secret that is too short.
public struct InvalidRecordingError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The file.
    public let path: String
    /// The problem of the file or of the secret.
    public let reason: String

    init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }

    public var description: String { "'\(path)' is not a valid recording: \(reason)" }
    public var failureNumber: FailureNumber { .invalidRecording }
    public var failureReason: String? { reason.asSentence }
}

extension InvalidRecordingError: SafelyDescribedError {}
