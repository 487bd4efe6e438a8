// What may pass by itself: one home for all that send a request again.

extension HTTPResponse.Status {
    /// The codes of ``isTransient``.
    package static let transientCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether the same request may succeed later: true for 408, 425, 429, 500, 502, 503 and 504.
    public var isTransient: Bool { Self.transientCodes.contains(code) }
}

/// A failure of a layer that refused a request before the request was sent, and that may accept the request later.
///
/// The errors of `circuitBreaker` and `rateLimit` conform. Conform the error of your own layer, so that an event stream connects again after it.
public protocol TemporaryRefusal: RequestFailure {
    /// The time after which the layer may accept a request; `nil` if the time is not known.
    var retryAfter: Duration? { get }
}
