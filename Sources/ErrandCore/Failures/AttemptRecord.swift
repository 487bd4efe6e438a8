/// One attempt that was not the last.
public struct AttemptRecord: Sendable, CustomStringConvertible {
    public enum Outcome: Sendable {
        case status(HTTPResponse.Status)
        case failure(any Error)
    }

    /// From 1.
    public let number: Int
    public let outcome: Outcome
    /// How long was waited before the next attempt.
    public let delay: Duration

    public init(number: Int, outcome: Outcome, delay: Duration) {
        (self.number, self.outcome, self.delay) = (number, outcome, delay)
    }

    public var description: String {
        "attempt \(number): \(outcome), then waited \(delay.formattedSeconds)"
    }
}

extension AttemptRecord.Outcome: CustomStringConvertible, CustomReflectable {
    /// The status code, or the failure without secrets.
    public var description: String {
        switch self {
        case .status(let status): "\(status.code)"
        case .failure(let error): shownError(error)
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["outcome": description]) }
}

extension AttemptRecord: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["attempt": description]) }
}

private enum AttemptsKey: MetadataKey { static var defaultValue: [AttemptRecord] { [] } }

extension ResponseMetadata {
    /// The attempts before the one that this response answers, oldest first.
    public var attempts: [AttemptRecord] {
        get { self[AttemptsKey.self] }
        set { self[AttemptsKey.self] = newValue }
    }
}
