/// An earlier attempt of a call: at least one more attempt has followed.
///
/// ```swift
/// let response = try await stack.send(request)
/// for attempt in response.metadata.attempts { print(attempt) }    // attempt 1: 503, then waited 100 ms
/// ```
public struct AttemptRecord: Sendable, CustomStringConvertible, HidesStorage {
    /// The outcome of an attempt.
    public enum Outcome: Sendable {
        /// A response with this status.
        case status(HTTPResponse.Status)
        /// No response, because of this error.
        case failure(any Error)
    }

    /// The number of the attempt, from 1.
    public let number: Int
    /// The outcome of the attempt.
    public let outcome: Outcome
    /// The wait before the next attempt.
    public let delay: Duration

    /// Creates a record of an attempt.
    ///
    /// - Parameters:
    ///   - number: the number of the attempt, from 1.
    ///   - outcome: the outcome of the attempt.
    ///   - delay: the wait before the next attempt.
    public init(number: Int, outcome: Outcome, delay: Duration) {
        (self.number, self.delay) = (number, delay)
        // An app may keep the record for a long time. Therefore the record must not keep the call in memory.
        if case .failure(let error) = outcome { self.outcome = .failure(error.withoutCall) } else { self.outcome = outcome }
    }

    private init(_ record: AttemptRecord, number: Int) { (self.number, outcome, delay) = (number, record.outcome, record.delay) }

    /// Returns this attempt with another number.
    fileprivate func numbered(_ number: Int) -> AttemptRecord { AttemptRecord(self, number: number) }

    /// The number, the outcome and the wait, without secrets. A wait of zero is left out.
    public var description: String { text(without: nil) }

    /// - Parameter prefix: the text of the request, which is removed from the front of the failure's text.
    func text(without prefix: String?) -> String {
        var outcome = outcome.description
        if let prefix, outcome.hasPrefix(prefix) { outcome.removeFirst(prefix.count) }
        return "attempt \(number): \(outcome)" + (delay == .zero ? "" : ", then waited \(delay.inWords)")
    }
}

extension AttemptRecord.Outcome: CustomStringConvertible, HidesStorage {
    /// The status code, or the failure without secrets.
    public var description: String {
        switch self {
        case .status(let status): "\(status.code)"
        case .failure(let error): safeDescription(of: error)
        }
    }
}

extension [AttemptRecord] {
    /// Returns these attempts followed by `later`, numbered consecutively.
    func followed(by later: [AttemptRecord]) -> [AttemptRecord] {
        later.isEmpty ? self : self + later.enumerated().map { $1.numbered(count + $0 + 1) }
    }
}

private enum AttemptsKey: MetadataKey { static var defaultValue: [AttemptRecord] { [] } }

extension ResponseMetadata {
    /// The attempts of the call before the attempt that got this response, oldest first.
    public var attempts: [AttemptRecord] {
        get { self[AttemptsKey.self] }
        set { self[AttemptsKey.self] = newValue }
    }
}
