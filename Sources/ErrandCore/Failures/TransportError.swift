/// No answer, or only a part of one: the network, TLS, the other side's protocol, a limit or the deadline.
public struct TransportError: RequestFailure {
    /// What happened. An open set: match the ones you handle, and let the rest fall through.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        /// The host's name could not be resolved.
        public static let cannotFindHost = Code("cannot find host")
        /// No connection: refused, unreachable, or not in time.
        public static let cannotConnect = Code("cannot connect")
        /// The connection broke off.
        public static let connectionLost = Code("connection lost")
        /// A deadline or a timeout passed; `phase` and `elapsed` say which and when.
        public static let timedOut = Code("timed out")
        /// The certificate or the handshake was refused.
        public static let tls = Code("TLS failure")
        /// The other side does not speak HTTP as it should.
        public static let invalidResponse = Code("invalid response")
        /// A body or a line over its limit.
        public static let bodyTooLarge = Code("body too large")
        /// The request's own body could not be read, or was not as long as declared.
        public static let requestBody = Code("request body failed")
        /// The request can't be sent as it is.
        public static let invalidRequest = Code("invalid request")
        /// The proxy refused, or asked for credentials.
        public static let proxy = Code("proxy failure")
        /// What was asked for, this transport can't do.
        public static let unsupported = Code("unsupported")
        /// The transport was shut down.
        public static let shutDown = Code("transport shut down")
    }

    public var code: Code
    public var phase: ExchangePhase
    /// What happened, in words, without secrets; empty where the code says all.
    public var message: String
    /// Since the transport took the request; nil where it was not measured.
    public var elapsed: Duration?
    /// What the layer below threw; nil where there was nothing below.
    public var underlying: (any Error)?
    public var request: Request?
    public var response: HTTPResponse?
    public var attempts: [AttemptRecord] = []
    /// Setting it says so of this attempt alone.
    public var delivery: Delivery {
        get { attempts.isEmpty ? sentInThisAttempt : max(sentInThisAttempt, attempts.delivery) }
        set { sentInThisAttempt = newValue }
    }
    private var sentInThisAttempt: Delivery
    /// Whether the server has said that it did not process this attempt (REFUSED_STREAM, or GOAWAY with a lower stream; RFC 9113, 8.7): then it
    /// can be sent again, whatever its method.
    public var isUnprocessed: Bool

    public init(
        _ code: Code, phase: ExchangePhase, message: String = "", elapsed: Duration? = nil, underlying: (any Error)? = nil,
        request: Request?, response: HTTPResponse? = nil, delivery: Delivery, isUnprocessed: Bool = false
    ) {
        (self.code, self.phase, self.message, self.elapsed, self.underlying) = (code, phase, message, elapsed, underlying)
        (self.request, self.response, sentInThisAttempt, self.isUnprocessed) = (request, response, delivery, isUnprocessed)
    }

    package static func timedOut(
        _ phase: ExchangePhase, after elapsed: Duration, request: Request?, response: HTTPResponse? = nil, delivery: Delivery
    ) -> TransportError {
        TransportError(.timedOut, phase: phase, elapsed: elapsed, request: request, response: response, delivery: delivery)
    }

    package static func bodyTooLarge(limitBytes: Int, request: Request?) -> TransportError {
        TransportError(.bodyTooLarge, phase: .body, message: "more than \(limitBytes) bytes", request: request, delivery: .sent)
    }

    /// What, where, after how long, and whether this attempt was sent: `GET https://a.example/: timed out in connect after 2.0 s (not sent)`.
    public var description: String {
        var text = request.map { "\($0): " } ?? ""
        text += "\(code) in \(phase)"
        if let elapsed { text += " after \(elapsed.formattedSeconds)" }
        if !message.isEmpty { text += ": \(message)" }
        text += " (\(sentInThisAttempt.phrase)\(isUnprocessed ? ", not processed" : ""))"
        return text + shownAttempts
    }
}

extension Delivery {
    package var phrase: String {
        switch self {
        case .notSent: "not sent"
        case .unknown: "may have been sent"
        case .sent: "sent"
        }
    }
}

extension Duration {
    /// As seconds, to the millisecond.
    package var formattedSeconds: String {
        let milliseconds = (self / .milliseconds(1)).rounded()
        return "\(milliseconds / 1000) s"
    }
}

extension TransportError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}
