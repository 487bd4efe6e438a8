// These properties find failures that may be temporary. The code that repeats a failed request uses these properties for its decision.

extension HTTPResponse.Status {
    /// Whether the same request may succeed later: true for 408, 425, 429, 500, 502, 503 and 504.
    public var isTransient: Bool { StatusRule.transient.contains(self) }
}

extension StatusRule {
    /// The statuses after which the same request may succeed later: 408, 425, 429, 500, 502, 503 and 504.
    public static let transient: StatusRule = [408, 425, 429, 500, 502, 503, 504]

    /// The statuses that count as evidence of a failing or overloaded server: 429, 500, 502, 503 and 504.
    public static let evidenceAgainstServer: StatusRule = [429, 500, 502, 503, 504]
}

extension TransportError.Code {
    /// Whether the device is offline, the host was not found, or the connection could not be made or was lost.
    var isOfConnection: Bool { [.notConnected, .cannotFindHost, .cannotConnect, .connectionLost].contains(self) }

    /// Whether the same request may succeed later: the failure is a failure of the connection, or a timeout.
    public var isTransient: Bool { isOfConnection || self == .timedOut }

    /// Whether the failure is evidence that the server, or the network path to the server, does not work.
    ///
    /// True for a transient failure except ``notConnected``, for a failure of TLS, and for an invalid response. Any other failure is caused
    /// by the device, by the request, by a limit of the client, or by a proxy.
    public var isEvidenceAgainstServer: Bool { isTransient && self != .notConnected || [.tls, .invalidResponse].contains(self) }
}

extension TransportError {
    /// Whether the failure is evidence that the server, or the network path to the server, does not work.
    ///
    /// True if the code is evidence: see ``Code/isEvidenceAgainstServer``. False for a timeout in a queue of the client, and for a timeout
    /// while the request waited for a network.
    public var isEvidenceAgainstServer: Bool {
        code.isEvidenceAgainstServer && (code != .timedOut || ![.queue, .connectivity].contains(phase))
    }

    /// Whether the request may be sent again immediately, with any method.
    ///
    /// True if the connection was lost before anything was sent. The property is also true if the server reported that it did not process
    /// the request ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    public var wasLeftUnprocessed: Bool { code == .connectionLost && !mayHaveBeenProcessed }

    /// Whether the failure may be temporary if an earlier request to this server has succeeded.
    ///
    /// True for a transient failure. The property is also true for a failure of TLS or of a proxy before the request was sent, because TLS
    /// or the proxy worked earlier.
    public var isTransientAfterSuccess: Bool {
        code.isTransient || ([.tls, .proxy].contains(code) && !mayHaveBeenProcessed)
    }
}

extension Response {
    /// Returns whether the same request may succeed later. False for the 504 of a cache, because the same request gets the same response.
    ///
    /// - Parameter statuses: the statuses after which the same request may succeed later.
    func isTransient(in statuses: StatusRule = .transient) -> Bool {
        statuses.contains(head.status) && metadata.cacheStatus?.isUnavailable != true
    }
}

extension StatusError {
    /// Whether the status says that the server has not processed the request, and that the client should send the request again.
    ///
    /// True for the status 429 ([RFC 6585, section 4](https://www.rfc-editor.org/rfc/rfc6585#section-4)), and for 503 with `Retry-After`
    /// ([RFC 9110, section 15.6.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.6.4)). However, ``delivery`` stays `sent`, because
    /// `retry` does not rely on this statement of the server.
    public var saysNotProcessed: Bool {
        status == .tooManyRequests || status == .serviceUnavailable && retryAfter != nil
    }
}

/// A temporary refusal: a layer refused the request before sending it, and may accept the request later.
///
/// The errors of `circuitBreaker` and `rateLimit` conform to this protocol. If the error of your own layer conforms to this
/// protocol, the error is a ``TemporaryFailure``: event streams, downloads and polling continue after the error.
public protocol TemporaryRefusal: RequestFailure {
    /// The time after which the layer may accept a request; `nil` if the time is not known.
    var retryAfter: Duration? { get }
}
