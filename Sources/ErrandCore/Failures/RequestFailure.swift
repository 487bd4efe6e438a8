/// What every failure of this library tells: where it happened, what was known by then, and whether the server may have acted.
///
/// ```swift
/// do {
///     …
/// } catch is CancellationError {
/// } catch let failure as any RequestFailure where failure.wasSent == .no {
///     // safe to do again
/// }
/// ```
///
/// Cancellation is never a failure: it stays `CancellationError`. A description holds no secret and no body.
public protocol RequestFailure: LocalizedError, CustomStringConvertible {
    /// The request, as far as it had come; nil where a body failed that knows of none.
    ///
    /// Layers set it, to give it the deadline and the event sink back that it had outside of them. That of a body that breaks off has those of its
    /// exchange.
    var request: Request? { get set }
    /// Where the exchange was.
    var phase: ExchangePhase { get }
    /// The head of the response, if one had come.
    var response: HTTPResponse? { get }
    /// The first bytes of the response's body, if any were kept; bounded, and empty otherwise.
    var bodyPrefix: Data { get }
    /// The attempts before this one, oldest first; retry adds them.
    var attempts: [AttemptRecord] { get set }
    /// Whether a server got the request, in any attempt of the call: `no` only if nothing left in this attempt and in all of ``attempts``.
    var wasSent: WasSent { get }
}

extension RequestFailure {
    public var response: HTTPResponse? { nil }
    public var bodyPrefix: Data { Data() }
    /// The description: what an alert or a log shows as `localizedDescription`.
    public var errorDescription: String? { description }

    /// The earlier attempts as text to end a description with; empty if there were none.
    package var shownAttempts: String { attempts.map { "; \($0)" }.joined() }
}

/// Whether the server got a request that failed. The order is `no`, `maybe`, `yes`.
public enum WasSent: String, Sendable, Hashable, Comparable {
    /// Nothing of it left: it can be sent again, whatever its method.
    case no
    /// Some of it left; whether the server acted on it is not known.
    case maybe
    /// The server answered.
    case yes

    public static func < (first: WasSent, second: WasSent) -> Bool { first.rank < second.rank }

    private var rank: Int {
        switch self {
        case .no: 0
        case .maybe: 1
        case .yes: 2
        }
    }
}

extension Sequence<AttemptRecord> {
    /// Whether a server got the request in any of these attempts: the highest value of all; `no` for an empty sequence.
    package var wasSent: WasSent { map(\.outcome.wasSent).max() ?? .no }
}

extension AttemptRecord.Outcome {
    fileprivate var wasSent: WasSent {
        switch self {
        case .status: .yes
        case .failure(let error as TransportError) where error.isUnprocessed: error.attempts.wasSent
        case .failure(is InvalidURL): .no
        case .failure(let error as any RequestFailure): error.wasSent
        case .failure: .maybe
        }
    }
}

/// Where an exchange was when something happened. An open set.
public struct ExchangePhase: Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    /// Before anything was done: the request itself.
    public static let request = ExchangePhase("request")
    /// Waiting for a turn or for a connection.
    public static let queue = ExchangePhase("queue")
    /// Looking up the host, connecting, TLS.
    public static let connect = ExchangePhase("connect")
    /// Sending the request.
    public static let send = ExchangePhase("send")
    /// Waiting for the head of the response.
    public static let response = ExchangePhase("response")
    /// Reading the body of the response.
    public static let body = ExchangePhase("body")
    /// Making a value of the body.
    public static let decode = ExchangePhase("decode")
    /// Waiting before the next attempt.
    public static let backoff = ExchangePhase("backoff")
}

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

/// What of an error may stand in a message: the description of a failure of this library. Of an error that is not ours, only the type is known
/// to be without secrets.
package func shownError(_ error: any Error) -> String {
    switch error {
    case let failure as any RequestFailure: failure.description
    case let invalid as InvalidURL: invalid.description
    default: "\(type(of: error))"
    }
}

extension AttemptRecord: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["attempt": description]) }
}

private enum AttemptsKey: TypedKey { static var defaultValue: [AttemptRecord] { [] } }

extension ResponseMetadata {
    /// The attempts before the one that this response answers, oldest first.
    public var attempts: [AttemptRecord] {
        get { self[AttemptsKey.self] }
        set { self[AttemptsKey.self] = newValue }
    }
}
