/// Why retry makes no further attempt.
///
/// A failure and a response carry it where another attempt was called for and could not be made:
///
/// ```swift
/// catch let error as StatusError where error.retryStop == .budgetSpent {
///     // The server fails for many calls: wait before calling again.
/// }
/// ```
public enum RetryStop: String, Sendable, Hashable {
    /// The attempt succeeded, or failed in a way that a further attempt does not change, or might be processed twice.
    case final
    /// As many attempts were made as the policy allows.
    case attemptsUsedUp
    /// The body of the request is a stream that can be read once only.
    case bodyCannotBeReplayed
    /// The server asks for a longer wait (`Retry-After`) than the policy allows.
    case retryAfterTooLong
    /// The wait before the next attempt would pass the deadline.
    case deadlineTooNear
    /// The retry budget of the origin is used up.
    case budgetSpent

    /// The reason in words.
    var words: String {
        switch self {
        case .final: "it would not help, or might be processed twice"
        case .attemptsUsedUp: "all attempts are used up"
        case .bodyCannotBeReplayed: "the body of the request can be read once only"
        case .retryAfterTooLong: "the server asks for a longer wait than the policy allows"
        case .deadlineTooNear: "the wait would pass the deadline"
        case .budgetSpent: "the retry budget of this origin is used up"
        }
    }
}

private enum RetryStopKey: MetadataKey { static var defaultValue: RetryStop? { nil } }

extension ResponseMetadata {
    /// Why retry made no further attempt, though the policy called for one; `nil` where it did not.
    public var retryStop: RetryStop? {
        get { self[RetryStopKey.self] }
        set { self[RetryStopKey.self] = newValue }
    }
}
