/// What happened in an exchange, and when. An open set: more kinds come with the transports that can tell them.
public struct ExchangeEvent: Sendable {
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        /// The transport took the request.
        public static let start = Kind("start")
        public static let requestHeadSent = Kind("requestHeadSent")
        /// A piece of the request's body was taken: ``ExchangeEvent/bytes`` says how much in all. Upload progress.
        public static let requestBytesSent = Kind("requestBytesSent")
        /// The last byte of the request has been written.
        public static let requestSent = Kind("requestSent")
        /// An informational response came (1xx; RFC 9110, 15.2): ``ExchangeEvent/response`` is its head.
        public static let informationalResponse = Kind("informationalResponse")
        public static let responseHead = Kind("responseHead")
        /// The exchange ended: whole, failed or abandoned. The last event of each exchange.
        public static let end = Kind("end")
    }

    public let kind: Kind
    public let instant: ContinuousClock.Instant
    /// The request's id.
    public let request: RequestID
    /// Of the request's body, so far; only with ``Kind/requestBytesSent``.
    public let bytes: Int64?
    /// Only with ``Kind/informationalResponse``.
    public let response: HTTPResponse?
    /// What broke the exchange off; only with ``Kind/end``.
    public let failure: (any Error)?

    public init(
        _ kind: Kind, request: RequestID, bytes: Int64? = nil, response: HTTPResponse? = nil, failure: (any Error)? = nil
    ) {
        (self.kind, self.request, self.bytes, self.response, self.failure) = (kind, request, bytes, response, failure)
        instant = .now
    }
}

/// Who is told of events, synchronously and in order; must be quick and must not block.
public protocol EventSink: Sendable {
    func record(_ event: ExchangeEvent)
}
