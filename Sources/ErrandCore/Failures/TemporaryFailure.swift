/// A failure after which the same call may succeed later. `poll`, event streams and downloads continue after such a failure.
///
/// Use this type in a loop of your own, together with ``Backoff/wait(afterAttempt:jitter:plus:retryAfter:atMost:random:)``:
///
/// ```swift
/// func sendPatiently(_ request: Request, with sender: some HTTPSender) async throws -> Response {
///     var attempt = 1
///     while true {
///         do {
///             return try await sender.send(request)
///         } catch {
///             guard let failure = TemporaryFailure(error), attempt < 5, request.body.canBeSent,
///                 request.mayBeSentAgain || failure.isUnprocessed,
///                 let wait = Backoff.exponential().wait(afterAttempt: attempt, retryAfter: failure.retryAfter, atMost: .seconds(60))
///             else { throw error }
///             try await Task.sleep(for: wait)
///             attempt += 1
///         }
///     }
/// }
/// ```
public struct TemporaryFailure: Sendable, Hashable {
    /// Whether the request was not sent, or the server says that it has not processed the request: ``StatusError/saysNotProcessed``.
    /// If true, a request with any method may be sent again.
    public let isUnprocessed: Bool
    /// The time after which the server or the layer of the client may accept a request; `nil` if the time is not known.
    public let retryAfter: Duration?

    /// Creates the description of a failure; `nil` if the failure is permanent.
    ///
    /// These failures are temporary:
    /// - a ``StatusError`` with a status in `statuses`, except the 504 of a cache that has no usable response
    /// - a refusal by a layer of the client: ``TemporaryRefusal``
    /// - any other error for which ``Swift/Error/isTransient`` is true
    /// - with `afterSuccess`, a ``TransportError`` for which ``TransportError/isTransientAfterSuccess`` is true
    ///
    /// - Parameters:
    ///   - error: the error of the call.
    ///   - statuses: the statuses after which the same call may succeed later. Default: 408, 425, 429, 500, 502, 503 and 504.
    ///   - afterSuccess: whether an earlier request to this server has succeeded. Default: `false`.
    public init?(_ error: any Error, statuses: StatusRule = .transient, afterSuccess: Bool = false) {
        let (refused, refusal) = (error as? StatusError, error as? any TemporaryRefusal)
        let worksAgain = afterSuccess && (error as? TransportError)?.isTransientAfterSuccess == true
        guard refusal != nil || worksAgain || refused?.refused.isTransient(in: statuses) ?? error.isTransient else { return nil }
        isUnprocessed = refused?.saysNotProcessed == true || !error.mayHaveBeenProcessed
        retryAfter = refused?.retryAfter ?? refusal?.retryAfter
    }
}
