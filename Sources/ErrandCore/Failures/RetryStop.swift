/// The reason why there is no further attempt. `retry` and response validators record the reason.
///
/// A failure or a response has the reason if the policy called for another attempt that could not be made:
///
/// ```swift
/// catch let error as StatusError where error.retryStop == .budgetUsedUp {
///     // The server fails for many calls: wait before calling again.
/// }
/// ```
public enum RetryStop: String, Sendable, Hashable {
    /// A further attempt is not needed or not useful. The attempt succeeded, or failed permanently, or the app decided against another
    /// attempt.
    case final
    /// The request may have been processed, and its method is not idempotent
    /// ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)). A further attempt might process the request
    /// twice. An idempotency key (`request.options.idempotencyKey`) permits a further attempt.
    case notIdempotent
    /// The call made all attempts that the policy or the validator allows.
    case attemptsUsedUp
    /// The body of the request is a stream that can be read only once.
    case bodyCannotBeReplayed
    /// The server asks for a longer wait (`Retry-After`) than the policy allows.
    case retryAfterTooLong
    /// The wait before the next attempt would end after the deadline.
    case deadlineTooNear
    /// The retry budget of the origin is used up.
    case budgetUsedUp

    /// Returns the reason that forbids a further attempt; `nil` if no reason forbids the attempt. The function ignores the wait before the
    /// attempt: see ``reason(delay:remaining:)``.
    ///
    /// - Parameters:
    ///   - used: the number of attempts that the call has made.
    ///   - limit: the largest number of attempts.
    ///   - canReplay: whether the body of the request can be sent once more.
    public static func reason(used: Int, of limit: Int, canReplay: Bool) -> RetryStop? {
        if !canReplay { return .bodyCannotBeReplayed }
        return used < limit ? nil : .attemptsUsedUp
    }

    /// Returns the reason that forbids a wait before a further attempt: ``deadlineTooNear`` if the wait would not end before the
    /// deadline; otherwise `nil`.
    ///
    /// - Parameters:
    ///   - delay: the wait before the attempt.
    ///   - remaining: the time until the deadline; `nil` if there is no deadline.
    public static func reason(delay: Duration, remaining: Duration?) -> RetryStop? {
        remaining.map { delay >= $0 } == true ? .deadlineTooNear : nil
    }

    /// The reason in words.
    package var words: String {
        switch self {
        case .final: "it would not help"
        case .notIdempotent:
            "the method is not idempotent, and the request may have been processed; "
                + "an idempotency key (options.idempotencyKey = .attached) would permit another attempt"
        case .attemptsUsedUp: "all attempts are used up"
        case .bodyCannotBeReplayed: "the body of the request can be read only once"
        case .retryAfterTooLong: "the server asks for a longer wait than the policy allows"
        case .deadlineTooNear: "the wait before a further attempt would pass the deadline"
        case .budgetUsedUp: "the retry budget of this origin is used up"
        }
    }
}

private enum RetryStopKey: MetadataKey { static var defaultValue: RetryStop? { nil } }

extension ResponseMetadata {
    /// The reason why `retry` or a response validator did not make an attempt that its policy called for. `nil` if the policy called for no
    /// further attempt.
    public var retryStop: RetryStop? {
        get { self[RetryStopKey.self] }
        set { self[RetryStopKey.self] = newValue }
    }
}
