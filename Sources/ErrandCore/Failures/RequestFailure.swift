/// A failure of a call: its phase, the known parts of the exchange, and whether the server may have processed the request.
///
/// ```swift
/// do {
///     …
/// } catch is CancellationError {
/// } catch let failure as any RequestFailure where failure.delivery == .notSent {
///     // safe to do again
/// } catch {
///     alert(error.localizedDescription)       // Could not connect to the server.
/// }
/// ```
///
/// A failure has texts for developers and for people:
/// - ``description`` is for developers: request, phase, reason and attempts on one line.
/// - `errorDescription`, which `localizedDescription` returns, is a sentence for people. The sentences of the library name no
///   host.
/// - `failureReason` is the technical reason, for a view with details. The reason may name hosts and statuses.
/// - `recoverySuggestion` says what a user of the app can do. The suggestion is `nil` if only a developer can help.
///
/// All texts are in English, except the texts of a server. No text holds a value that the library knows to be secret. Of a body, the texts
/// show only the message of a back end (``ServiceError``), and the title of problem details (RFC 9457). With ``FailureTexts``, an app can
/// replace the sentences, for example by sentences in another language.
///
/// Each failure of the library is a ``NumberedFailure``. As an `NSError`, a ``NumberedFailure`` has the domain `Errand` and its stable
/// number as the code. Any other failure has its type's name as the domain and the code 1.
///
/// A cancelled call throws `CancellationError`, which is not a `RequestFailure`.
public protocol RequestFailure: LocalizedError, CustomStringConvertible, CustomReflectable {
    /// The request, with the changes that layers made before the failure. `nil` if the request is not known, or if the failure belongs to
    /// no request.
    ///
    /// A layer sets this property to restore the deadline and the event sink that the request had in the outer layers. If a body fails, the
    /// request keeps the deadline and the event sink of its exchange.
    var request: Request? { get set }
    /// The phase of the exchange in which the call failed.
    var phase: ExchangePhase { get }
    /// The head of the response; `nil` if no head had arrived.
    var response: HTTPResponse? { get }
    /// The first bytes of the response's body, bounded; empty if no bytes were kept.
    var bodyPrefix: Data { get }
    /// The earlier attempts of the call, oldest first. `retry` and other middleware that sends requests again add the attempts.
    var attempts: [AttemptRecord] { get set }
    /// The reason why no further attempt was made, although the policy called for an attempt. `nil` if the policy called for no further
    /// attempt.
    ///
    /// `retry` and response validators set the reason. If an error type does not implement this property, the reason is
    /// dropped.
    var retryStop: RetryStop? { get set }
    /// Whether a server got the request in any attempt of the call. The value is `notSent` only if this attempt and all
    /// ``attempts`` have the delivery `notSent`.
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
    /// The technical reason; ``description`` by default.
    public var failureReason: String? { description }

    /// The request as text for the beginning of a description: `GET https://a.example/: `. Empty if the request is not known.
    public var shownRequest: String { request.map { "\($0): " } ?? "" }

    /// Text for the end of a description: the earlier attempts, and the reason why there is no further attempt. Empty if there are no
    /// earlier attempts and no such reason.
    public var shownAttempts: String { attempts.shown(until: retryStop, of: request) }
}

extension [AttemptRecord] {
    /// Returns text for the end of a message: the attempts, and the reason why there is no further attempt. Empty if there are no
    /// attempts and no reason.
    ///
    /// - Parameter request: the request that the message names. The text of an attempt names its request only if that request
    ///   differs from `request`.
    package func shown(until stop: RetryStop?, of request: Request?) -> String {
        let prefix = isEmpty ? nil : request.map { "\($0): " }
        return map { "; \($0.text(without: prefix))" }.joined() + (stop.map { "; no further attempt: \($0.words)" } ?? "")
    }
}

extension StringProtocol {
    /// The text with an uppercase first letter and a period at the end.
    package var asSentence: String {
        let isClosed = last.map { ".!?…".contains($0) } ?? true
        return "\(prefix(1).uppercased())\(dropFirst())\(isClosed ? "" : ".")"
    }
}

/// Returns the suggestion to try again after a wait.
///
/// - Parameter wait: the wait that a server or a limit asks for; `nil` if the wait is not known.
package func tryAgain(in wait: Duration?) -> String {
    guard let wait else { return "Try again later." }
    let seconds = Int(min(max(1, (wait / .seconds(1)).rounded(.up)), 1e9))
    let (count, unit) =
        switch seconds {
        case ..<120: (seconds, "second")
        case ..<7_200: ((seconds + 59) / 60, "minute")
        default: ((seconds + 3_599) / 3_600, "hour")
        }
    return "Try again in \(count.counted(unit))."
}

/// An error whose description is safe in any log or message, because the description has no secret and no part of a body.
///
/// A ``RequestFailure`` needs no conformance. For any other error without this conformance, logs and messages show only the
/// error's type.
public protocol SafelyDescribedError: Error, CustomStringConvertible {}

/// Returns the text of an error that is safe in a message.
///
/// The text is the description of a ``RequestFailure`` or a ``SafelyDescribedError``. For any other error, the text is only the
/// type, because the description may have secrets.
package func safeDescription(of error: any Error) -> String {
    switch error {
    case let failure as any RequestFailure: failure.description
    case let error as any SafelyDescribedError: error.description
    default: "\(type(of: error))"
    }
}
