/// The error for an exchange without a complete response, because of the network, TLS, an invalid response, a limit or a deadline.
///
/// The description says what happened, in which phase, after how long, why, and whether the request was sent:
///
/// ```
/// GET https://a.example/: cannot connect: connection refused (not sent)
/// GET https://a.example/: timed out while waiting for the response after 30 s: the limit timeout is 30 s, set by .timeout (may have been sent)
/// GET https://a.example/: connection lost while reading the body after 2.3 s: connection reset by the server (sent)
/// ```
public struct TransportError: RequestFailure {
    /// The kind of a failure. New codes may be added: match the codes that you handle, and handle all other codes in a
    /// `default` case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `cannot connect`.
        public let description: String
        /// Creates a code.
        ///
        /// - Parameter description: the code in words, which the description of the error shows after the request.
        public init(_ description: String) { self.description = description }

        /// The host's name could not be resolved.
        public static let cannotFindHost = Code("cannot find host")
        /// No connection could be made: the connection was refused, the host is unreachable, or a timeout passed.
        public static let cannotConnect = Code("cannot connect")
        /// The device is offline: it has no network interface in use, or no route to any other network. Nothing was sent.
        ///
        /// A transport that looks up the host itself uses this code only if each address of the host has failed for this reason. At least
        /// one of these addresses must be an IPv4 address. If the lookup fails because the device is offline, the code is
        /// ``cannotFindHost``. A layer that knows the network path may replace ``cannotFindHost``: `waitForNetwork` uses `notConnected` for
        /// a failed lookup while no path is available.
        public static let notConnected = Code("not connected")
        /// A rule of the system or of the app forbids the connection, such as a setting that allows no cellular network. Nothing was
        /// sent. Only a transport over the system's own HTTP client uses this code.
        public static let blockedByPolicy = Code("blocked by policy")
        /// The connection broke off.
        public static let connectionLost = Code("connection lost")
        /// A deadline or a timeout passed. `message` names the limit, `phase` is the phase at that time, and `elapsed` is the
        /// time since the transport took the request.
        public static let timedOut = Code("timed out")
        /// The certificate was refused, or the handshake failed.
        public static let tls = Code("TLS failure")
        /// The server or the proxy does not conform to HTTP.
        public static let invalidResponse = Code("invalid response")
        /// A body, or a line of a body, is longer than its limit.
        public static let bodyTooLarge = Code("body too large")
        /// The request's own body could not be read, or does not have its declared length.
        public static let requestBody = Code("request body failed")
        /// The request is invalid, and can't be sent.
        public static let invalidRequest = Code("invalid request")
        /// The proxy refused the request, or asked for credentials.
        public static let proxy = Code("proxy failure")
        /// The transport does not support a feature that the request needs.
        public static let unsupported = Code("unsupported")
        /// The transport was shut down.
        public static let shutDown = Code("transport shut down")
    }

    /// The kind of the failure.
    public var code: Code
    /// The phase of the exchange in which the failure happened.
    public var phase: ExchangePhase
    /// The reason in words, without secrets, such as `connection refused`; empty if the code is sufficient.
    public var message: String
    /// The time since the transport took the request; `nil` if it was not measured.
    public var elapsed: Duration?
    /// The error of the layer below; `nil` if that layer has reported no error.
    ///
    /// Over `URLSession`, this error has only the numbers of the `URLError` and of its underlying errors. The `URLError` is not
    /// kept, because its text may contain a URL with secrets. Therefore `underlying as? URLError` is `nil`.
    public var underlying: (any Error)?
    public var request: Request?
    /// The proxy that failed, or whose connection failed; `nil` if no proxy is known to be at fault.
    ///
    /// If `proxy` is not `nil`, ``errorDescription`` says "the proxy" in place of "the server".
    public var proxy: ProxyAddress?
    /// The problem with the credentials for the proxy; `nil` if the credentials did not cause the failure, or if the cause is not known.
    public var proxyCredentials: ProxyCredentialsProblem?
    /// The origin of a connection that was opened without a request; `nil` if there is a request.
    package var origin: Origin?
    /// The head of the response; `nil` if no head had arrived.
    public var response: HTTPResponse?
    public var attempts: [AttemptRecord] = []
    public var retryStop: RetryStop?
    /// Whether a server got the request, in any attempt of the call. Setting this property changes the delivery of this attempt
    /// only.
    public var delivery: Delivery {
        get { attempts.isEmpty ? sentInThisAttempt : max(sentInThisAttempt, attempts.delivery) }
        set { sentInThisAttempt = newValue }
    }
    private var sentInThisAttempt: Delivery

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of the failure.
    ///   - phase: the phase of the exchange in which the failure happened.
    ///   - message: the reason in words, without secrets; empty if the code is sufficient.
    ///   - elapsed: the time since the transport took the request; `nil` if it was not measured.
    ///   - underlying: the error of the layer below; `nil` if that layer has reported no error. Texts show only the type of
    ///     this error.
    ///   - request: the request, with the changes that layers made before the failure; `nil`, the default, if the request is not
    ///     known. A transport always passes the request.
    ///   - response: the head of the response; `nil` if no head had arrived.
    ///   - delivery: whether a server got the request in this attempt. ``Delivery/notSent`` also applies if the server reported that it did
    ///     not process the request. Default: ``Delivery/unknown``. With `unknown`, the default, only idempotent requests are sent again.
    public init(
        _ code: Code, phase: ExchangePhase, message: String = "", elapsed: Duration? = nil, underlying: (any Error)? = nil,
        request: Request? = nil, response: HTTPResponse? = nil, delivery: Delivery = .unknown
    ) {
        self.code = code
        self.phase = phase
        self.message = message
        self.elapsed = elapsed
        self.underlying = underlying
        (self.request, self.response, sentInThisAttempt) = (request, response, delivery)
    }

    /// Returns the error for an exchange whose deadline or timeout passed. For transports.
    ///
    /// - Parameters:
    ///   - phase: the phase in which the deadline or the timeout passed.
    ///   - elapsed: the duration of the exchange; `nil` if the duration is not known.
    ///   - message: the limit that passed. `nil` means the deadline of the request.
    ///   - underlying: the error of the layer below; `nil` if that layer has reported no error.
    ///   - request: the request; `nil` if no request has caused the error.
    ///   - response: the head of the response; `nil` if no head had arrived.
    ///   - delivery: whether the request was sent.
    public static func timedOut(
        _ phase: ExchangePhase, after elapsed: Duration?, _ message: String? = nil, underlying: (any Error)? = nil, request: Request?,
        response: HTTPResponse? = nil, delivery: Delivery
    ) -> TransportError {
        TransportError(
            .timedOut, phase: phase, message: message ?? request?.deadline?.passedMessage ?? Deadline.passedMessage, elapsed: elapsed,
            underlying: underlying, request: request, response: response, delivery: delivery)
    }

    /// Returns the error for a body that is longer than a limit.
    ///
    /// - Parameters:
    ///   - limitBytes: the limit, in bytes.
    ///   - request: the request; `nil` if no request has caused the error.
    public static func bodyTooLarge(limitBytes: Int, request: Request?) -> TransportError {
        bodyTooLarge("more than \(limitBytes.counted("byte"))", request: request)
    }

    /// Returns the error for a body, or a part of a body, that is too large.
    ///
    /// - Parameters:
    ///   - excess: the excess in words: `more than 1024 bytes`.
    ///   - request: the request; `nil` if no request has caused the error.
    public static func bodyTooLarge(_ excess: String, request: Request?) -> TransportError {
        TransportError(.bodyTooLarge, phase: .body, message: excess, request: request, delivery: .sent)
    }

    /// The failure on one line, without secrets:
    /// - the request, or the origin of a connection without a request
    /// - what happened, in which phase, after how long, and why
    /// - whether this attempt was sent
    /// - the earlier attempts
    public var description: String {
        var text = request.map { "\($0): " } ?? origin.map { "\($0): " } ?? ""
        text += happened
        text += " (\(sentInThisAttempt.phrase))"
        return text + shownAttempts
    }
}

extension Delivery {
    /// The delivery in words, for descriptions: `not sent`, `may have been sent` or `sent`.
    public var phrase: String {
        switch self {
        case .notSent: "not sent"
        case .unknown: "may have been sent"
        case .sent: "sent"
        }
    }
}
