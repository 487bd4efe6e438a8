// What may pass by itself: one home for all that send a request again.

extension HTTPResponse.Status {
    /// The codes of ``isTransient``.
    public static let transientCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Whether the same request may succeed later: true for 408, 425, 429, 500, 502, 503 and 504.
    public var isTransient: Bool { Self.transientCodes.contains(code) }
}

extension TransportError.Code {
    /// Whether the host was not found, or the connection could not be made or was lost.
    var isOfConnection: Bool { [.cannotFindHost, .cannotConnect, .connectionLost].contains(self) }

    /// Whether the same request may succeed later: the failure is one of the connection, or a timeout.
    public var isTransient: Bool { isOfConnection || self == .timedOut }

    /// Whether the failure is evidence that the server, or the way to it, does not work: it may pass, or it is one of TLS or of the protocol. Any other code
    /// is the fault of the request, of a limit of this side, or of a proxy.
    public var isEvidenceAgainstServer: Bool { isTransient || [.tls, .invalidResponse].contains(self) }
}

extension TransportError {
    /// Whether the request may be sent again at once, whatever its method: a kept connection was closed before anything was sent, or the server reported
    /// that it did not process the request ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    public var wasLeftUnprocessed: Bool { code == .connectionLost && !mayHaveBeenProcessed }

    /// Whether a request may succeed later that has succeeded before: also after a failure of TLS or of a proxy before the request was sent, since TLS or
    /// the proxy worked then.
    public var isTransientAfterSuccess: Bool {
        code.isTransient || ([.tls, .proxy].contains(code) && !mayHaveBeenProcessed)
    }
}

extension StatusError {
    /// Whether the server says that it has not processed the request, and that the client should send it again: by the status 429
    /// ([RFC 6585, section 4](https://www.rfc-editor.org/rfc/rfc6585#section-4)), or by 503 with `Retry-After`
    /// ([RFC 9110, section 15.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.6.4)).
    ///
    /// ``delivery`` is `sent` all the same: `retry` does not rely on what the status says.
    public var saysNotProcessed: Bool {
        status == .tooManyRequests || status == .serviceUnavailable && retryAfter != nil
    }
}

/// A failure of a layer that refused a request before the request was sent, and that may accept the request later.
///
/// The errors of `circuitBreaker` and `rateLimit` conform. Conform the error of your own layer, so that an event stream connects again after it.
public protocol TemporaryRefusal: RequestFailure {
    /// The time after which the layer may accept a request; `nil` if the time is not known.
    var retryAfter: Duration? { get }
}
