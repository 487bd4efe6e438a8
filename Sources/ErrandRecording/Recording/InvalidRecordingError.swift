public import ErrandCore

/// The error of a file that isn't an HTTP archive.
public struct InvalidRecordingError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The file.
    public let path: String
    /// The problem of the file.
    public let reason: String

    init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }

    public var description: String { "'\(path)' is not a valid recording: \(reason)" }
    public var failureNumber: FailureNumber { .invalidRecording }
    public var failureReason: String? { reason.asSentence }
}

extension InvalidRecordingError: SafelyDescribedError {}
