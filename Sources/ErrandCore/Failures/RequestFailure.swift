package import ErrandFormats

/// A failure of a call: in which phase, what was known by then, and whether the server may have processed the request.
///
/// ```swift
/// do {
///     …
/// } catch is CancellationError {
/// } catch let failure as any RequestFailure where failure.delivery == .notSent {
///     // safe to do again
/// } catch {
///     alert(error.localizedDescription)       // Could not connect to the server a.example.
/// }
/// ```
///
/// Each failure has two texts. ``description`` is for developers: request, phase, reason and attempts on one line. `errorDescription`,
/// which is `localizedDescription`, is a sentence for people. `failureReason` says why, and `recoverySuggestion` what a person who uses the
/// app can do; it is `nil` if only a developer can help. All are in English, and none holds a secret or a body. As an `NSError`, a failure
/// has its type's name as the domain and the code 1.
///
/// Cancellation is never a failure: it stays `CancellationError`.
public protocol RequestFailure: LocalizedError, CustomStringConvertible, CustomReflectable {
    /// The request, as far as it had come; `nil` if a body failed that does not know its request.
    ///
    /// Layers set it, to give it back the deadline and the event sink that it had outside of them. If a body fails, the request keeps those of its
    /// exchange.
    var request: Request? { get set }
    /// The phase of the exchange.
    var phase: ExchangePhase { get }
    /// The head of the response, if one had come.
    var response: HTTPResponse? { get }
    /// The first bytes of the response's body, if any were kept; bounded, and empty otherwise.
    var bodyPrefix: Data { get }
    /// The attempts before this one, oldest first; retry adds them.
    var attempts: [AttemptRecord] { get set }
    /// Why there was no further attempt, though one was called for; `nil` if none was. `retry` and response validators set it; a type without
    /// a property of this name ignores it.
    var retryStop: RetryStop? { get set }
    /// Whether a server got the request, in any attempt of the call: `notSent` only if nothing left in this attempt and in all of ``attempts``.
    var delivery: Delivery { get }
}

extension RequestFailure {
    public var response: HTTPResponse? { nil }
    public var bodyPrefix: Data { Data() }
    public var retryStop: RetryStop? {
        get { nil }
        set {}
    }
    /// A sentence for people: ``description`` by default.
    public var errorDescription: String? { description }
    /// Shows ``description`` alone by default, so that `dump` and debuggers show no secret.
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
    /// ``description`` by default.
    public var failureReason: String? { description }

    /// The earlier attempts, and why there is no further one, as text to end a description with; empty if retry did nothing.
    public var shownAttempts: String { attempts.shown(until: retryStop, of: request) }

    /// `the server a.example`; `the server` where the host is not known.
    public var shownServer: String { "the server" + (request?.origin.map { " \($0.host.shownSafely(limit: 80))" } ?? "") }
}

extension [AttemptRecord] {
    /// The attempts, and why there is no further one, as text to end a message with; empty if there is nothing to say.
    ///
    /// - Parameter request: the one that the message names. An attempt names its own only where it is another.
    package func shown(until stop: RetryStop?, of request: Request?) -> String {
        let prefix = isEmpty ? nil : request.map { "\($0): " }
        return map { "; \($0.text(without: prefix))" }.joined() + (stop.map { "; no further attempt: \($0.words)" } ?? "")
    }
}

extension StringProtocol {
    /// With a capital first letter and a full stop.
    public var asSentence: String {
        let isClosed = last.map { ".!?…".contains($0) } ?? true
        return "\(prefix(1).uppercased())\(dropFirst())\(isClosed ? "" : ".")"
    }
}

/// What to do where a server or a limit asks for a wait; `nil` if it is not known how long.
package func tryAgain(in wait: Duration?) -> String {
    guard let wait else { return "Try again later." }
    let seconds = Int(min(max(1, (wait / .seconds(1)).rounded(.up)), 1e9))
    let (count, unit) =
        switch seconds {
        case ..<120: (seconds, "second")
        case ..<7_200: ((seconds + 59) / 60, "minute")
        default: ((seconds + 3_599) / 3_600, "hour")
        }
    return "Try again in \(count) \(unit)\(count == 1 ? "" : "s")."
}

/// An error whose description may stand in any log or message, because the description has no secret and no part of a body.
///
/// A ``RequestFailure`` needs no conformance. If any other error has no conformance, logs and messages show its type alone.
public protocol SafelyDescribedError: Error, CustomStringConvertible {}

extension RepeatedFieldError: SafelyDescribedError {}

/// What of an error may stand in a message: the description of an error of this library. Of any other error, only the type is known to be
/// without secrets.
public func shownError(_ error: any Error) -> String {
    switch error {
    case let failure as any RequestFailure: failure.description
    case let error as any SafelyDescribedError: error.description
    default: "\(type(of: error))"
    }
}
