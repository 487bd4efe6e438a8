/// What every failure of this library tells: where it happened, what was known by then, and whether the server may have acted.
///
/// ```swift
/// do {
///     …
/// } catch is CancellationError {
/// } catch let failure as any RequestFailure where failure.delivery == .notSent {
///     // safe to do again
/// }
/// ```
///
/// Cancellation is never a failure: it stays `CancellationError`. A description holds no secret and no body.
public protocol RequestFailure: LocalizedError, CustomStringConvertible {
    /// The request, as far as it had come; nil where a body failed that knows of none.
    ///
    /// Layers set it, to give it back the deadline and the event sink that it had outside of them. If a body fails, the request keeps those of its
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
    var delivery: Delivery { get }
}

extension RequestFailure {
    public var response: HTTPResponse? { nil }
    public var bodyPrefix: Data { Data() }
    /// The description: what an alert or a log shows as `localizedDescription`.
    public var errorDescription: String? { description }

    /// The earlier attempts as text to end a description with; empty if there were none.
    package var shownAttempts: String { attempts.map { "; \($0)" }.joined() }
}

/// What of an error may stand in a message: the description of a failure of this library. Of an error that is not ours, only the type is known
/// to be without secrets.
package func shownError(_ error: any Error) -> String {
    switch error {
    case let failure as any RequestFailure: failure.description
    case let invalid as InvalidURLError: invalid.description
    default: "\(type(of: error))"
    }
}
