import Errand

extension ConnectionOptions {
    /// The policy of `--retry` and `--retry-delay`.
    var retryPolicy: RetryPolicy {
        guard let retryDelay else { return RetryPolicy(maxAttempts: retry + 1) }
        let delay = Duration.seconds(retryDelay)
        let policy = RetryPolicy(maxAttempts: retry + 1, backoff: .constant(delay), jitter: .none)
        // The policy would add the delay to the time of Retry-After.
        return policy.deciding { attempt in
            guard let asked = attempt.response?.headerFields.retryAfter else { return .byPolicy }
            return switch attempt.decision {
            case .retry(after: _, countsAsAttempt: true), .stop(.deadlineTooNear): .retry(after: max(delay, asked))
            default: .byPolicy
            }
        }
    }
}

extension RetryStop {
    /// The reason why `--retry` sends a request no further time, in the words of the command; `nil` if the messages before have said the
    /// reason, or if a further attempt would not help.
    func reason(for request: Request) -> String? {
        switch self {
        case .final, .attemptsUsedUp: nil
        case .notIdempotent:
            "the server may have processed the \(request.method.rawValue), and a second one may do the same again. If the server supports the "
                + "field, -H 'Idempotency-Key: KEY' lets --retry send the request again; KEY is a new text for each command"
        case .bodyCannotBeReplayed: "the body can be read only once. Give the body as a file"
        case .retryAfterTooLong: "the server asks for a wait of more than 60 s (Retry-After)"
        case .deadlineTooNear: "the wait would end after --max-time"
        case .budgetUsedUp: "too many calls have failed"
        }
    }
}

/// Consecutive attempts with the same outcome, for the text of a failure: `attempts 1 to 3: the same`.
struct AttemptGroup: Equatable, CustomStringConvertible {
    let first: Int
    var last: Int
    let outcome: String

    var description: String { "\(first == last ? "attempt \(first)" : "attempts \(first) to \(last)"): \(outcome)" }

    /// - Parameters:
    ///   - last: the text of the last failure, which follows the attempts.
    ///   - request: the request at the beginning of the texts, which is left out.
    static func groups(of attempts: [AttemptRecord], last: String, request: Request?) -> [AttemptGroup] {
        let prefix = request.map { "\($0): " } ?? ""
        var groups: [AttemptGroup] = []
        for attempt in attempts {
            var outcome = "\(attempt.outcome)"
            if outcome.isExactly(last) {
                outcome = "the same"
            } else if outcome.hasOctetPrefix(prefix) {
                outcome = String(outcome.utf8.dropFirst(prefix.utf8.count)) ?? outcome
            }
            if let index = groups.indices.last, groups[index].outcome.isExactly(outcome) {
                groups[index].last = attempt.number
            } else {
                groups.append(AttemptGroup(first: attempt.number, last: attempt.number, outcome: outcome))
            }
        }
        return groups
    }
}
